"use strict";
// The map of the samples: drawing, tooltips, zoom, lasso, search and download.
anchorview.mapReady = (async () => {
  const packed = document.querySelector("script[data-map]");
  if (!packed) return;
  const points = new anchorview.MapPoints(await anchorview.unpacked(packed));
  const find = (name) => document.getElementById(`map-${name}`);
  const [canvas, tip, status, legend] = ["canvas", "tip", "status", "legend"].map(find);
  const context = canvas.getContext("2d");
  const HIT_RADIUS = 10;
  const MAX_ZOOM = 60;
  const MAX_STRETCH = 1.6;

  let width, height, fitted, scale, stretch, left, top;
  let moved = false;
  let selected = null; // Uint8Array, or null if all samples are shown alike
  let current = -1;
  let lasso = null;
  let frame = 0;

  // Drawing

  // As high as the first screen allows, so that the map is seen as a whole.
  function setHeight() {
    canvas.style.height = "";
    if (innerWidth < 640) return;
    const room = innerHeight - (canvas.getBoundingClientRect().top + scrollY) - 16;
    canvas.style.height = `${Math.max(300, Math.min(700, room))}px`;
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    const size = [canvas.clientWidth, canvas.clientHeight];
    if (!size[0] || (size[0] === width && size[1] === height)) return;
    [width, height] = size;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [w, h] = points.extent;
    // The map fills the plane: its directions have no meaning.
    const wider = ((width - 40) * h) / ((height - 40) * w);
    stretch = Math.max(1 / MAX_STRETCH, Math.min(MAX_STRETCH, wider));
    fitted = Math.min((width - 40) / (w * stretch), (height - 40) / h);
    if (!moved) reset();
    draw();
  }

  function reset() {
    moved = false;
    scale = fitted;
    left = (width - points.extent[0] * scale * stretch) / 2;
    top = (height - points.extent[1] * scale) / 2;
    draw();
  }

  function zoom(factor, x = width / 2, y = height / 2) {
    const next = Math.max(fitted, Math.min(MAX_ZOOM * fitted, scale * factor));
    left = x - ((x - left) * next) / scale;
    top = y - ((y - top) * next) / scale;
    scale = next;
    if (scale === fitted) reset();
    else moved = true;
    hideTip();
    draw();
  }

  function move(dx, dy) {
    [left, top] = [left + dx, top + dy];
    moved = true;
    hideTip();
    draw();
  }

  const xOf = (value) => value * scale * stretch + left;
  const yOf = (value) => value * scale + top;
  const toData = ([x, y]) => [(x - left) / (scale * stretch), (y - top) / scale];

  function draw() {
    frame ||= requestAnimationFrame(drawNow);
  }

  function pointSize() {
    const count = Math.log10(Math.max(points.n, 10));
    return Math.min(9, Math.max(2.2, 9 - 1.4 * count) * Math.sqrt(Math.sqrt(scale / fitted)));
  }

  function drawNow() {
    cancelAnimationFrame(frame);
    frame = 0;
    if (!width) return;
    context.clearRect(0, 0, width, height);
    const size = pointSize();
    const alpha = Math.min(0.9, Math.max(0.45, 1.15 - 0.15 * Math.log10(Math.max(points.n, 10))));
    if (selected) {
      drawPoints(size, 0.12, (index) => !selected[index]);
      drawPoints(size, 0.95, (index) => selected[index]);
    } else drawPoints(size, alpha, () => true);
    context.globalAlpha = 1;
    drawLabels();
    if (current >= 0) drawRing(current);
    if (lasso) drawLasso();
  }

  function drawPoints(size, alpha, shown) {
    const round = points.n <= 20000;
    context.globalAlpha = alpha;
    let color = -1;
    let open = false;
    for (const index of points.order) {
      if (!shown(index)) continue;
      const x = xOf(points.x[index]);
      const y = yOf(points.y[index]);
      if (x < -size || y < -size || x > width + size || y > height + size) continue;
      if (points.codes[index] !== color) {
        if (open) context.fill();
        color = points.codes[index];
        context.fillStyle = points.colors[color];
        if (round) context.beginPath();
        open = round;
      }
      if (round) {
        context.moveTo(x + size / 2, y);
        context.arc(x, y, size / 2, 0, 6.2832);
      } else context.fillRect(x - size / 2, y - size / 2, size, size);
    }
    if (open) context.fill();
  }

  function themeColor(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function drawLabels() {
    const crowded = points.labels.length > 40;
    context.font = `700 ${crowded ? 12 : 14}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = themeColor("--paper");
    context.fillStyle = themeColor("--ink");
    const drawn = [];
    for (const label of points.labels) {
      const x = xOf(label.x);
      const y = yOf(label.y);
      const half = context.measureText(label.text).width / 2 + 1;
      label.box = null;
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const box = [x - half, y - 7, x + half, y + 7];
      if (drawn.some((d) => box[0] < d[2] && box[2] > d[0] && box[1] < d[3] && box[3] > d[1]))
        continue;
      drawn.push((label.box = box));
      context.strokeText(label.text, x, y);
      context.fillText(label.text, x, y);
    }
    canvas.dataset.labels = drawn.length;
  }

  function drawRing(index) {
    context.beginPath();
    context.arc(xOf(points.x[index]), yOf(points.y[index]), 8, 0, 6.2832);
    context.lineWidth = 2.5;
    context.strokeStyle = themeColor("--ink");
    context.stroke();
  }

  function drawLasso() {
    context.beginPath();
    lasso.forEach(([x, y]) => context.lineTo(xOf(x), yOf(y)));
    context.closePath();
    context.globalAlpha = 0.15;
    context.fillStyle = context.strokeStyle = themeColor("--accent");
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.stroke();
  }

  // Tooltips

  function tipRows(index) {
    const cluster = points.cluster[index];
    const rows = [["Cluster", points.names[cluster]]];
    if (points.confidence) rows.push(["Confidence", `${points.confidence[index]} %`]);
    if (points.second && points.second[index] >= 0)
      rows.push(["Next cluster", points.names[points.second[index]]]);
    if (points.classes) rows.push(["Class", points.classes.names[points.classes.codes[index]] ?? "–"]);
    if (points.availability)
      rows.push(["Views", points.availability.patterns[points.availability.pattern[index]]]);
    return rows;
  }

  function showTip(index) {
    if (index === current && !tip.hidden) return;
    current = index;
    const list = anchorview.element("dl");
    for (const [name, value] of tipRows(index)) {
      list.append(anchorview.element("dt", name), anchorview.element("dd", value));
    }
    tip.replaceChildren(anchorview.element("strong", anchorview.shorten(points.id(index), 80)), list);
    const row = points.rows[index];
    if (points.texts?.[row]) tip.append(anchorview.element("p", points.texts[row]));
    if (points.thumbnails?.[row]) tip.append(thumbnail(row));
    tip.hidden = false;
    const x = xOf(points.x[index]);
    const y = yOf(points.y[index]);
    const { offsetWidth, offsetHeight } = tip;
    const beside = x + 14 + offsetWidth > width ? x - 14 - offsetWidth : x + 14;
    tip.style.left = `${Math.max(0, Math.min(width - offsetWidth, beside))}px`;
    tip.style.top = `${Math.max(0, Math.min(height - offsetHeight, y - offsetHeight / 2))}px`;
    draw();
  }

  function hideTip() {
    if (current < 0) return;
    current = -1;
    tip.hidden = true;
    draw();
  }

  function thumbnail(row) {
    const image = document.createElement("img");
    image.src = points.thumbnails[row];
    image.alt = "";
    return image;
  }

  for (const place of document.querySelectorAll("[data-thumbnail]")) {
    if (points.thumbnails?.[place.dataset.thumbnail])
      place.append(thumbnail(place.dataset.thumbnail));
  }

  // Selection

  function select(indices, what) {
    selected = new Uint8Array(points.n);
    const counts = new Map();
    for (const index of indices) {
      selected[index] = 1;
      const name = points.names[points.cluster[index]];
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const largest = [...counts].sort((a, b) => b[1] - a[1]);
    const listed = largest.slice(0, 4).map(([name, n]) => `${anchorview.shorten(name, 24)} (${n})`);
    if (largest.length > 4) listed.push("…");
    status.textContent = indices.length
      ? `${anchorview.count(indices.length, "sample")} ${what}; by cluster: ${listed.join(", ")}.`
      : `No sample ${what}.`;
    find("download").hidden = !indices.length;
    find("clear").hidden = false;
    if (!indices.length) selected = null;
    draw();
  }

  function clear() {
    selected = null;
    status.textContent = "";
    find("download").hidden = find("clear").hidden = true;
    hideTip();
    draw();
  }

  function quoted(text) {
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function downloadSelected() {
    const lines = ["sample,cluster"];
    for (let i = 0; i < points.n; i++) {
      if (selected[i])
        lines.push(`${quoted(points.id(i))},${quoted(points.names[points.cluster[i]])}`);
    }
    anchorview.download("selected_samples.csv", "text/csv", lines.join("\r\n") + "\r\n");
  }

  function locate(index) {
    const x = xOf(points.x[index]);
    const y = yOf(points.y[index]);
    if (x < 0 || y < 0 || x > width || y > height) move(width / 2 - x, height / 2 - y);
    canvas.focus({ preventScroll: true });
    canvas.scrollIntoView({ block: "center" });
    showTip(index);
  }

  function search(text) {
    if (!text) return clear();
    const wanted = text.toLowerCase();
    const all = Array.from({ length: points.n }, (_, index) => index);
    const equal = all.filter((index) => points.id(index) === text);
    const about = (index) => points.texts?.[points.rows[index]]?.toLowerCase().includes(wanted);
    const found = equal.length
      ? equal
      : all.filter((i) => points.id(i).toLowerCase().includes(wanted) || about(i));
    select(found, `on the map ${found.length === 1 ? "matches" : "match"} “${text}”`);
    if (found.length === 1) locate(found[0]);
  }

  // Pointer and keyboard

  const inLasso = (event) => find("lasso").getAttribute("aria-pressed") === "true" || event.shiftKey;
  const position = (event) => [event.offsetX, event.offsetY];
  const pointAt = (place) => points.nearest(...toData(place), HIT_RADIUS / scale, stretch);
  let drag = null;

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { start: position(event), last: position(event), far: false };
    if (inLasso(event)) lasso = [toData(drag.start)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = position(event);
    if (!drag) {
      const index = pointAt(here);
      if (index >= 0) showTip(index);
      else hideTip();
      canvas.style.cursor = lasso || inLasso(event) ? "crosshair" : labelAt(here) ? "pointer" : "";
      return;
    }
    drag.far ||= Math.hypot(here[0] - drag.start[0], here[1] - drag.start[1]) > 4;
    if (lasso) {
      hideTip();
      lasso.push(toData(here));
      draw();
    } else if (drag.far) move(here[0] - drag.last[0], here[1] - drag.last[1]);
    drag.last = here;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const here = position(event);
    if (lasso && drag.far) select(points.within(lasso), "selected");
    else if (!drag.far) {
      const label = labelAt(here);
      const index = pointAt(here);
      if (label && points.coloring !== "class" && event.pointerType === "mouse")
        document.dispatchEvent(new CustomEvent("anchorview:open", { detail: label.code }));
      else if (index >= 0) showTip(index);
      else hideTip();
    }
    drag = lasso = null;
    draw();
  });
  canvas.addEventListener("pointercancel", () => {
    drag = lasso = null;
    draw();
  });
  canvas.addEventListener("pointerleave", () => drag || hideTip());
  canvas.addEventListener("dblclick", (event) => zoom(2, ...position(event)));
  canvas.addEventListener(
    "wheel",
    (event) => {
      // Otherwise the wheel scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), ...position(event));
    },
    { passive: false },
  );

  function labelAt([x, y]) {
    return points.labels.find(
      ({ box }) => box && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3],
    );
  }

  const KEYS = {
    ArrowLeft: () => move(60, 0),
    ArrowRight: () => move(-60, 0),
    ArrowUp: () => move(0, 60),
    ArrowDown: () => move(0, -60),
    "+": () => zoom(1.5),
    "=": () => zoom(1.5),
    "-": () => zoom(1 / 1.5),
    0: reset,
    Escape: clear,
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // Controls

  function showLegend() {
    legend.replaceChildren();
    const item = (color, text) => {
      const entry = anchorview.element("li", text);
      entry.style.setProperty("--color", color);
      legend.append(entry);
    };
    if (points.coloring === "confidence") {
      points.colors.forEach((color, bin) => item(color, `${20 * bin}–${20 * bin + 20} %`));
    } else if (points.coloring === "availability") {
      points.availability.names.forEach((name, code) => item(points.colors[code], name));
    } else if (points.coloring === "class" && points.classes.codes.includes(-1)) {
      item("#808080", "no known class");
    }
    legend.hidden = !legend.children.length;
  }

  find("color").addEventListener("change", (event) => {
    points.colorBy(event.target.value);
    showLegend();
    draw();
  });
  find("lasso").addEventListener("click", (event) => {
    const pressed = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(pressed));
    canvas.classList.toggle("lasso", pressed);
  });
  find("in").addEventListener("click", () => zoom(1.5));
  find("out").addEventListener("click", () => zoom(1 / 1.5));
  find("reset").addEventListener("click", reset);
  find("clear").addEventListener("click", clear);
  find("download").addEventListener("click", downloadSelected);
  find("search").addEventListener("change", (event) => search(event.target.value.trim()));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-locate]");
    if (button && points.rowIndex.has(Number(button.dataset.locate)))
      locate(points.rowIndex.get(Number(button.dataset.locate)));
  });
  for (const button of document.querySelectorAll("[data-locate]"))
    button.disabled = !points.rowIndex.has(Number(button.dataset.locate));
  document.addEventListener("anchorview:names", ({ detail }) => {
    points.rename(detail);
    hideTip();
    draw();
  });
  document.addEventListener("anchorview:select", ({ detail }) => {
    const all = Array.from({ length: points.n }, (_, index) => index);
    select(
      all.filter((index) => detail.has(points.cluster[index])),
      "selected",
    );
    canvas.scrollIntoView({ block: "center" });
  });
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  new ResizeObserver(resize).observe(canvas);
  addEventListener("resize", setHeight);
  setHeight();
  resize();
  drawNow();
  // Tests and the documentation's picture point at samples.
  canvas.positionOf = (row) => {
    const index = points.rowIndex.get(row);
    return { x: xOf(points.x[index]), y: yOf(points.y[index]) };
  };
  canvas.dataset.drawn = "true";
})();
