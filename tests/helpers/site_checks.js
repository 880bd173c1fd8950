// What tests of the site ask a page; each function returns JSON.

// Texts whose contrast with the background is below 4.5, or 3 if they are large (WCAG 2, level AA).
const lowContrast = () => {
  const parse = (color) => (color.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const background = (node) => {
    for (; node; node = node.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(node).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  const kinds = ["p", "a", "li", "h1", "h2", "td", "th", "dt", "code", "span"];
  for (const node of document.querySelectorAll(kinds.join())) {
    const texts = [...node.childNodes].filter((child) => child.nodeType === 3);
    const text = texts.map((child) => child.data).join("").trim();
    if (!text || !node.getBoundingClientRect().width) continue;
    if (node.closest("mjx-container, .headerlink, .visually-hidden")) continue;
    const style = getComputedStyle(node);
    const pair = [light(parse(style.color)), light(background(node))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24;
    if ((pair[0] + 0.05) / (pair[1] + 0.05) < (large ? 3 : 4.5))
      found.push(text.slice(0, 40) + " " + style.color + " on " + background(node));
  }
  return found;
};

// What a screen reader stumbles over: elements without a name, and headings out of order.
const barriers = () => {
  const found = [];
  const shown = (node) => node.checkVisibility({ visibilityProperty: true });
  const name = (node) => node.getAttribute("aria-label") || node.title || node.alt || "";
  const text = (node) => (name(node) || node.innerText
    || [...node.querySelectorAll("img, svg[role=img]")].map(name).join("")).trim();
  for (const node of document.querySelectorAll("a[href], button, [role=button]"))
    if (shown(node) && !text(node)) found.push("no name: " + node.outerHTML.slice(0, 120));
  for (const node of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!node.labels.length && !node.getAttribute("aria-label"))
      found.push("no label: " + node.outerHTML.slice(0, 120));
  let last = 0;
  for (const node of document.querySelectorAll("main article :is(h1, h2, h3, h4, h5, h6)")) {
    const level = Number(node.tagName[1]);
    if (level > last + 1) found.push("heading out of order: " + node.innerText);
    last = level;
  }
  // The gallery has an empty list of tags in every section.
  const ids = [...document.querySelectorAll("[id]:not(.sphx-glr-tag-list:empty)")]
    .map((node) => node.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) < i))) found.push("id " + id);
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  if (!document.querySelector("meta[name=viewport]")) found.push("no viewport");
  for (const node of document.querySelectorAll("pre, .math, table"))
    if (node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).overflowX === "auto"
        && node.tabIndex < 0) found.push("scrolls by mouse only: " + node.innerText.slice(0, 60));
  return found;
};

// Texts that end beyond the page, and cannot be scrolled to by themselves.
const cutOff = () => [...document.querySelectorAll("article :is(p, li, dt, dd, h1, h2, h3)")]
  .filter((node) => node.innerText && node.getBoundingClientRect().right > innerWidth + 1)
  .filter((node) => !node.closest("table, pre, .math"))
  .map((node) => node.innerText.slice(0, 60));

// Code that is wider than its box.
const cutCode = () => [...document.querySelectorAll("article pre")]
  .filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.innerText);

// The element that has the focus, and whether this is seen.
const focused = () => {
  const node = document.activeElement;
  // The arrow of a folded list is marked in place of the line that holds it.
  const marked = [node, ...node.children].map((part) => getComputedStyle(part))
    .some((style) => style.outlineStyle !== "none" || style.boxShadow !== "none");
  return { text: (node.innerText || "").trim(), marked, html: node.outerHTML.slice(0, 120) };
};
