// What tests ask the pages of reports; each function returns JSON.

// Elements by selector, also in shadow roots, in which Bokeh draws.
const deep = (selector, node = document) => {
  const found = [...node.querySelectorAll(selector)];
  for (const child of node.querySelectorAll("*"))
    if (child.shadowRoot) found.push(...deep(selector, child.shadowRoot));
  return found;
};

const countDeep = (selector) => deep(selector).length;

// Number of pixels that are drawn in each chart and map.
const drawnPixels = () => [...document.querySelectorAll(".chart, .plane")].map((chart) => {
  let n_pixels = 0;
  for (const canvas of deep("canvas", chart)) {
    const context = canvas.getContext("2d");
    if (!context || !canvas.width) continue;
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 3; i < data.length; i += 4) n_pixels += data[i] > 0;
  }
  return n_pixels;
});

// Background of the page, and actual and expected color of the text of an axis.
const colors = () => {
  const style = getComputedStyle(document.documentElement);
  const models = [...Bokeh.index.roots].flatMap((v) => [...v.model.references()]);
  const axis = models.find((m) => m.type === "CategoricalAxis");
  return [
    getComputedStyle(document.body).backgroundColor,
    axis.major_label_text_color,
    style.getPropertyValue("--ink").trim(),
  ];
};

// Elements that end beyond the page, and cannot be scrolled to by themselves.
const tooWide = () => [...document.querySelectorAll("main *, header *")]
  .filter((e) => !e.closest(".scroll") && !e.closest(".hidden"))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 80));

// Of each table: whether it scrolls, and whether this is said.
const scrollHints = () => [...document.querySelectorAll(".scroll + .hint")]
  .filter((hint) => hint.previousElementSibling.checkVisibility())
  .map((hint) => [
    hint.previousElementSibling.scrollWidth > hint.previousElementSibling.clientWidth,
    hint.getClientRects().length > 0,
  ]);

// The element that has the focus, and whether this is seen.
const focused = () => {
  const e = document.activeElement;
  const box = e.getBoundingClientRect();
  return {
    name: e.id || e.className || e.tagName,
    text: e.textContent.slice(0, 30).trim(),
    // Charts have their focus inside.
    outline: getComputedStyle(e.closest(".chart") ?? e).outlineStyle,
    visible: box.bottom > 0 && box.top < innerHeight && box.width > 0,
  };
};

// Bring the map to the middle of the screen; return the place of a sample.
const placeOnScreen = (row) => {
  const canvas = document.getElementById("map-canvas");
  canvas.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y } = canvas.placeOf(row);
  const box = canvas.getBoundingClientRect();
  return { x: box.x + x, y: box.y + y };
};
