"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  button.hidden = false;
  const documents = [];

  // Charts: draw them, and apply the theme of the page.

  // The library is large: it is run when the map is on the screen.
  function loadBokeh() {
    const source = document.getElementById("bokeh");
    if (!source) return;
    const script = document.createElement("script");
    script.textContent = source.textContent;
    source.remove();
    document.head.append(script);
  }

  async function draw(data) {
    const place = document.getElementById(data.dataset.chart);
    const views = await Bokeh.embed.embed_item(await anchorview.unpacked(data), place);
    for (const view of views.roots) {
      documents.push(view.model.document);
      applyTheme(view.model.document);
    }
    hideCrowdedNumbers();
    place.dataset.drawn = "true";
  }

  async function drawAll(within) {
    for (const data of within.querySelectorAll("script[data-chart]")) {
      // Folded charts are drawn when they are unfolded.
      if (data.closest("details.fold:not([open])")) continue;
      try {
        await draw(data);
      } catch (error) {
        const place = document.getElementById(data.dataset.chart);
        place.textContent = "This chart could not be drawn: " + error.message;
        console.error(error);
      }
      // Keep the page responsive between charts.
      await new Promise((resolve) => setTimeout(resolve));
    }
  }

  for (const fold of document.querySelectorAll("details.fold")) {
    fold.addEventListener("toggle", () => fold.open && drawAll(fold));
  }

  function themeColors() {
    const style = getComputedStyle(root);
    const [ink, soft, line, paper, mark] = ["ink", "soft", "line", "paper", "up"].map((name) =>
      style.getPropertyValue(`--${name}`).trim(),
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
      Span: { line_color: mark },
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

  function applyTheme(drawn) {
    const colors = themeColors();
    const isDark = root.dataset.theme === "dark";
    for (const model of drawn._all_models.values()) {
      // Heat maps have palettes and numbers for each theme.
      if (model.type === "LinearColorMapper") model.palette = model.tags[Number(isDark)];
      else if (model.tags.includes("by theme")) model.text_color = { field: root.dataset.theme };
      else if (model.type in colors) model.setv(colors[model.type]);
    }
  }

  // Numbers and names of columns would overlap in narrow cells.
  function hideCrowdedNumbers() {
    const width = document.querySelector("main").clientWidth - 160;
    for (const drawn of documents) {
      for (const model of drawn._all_models.values()) {
        const [kind, columns] = model.tags;
        if (kind === "numbers") model.visible = width / columns >= 32;
        if (kind === "labels") model.major_label_text_alpha = Number(width / columns >= 10);
      }
    }
  }
  addEventListener("resize", hideCrowdedNumbers);

  // Light and dark theme.

  function show(theme) {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light colors" : "Dark colors";
    documents.forEach(applyTheme);
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  let theme = root.dataset.theme;
  show(theme);
  button.addEventListener("click", () => {
    theme = theme === "dark" ? "light" : "dark";
    show(theme);
  });
  dark.addEventListener("change", () => {
    theme = dark.matches ? "dark" : "light";
    show(theme);
  });
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", () => show(theme));

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

  for (const sorter of document.querySelectorAll("button.sort")) {
    sorter.addEventListener("click", () => sort(sorter.closest("th")));
  }

  // Wide tables say that they scroll.

  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries)
      target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
  });
  for (const region of document.querySelectorAll(".scroll")) widths.observe(region);

  (async () => {
    await anchorview.mapReady;
    await new Promise((resolve) => setTimeout(resolve));
    loadBokeh();
    await drawAll(document);
    root.dataset.drawn = "true";
  })();
})();
