"use strict";
// Classes that are typed for samples, to download.
(() => {
  const inputs = [...document.querySelectorAll("#labeling input")];
  const button = document.getElementById("labeling-download");
  const named = () => inputs.filter((input) => input.value.trim());
  for (const input of inputs)
    input.addEventListener("input", () => (button.disabled = !named().length));
  button.addEventListener("click", () => {
    const rows = named().map((input) => [input.dataset.sample, input.value.trim()]);
    anchorview.downloadTable("classes.csv", [["sample", "class"], ...rows]);
  });
})();
