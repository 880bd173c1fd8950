// Before anything is drawn, so that no light page flashes in a dark room.
document.documentElement.dataset.theme =
  matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
