"use strict";
// The map of the samples: tooltips, zoom, lasso, search and download.
anchorview.mapReady = (async () => {
  const packed = document.querySelector("script[data-map]");
  if (!packed) return;
  const points = new anchorview.MapPoints(await anchorview.unpacked(packed));
  const find = (name) => document.getElementById(`map-${name}`);
  const [canvas, tip, status, legend] = ["canvas", "tip", "status", "legend"].map(find);
  const plane = new anchorview.MapPlane(canvas, points);
  plane.onMove = () => hideTip();
  const everyone = [...points.rows.keys()];

  // Tooltips

  function tipRows(index) {
    const { level, partitions, confidence } = points;
    const [cluster, { names, second }] = [points.nameOf(index), partitions[level]];
    const rows = [["Cluster", cluster]];
    if (partitions.class) rows.push(["Class", points.nameOf(index, "class") ?? "–"]);
    if (confidence) rows.push(["Confidence", `${confidence[index]} %`]);
    // Clusters may have been merged, here or before.
    const next = names[second?.[index]] ?? cluster;
    if (next !== cluster) rows.push(["Next cluster", next]);
    if (partitions.availability) rows.push(["Views", points.nameOf(index, "availability")]);
    return rows;
  }

  function showTip(index) {
    if (index < 0) return hideTip();
    if (index === plane.current && !tip.hidden) return;
    plane.current = index;
    const list = anchorview.element("dl");
    for (const [name, value] of tipRows(index))
      list.append(anchorview.element("dt", name), anchorview.element("dd", value));
    const id = anchorview.shorten(points.id(index), 80);
    tip.replaceChildren(anchorview.element("strong", id), list);
    const row = points.rows[index];
    if (points.texts?.[row]) tip.append(anchorview.element("p", points.texts[row]));
    if (points.thumbnails?.[row]) tip.append(thumbnail(row));
    tip.hidden = false;
    const [x, y] = plane.place(index);
    const { offsetWidth, offsetHeight } = tip;
    const beside = x + 14 + offsetWidth > plane.width ? x - 14 - offsetWidth : x + 14;
    const inside = (start, room) => `${Math.max(0, Math.min(room, start))}px`;
    tip.style.left = inside(beside, plane.width - offsetWidth);
    tip.style.top = inside(y - offsetHeight / 2, plane.height - offsetHeight);
    plane.draw();
  }

  function hideTip() {
    if (plane.current >= 0) plane.draw();
    plane.current = -1;
    tip.hidden = true;
  }

  const thumbnail = (row) => Object.assign(new Image(), { src: points.thumbnails[row], alt: "" });

  for (const place of document.querySelectorAll("[data-thumbnail]"))
    place.append(thumbnail(place.dataset.thumbnail));

  // Selection

  function select(indices, what) {
    plane.selected = indices.length ? new Uint8Array(points.n) : null;
    const counts = new Map();
    for (const index of indices) {
      plane.selected[index] = 1;
      const name = points.nameOf(index);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const listed = [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => `${name} (${n})`);
    const of = anchorview.shorten(listed.join(", "), 120);
    status.textContent = indices.length
      ? `${anchorview.count(indices.length, "sample")} ${what}; by cluster: ${of}.`
      : `No sample ${what}.`;
    find("download").hidden = !indices.length;
    find("download").textContent = `Download ${anchorview.count(indices.length, "id")} (CSV)`;
    find("clear").hidden = false;
    plane.draw();
  }

  function clear() {
    plane.selected = null;
    status.textContent = "";
    find("download").hidden = find("clear").hidden = true;
    plane.draw();
    hideTip();
  }

  function downloadSelected() {
    const chosen = everyone.filter((index) => plane.selected[index]);
    const rows = chosen.map((index) => [points.id(index), points.numberOrName(index)]);
    anchorview.downloadTable("selected_samples.csv", [["sample", "cluster"], ...rows]);
  }

  function locate(index) {
    const [x, y] = plane.place(index);
    if (!plane.has([x, y])) plane.move(plane.width / 2 - x, plane.height / 2 - y);
    canvas.focus({ preventScroll: true });
    canvas.scrollIntoView({ block: "center" });
    showTip(index);
  }

  function search(text) {
    if (!text) return clear();
    const wanted = text.toLowerCase();
    const equal = everyone.filter((index) => points.id(index) === text);
    const about = (index) => points.texts?.[points.rows[index]]?.toLowerCase().includes(wanted);
    const matching = equal.length
      ? equal
      : everyone.filter((i) => points.id(i).toLowerCase().includes(wanted) || about(i));
    select(matching, `on the map ${matching.length > 1 ? "match" : "matches"} “${text}”`);
    if (matching.length === 1) locate(matching[0]);
  }

  // Pointer and keyboard

  const inLasso = (event) => canvas.classList.contains("lasso") || event.shiftKey;
  const position = (event) => [event.offsetX, event.offsetY];
  let drag = null;

  function hover(event) {
    const here = position(event);
    showTip(plane.pointAt(here));
    canvas.style.cursor = inLasso(event) ? "crosshair" : plane.labelAt(here) ? "pointer" : "";
  }

  function click(event) {
    const label = plane.labelAt(position(event));
    if (label && points.labelsAreClusters && event.pointerType === "mouse")
      document.dispatchEvent(new CustomEvent("anchorview:open", { detail: label.code }));
    else hover(event);
  }

  function endDrag() {
    drag = plane.lasso = null;
    plane.draw();
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { start: position(event), last: position(event), far: false };
    if (inLasso(event)) plane.lasso = [plane.toData(drag.start)];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    const here = position(event);
    drag.far ||= Math.hypot(here[0] - drag.start[0], here[1] - drag.start[1]) > 4;
    if (drag.far) hideTip();
    if (plane.lasso) {
      plane.lasso.push(plane.toData(here));
      plane.draw();
    } else if (drag.far) plane.move(here[0] - drag.last[0], here[1] - drag.last[1]);
    drag.last = here;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    if (!drag.far) click(event);
    else if (plane.lasso) select(points.within(plane.lasso), "selected");
    endDrag();
  });
  canvas.addEventListener("pointercancel", endDrag);
  canvas.addEventListener("pointerleave", () => drag || hideTip());
  canvas.addEventListener("dblclick", (event) => plane.zoom(2, ...position(event)));
  const turn = (event) => {
    // Otherwise the wheel scrolls the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    plane.zoom(Math.exp(-event.deltaY / 300), ...position(event));
  };
  canvas.addEventListener("wheel", turn, { passive: false });

  const KEYS = {
    ArrowLeft: () => plane.move(60, 0),
    ArrowRight: () => plane.move(-60, 0),
    ArrowUp: () => plane.move(0, 60),
    ArrowDown: () => plane.move(0, -60),
    "+": () => plane.zoom(1.5),
    "=": () => plane.zoom(1.5),
    "-": () => plane.zoom(1 / 1.5),
    0: () => plane.reset(),
    Escape: clear,
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  function showLegend() {
    const { colors, coloring, partitions } = points;
    let items = [];
    if (coloring === "confidence")
      items = colors.map((color, bin) => [color, `${20 * bin}–${20 * bin + 20} %`]);
    else if (coloring === "availability") {
      const { names } = partitions.availability;
      const shown = [...names.slice(0, 7), "other patterns"].slice(0, names.length);
      items = shown.map((name, code) => [colors[code], name]);
    } else if (partitions[coloring]?.codes.includes(-1)) items = [[colors.at(-1), "no known class"]];
    const entries = items.map(([color, text]) => {
      const entry = anchorview.element("li", text);
      entry.style.setProperty("--color", color);
      return entry;
    });
    legend.replaceChildren(...entries);
    legend.hidden = !entries.length;
  }

  find("color").addEventListener("change", (event) => {
    points.colorBy(event.target.value);
    showLegend();
    plane.draw();
  });
  const levels = [...document.querySelectorAll(".levels button")];
  for (const button of levels)
    button.addEventListener("click", () => {
      for (const other of levels) other.ariaPressed = String(other === button);
      points.level = button.dataset.level;
      points.colorBy(points.coloring);
      clear();
      document.dispatchEvent(new CustomEvent("anchorview:level", { detail: button.dataset.level }));
    });
  const BUTTONS = {
    lasso: () => (find("lasso").ariaPressed = String(canvas.classList.toggle("lasso"))),
    in: KEYS["+"],
    out: KEYS["-"],
    reset: KEYS[0],
    clear,
    download: downloadSelected,
  };
  for (const [name, act] of Object.entries(BUTTONS)) find(name).addEventListener("click", act);
  find("search").addEventListener("change", (event) => search(event.target.value.trim()));
  for (const button of document.querySelectorAll("[data-locate]")) {
    const index = points.rowIndex.get(Number(button.dataset.locate));
    button.disabled = index === undefined;
    button.addEventListener("click", () => locate(index));
  }
  document.addEventListener("anchorview:names", ({ detail }) => {
    points.rename(detail);
    hideTip();
    plane.draw();
  });
  document.addEventListener("anchorview:select", ({ detail }) => {
    const chosen = everyone.filter((index) => detail.has(points.codeOf(index)));
    select(chosen, "selected");
    canvas.scrollIntoView({ block: "center" });
  });
  // Tests and the documentation's picture point at samples.
  canvas.placeOf = (row) => {
    const [x, y] = plane.place(points.rowIndex.get(row));
    return { x, y };
  };
  canvas.dataset.drawn = "true";
})();
