"use strict";
// Classes that are typed for samples, to download.
(() => {
  const inputs = [...document.querySelectorAll("#labeling input")];
  const button = document.getElementById("labeling-download");
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const named = () => inputs.filter((input) => input.value.trim());
  for (const input of inputs)
    input.addEventListener("input", () => (button.disabled = !named().length));
  button.addEventListener("click", () => {
    const rows = named().map((own) => [own.dataset.sample, own.value.trim()].map(quoted).join(","));
    anchorview.download("classes.csv", "text/csv", ["sample,class", ...rows, ""].join("\n"));
  });
})();
