// What tests ask the pages of reports; each function returns JSON.

// Number of pixels that are drawn on the map.
const drawnPixels = () => {
  const canvas = document.getElementById("map-canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length;
};

// Background of the page, and filter of charts.
const colors = () => [
  getComputedStyle(document.body).backgroundColor,
  getComputedStyle(document.querySelector(".chart img")).filter,
];

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
    outline: getComputedStyle(e).outlineStyle,
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
