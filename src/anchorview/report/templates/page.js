"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  button.hidden = false;

  function show(theme) {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light colors" : "Dark colors";
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  let printed = root.dataset.theme;
  show(printed);
  button.addEventListener("click", () => show(root.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => show(dark.matches ? "dark" : "light"));
  addEventListener("beforeprint", () => ((printed = root.dataset.theme), show("light")));
  addEventListener("afterprint", () => show(printed));

  // Tables: a click on a column header sorts by it, a second click reverses the order.

  function compare(a, b) {
    const [x, y] = [Number(a), Number(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(head) {
    const table = head.closest("table");
    const position = [...head.parentNode.children].indexOf(head);
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const key = (row) => row.children[position].dataset.sort;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (ascending ? 1 : -1) * compare(key(a), key(b)));
    table.tBodies[0].append(...rows);
  }

  for (const sorter of document.querySelectorAll("button.sort"))
    sorter.addEventListener("click", () => sort(sorter.closest("th")));

  // Wide tables say that they scroll.

  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries)
      target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
  });
  for (const region of document.querySelectorAll(".scroll")) widths.observe(region);

  document.fonts.ready.then(() => anchorview.mapReady).then(() => (root.dataset.drawn = "true"));
})();
