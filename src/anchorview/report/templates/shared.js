"use strict";
// What several scripts of the page need.
const anchorview = {
  async unpacked(element) {
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    element.remove();
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  },

  download(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  },

  // Rows of texts as a file for spreadsheets, which quotes what has a separator.
  downloadTable(name, rows) {
    const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const lines = rows.map((row) => row.map(quoted).join(",") + "\r\n");
    anchorview.download(name, "text/csv", lines.join(""));
  },

  // Elements are made with text only, never with HTML, so that names cannot inject any.
  element(tag, text = "") {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  },

  shorten(text, length) {
    return text.length > length ? text.slice(0, length - 1) + "…" : text;
  },

  count(number, noun) {
    return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
  },
};
