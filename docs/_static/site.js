// The buttons that unfold lists of pages get a name for screen readers.
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary > .toctree-toggle")) {
    const page = toggle.closest("li").querySelector("a").textContent.trim();
    toggle.parentElement.setAttribute("aria-label", `Pages below ${page}`);
  }
});
