"use strict";
// The plane of the map: where points are on the canvas, and how they are drawn.
anchorview.MapPlane = class {
  static MARGIN = 20;
  static MAX_ZOOM = 60;
  static MAX_STRETCH = 1.6;
  static HIT_RADIUS = 10;
  static ROUND_POINTS = 20000;

  constructor(canvas, points) {
    this.canvas = canvas;
    this.points = points;
    this.context = canvas.getContext("2d");
    this.moved = false;
    this.onMove = () => {};
    this.selected = null; // Uint8Array, or null if all samples are shown alike
    this.current = -1;
    this.lasso = null;
    this.frame = 0;
    this.resize();
    new ResizeObserver(() => this.resize()).observe(canvas);
    new MutationObserver(() => this.draw()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    this.drawNow();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || (clientWidth === this.width && clientHeight === this.height)) return;
    [this.width, this.height] = [clientWidth, clientHeight];
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { MARGIN, MAX_STRETCH } = anchorview.MapPlane;
    const [w, h] = this.points.extent;
    const [wide, high] = [this.width - 2 * MARGIN, this.height - 2 * MARGIN];
    // The map fills the plane: its directions have no meaning.
    this.stretch = Math.max(1 / MAX_STRETCH, Math.min(MAX_STRETCH, (wide * h) / (high * w)));
    this.fitted = Math.min(wide / (w * this.stretch), high / h);
    if (!this.moved) this.reset();
    this.draw();
  }

  reset() {
    this.onMove();
    this.moved = false;
    this.scale = this.fitted;
    this.left = (this.width - this.points.extent[0] * this.scale * this.stretch) / 2;
    this.top = (this.height - this.points.extent[1] * this.scale) / 2;
    this.draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const most = anchorview.MapPlane.MAX_ZOOM * this.fitted;
    const next = Math.max(this.fitted, Math.min(most, this.scale * factor));
    this.left = x - ((x - this.left) * next) / this.scale;
    this.top = y - ((y - this.top) * next) / this.scale;
    this.scale = next;
    if (next === this.fitted) this.reset();
    else this.move(0, 0);
  }

  move(dx, dy) {
    this.onMove();
    [this.left, this.top] = [this.left + dx, this.top + dy];
    this.moved = true;
    this.draw();
  }

  x = (value) => value * this.scale * this.stretch + this.left;
  y = (value) => value * this.scale + this.top;
  place = (index) => [this.x(this.points.x[index]), this.y(this.points.y[index])];
  toData = ([x, y]) => [(x - this.left) / (this.scale * this.stretch), (y - this.top) / this.scale];
  has = ([x, y]) => x >= 0 && y >= 0 && x <= this.width && y <= this.height;

  pointAt(place) {
    const radius = anchorview.MapPlane.HIT_RADIUS / this.scale;
    return this.points.nearest(...this.toData(place), radius, this.stretch);
  }

  labelAt([x, y]) {
    return this.points.labels.find(
      ({ box }) => box && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3],
    );
  }

  draw() {
    this.frame ||= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.width) return;
    const { context, selected } = this;
    context.clearRect(0, 0, this.width, this.height);
    // Points must neither vanish nor hide each other.
    const count = Math.log10(Math.max(this.points.n, 10));
    const zoomed = Math.sqrt(Math.sqrt(this.scale / this.fitted));
    const size = Math.min(9, Math.max(2.2, 9 - 1.4 * count) * zoomed);
    const alpha = Math.min(0.9, Math.max(0.45, 1.15 - 0.15 * count));
    this.drawPoints(size, selected ? 0.12 : alpha, (index) => !selected?.[index]);
    if (selected) this.drawPoints(size, 0.95, (index) => selected[index]);
    context.globalAlpha = 1;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    this.drawLabels(color("--ink"), color("--paper"));
    if (this.current >= 0) this.drawRing(color("--ink"));
    if (this.lasso) this.drawLasso(color("--accent"));
  }

  drawPoints(size, alpha, shown) {
    const { context, points } = this;
    const round = points.n <= anchorview.MapPlane.ROUND_POINTS;
    context.globalAlpha = alpha;
    const isDark = document.documentElement.dataset.theme === "dark";
    // As in the style of the page.
    const colors = points.colors.map((c) => (isDark ? `color-mix(in srgb, ${c} 75%, white)` : c));
    let color = -1;
    context.beginPath();
    for (const index of points.order) {
      if (!shown(index)) continue;
      const x = this.x(points.x[index]);
      const y = this.y(points.y[index]);
      if (x < -size || y < -size || x > this.width + size || y > this.height + size) continue;
      if (points.codes[index] !== color) {
        context.fill();
        context.beginPath();
        color = points.codes[index];
        context.fillStyle = colors[color];
      }
      if (round) {
        context.moveTo(x + size / 2, y);
        context.arc(x, y, size / 2, 0, 2 * Math.PI);
      } else context.rect(x - size / 2, y - size / 2, size, size);
    }
    context.fill();
  }

  // Labels that would overlap a larger group's are left out until the map is zoomed.
  drawLabels(ink, paper) {
    const { context } = this;
    // Labels of many, small groups are above their points, not on them.
    const many = this.points.labels.length > 40;
    const font = `700 ${many ? 12 : 14}px system-ui, sans-serif`;
    Object.assign(context, { font, textAlign: "center", textBaseline: "middle" });
    Object.assign(context, { lineJoin: "round", lineWidth: 4, strokeStyle: paper, fillStyle: ink });
    const drawn = [];
    const overlap = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];
    for (const label of this.points.labels) {
      const [x, y] = [this.x(label.x), this.y(label.y) - (many ? 10 : 0)];
      label.box = null;
      // The number, if there is no room for the title.
      for (const text of many ? [label.short] : [label.text, label.short]) {
        const half = context.measureText(text).width / 2 + 1;
        const box = [x - half, y - 7, x + half, y + 7];
        const fits = this.has([box[0], y]) && this.has([box[2], y]);
        if (!fits || drawn.some((other) => overlap(box, other))) continue;
        drawn.push((label.box = box));
        context.strokeText(text, x, y);
        context.fillText(text, x, y);
        break;
      }
    }
    this.canvas.dataset.labels = drawn.length;
  }

  drawRing(strokeStyle) {
    const ring = new Path2D();
    ring.arc(...this.place(this.current), 8, 0, 2 * Math.PI);
    Object.assign(this.context, { lineWidth: 2.5, strokeStyle });
    this.context.stroke(ring);
  }

  drawLasso(color) {
    const path = new Path2D();
    for (const [x, y] of this.lasso) path.lineTo(this.x(x), this.y(y));
    path.closePath();
    Object.assign(this.context, { lineWidth: 2, strokeStyle: color, fillStyle: color + "26" });
    this.context.fill(path);
    this.context.stroke(path);
  }
};
