"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  button.hidden = false;
  const documents = [];

  // Charts: unpack, draw, and color what is drawn like the page.

  async function unpacked(letters) {
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  async function draw(data) {
    const place = document.getElementById(data.dataset.chart);
    const views = await Bokeh.embed.embed_item(await unpacked(data.textContent), place);
    data.remove();
    for (const view of views.roots) {
      documents.push(view.model.document);
      color(view.model.document);
    }
    hideNarrow();
    place.dataset.drawn = "true";
  }

  async function drawAll() {
    for (const data of document.querySelectorAll("script[data-chart]")) {
      try {
        await draw(data);
      } catch (error) {
        const place = document.getElementById(data.dataset.chart);
        place.textContent = "This chart could not be drawn: " + error.message;
        console.error(error);
      }
      // The page answers between two charts.
      await new Promise((resolve) => setTimeout(resolve));
    }
    root.dataset.drawn = "true";
  }

  function colorsOfModels() {
    const style = getComputedStyle(root);
    const [ink, soft, line, paper] = ["--ink", "--soft", "--line", "--paper"].map((name) =>
      style.getPropertyValue(name).trim(),
    );
    const axis = {
      axis_label_text_color: soft,
      major_label_text_color: ink,
      axis_line_color: line,
      major_tick_line_color: line,
    };
    return {
      CategoricalAxis: axis,
      LinearAxis: axis,
      LogAxis: axis,
      DatetimeAxis: axis,
      Grid: { grid_line_color: line },
      Legend: {
        label_text_color: ink,
        title_text_color: soft,
        background_fill_color: paper,
        inactive_fill_color: paper,
      },
      Title: { text_color: ink },
      Label: { text_color: ink },
      ColorBar: {
        major_label_text_color: ink,
        title_text_color: soft,
        bar_line_color: line,
        background_fill_color: paper,
      },
      Text: { text_color: ink },
    };
  }

  function color(drawn) {
    const colors = colorsOfModels();
    for (const model of drawn._all_models.values()) {
      // What has a color that means something is named so.
      if (model.type in colors && !model.tags.includes("own color")) {
        model.setv(colors[model.type]);
      }
    }
  }

  // Numbers in cells that are too narrow for them would cover each other.
  function hideNarrow() {
    for (const drawn of documents) {
      for (const model of drawn._all_models.values()) {
        if (model.type === "GlyphRenderer" && model.tags[0] === "numbers") {
          const room = document.querySelector("main").clientWidth - 160;
          model.visible = room / model.tags[1] >= 32;
        }
      }
    }
  }
  addEventListener("resize", hideNarrow);

  // Light and dark.

  function show(theme) {
    root.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    button.setAttribute("aria-label", "Dark colors");
    documents.forEach(color);
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  let onScreen = root.dataset.theme;
  show(onScreen);
  button.addEventListener("click", () => {
    onScreen = onScreen === "dark" ? "light" : "dark";
    show(onScreen);
  });
  dark.addEventListener("change", () => {
    onScreen = dark.matches ? "dark" : "light";
    show(onScreen);
  });
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", () => show(onScreen));

  // Tables: a click on a column's name sorts by it, another one the other way round.

  function compared(a, b) {
    const [x, y] = [Number(a), Number(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(head) {
    const table = head.closest("table");
    const position = [...head.parentNode.children].indexOf(head);
    const rising = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const key = (row) => row.children[position].dataset.sort;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (rising ? 1 : -1) * compared(key(a), key(b)));
    table.tBodies[0].append(...rows);
  }

  for (const sorter of document.querySelectorAll("button.sort")) {
    sorter.addEventListener("click", () => sort(sorter.closest("th")));
  }

  drawAll();
})();
