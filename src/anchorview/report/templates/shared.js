"use strict";
// What several scripts of the page need.
const anchorview = {
  async unpacked(element) {
    const letters = atob(element.textContent);
    element.remove();
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
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

  // Elements are made with text only, never with HTML, so that names cannot inject any.
  element(tag, text = "", className = "") {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  },

  shorten(text, length) {
    return text.length > length ? text.slice(0, length - 1) + "…" : text;
  },

  count(number, noun) {
    return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
  },
};
