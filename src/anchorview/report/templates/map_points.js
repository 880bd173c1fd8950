"use strict";
// Points of the map: their colors, the order in which they are drawn, and which one is near a
// position. Coordinates are those of the data.
anchorview.MapPoints = class {
  static LAYERS = 16;
  static CELLS = 128;
  static RAMP = ["#b43000", "#d9761a", "#f0a800", "#a8a074", "#6c90c0"];

  constructor(data) {
    Object.assign(this, data);
    this.n = data.x.length;
    this.rowIndex = new Map(data.rows.map((row, index) => [row, index]));
    this.extent = [data.x, data.y].map((values) => values.reduce((a, b) => Math.max(a, b), 1));
    this.names = data.clusters.slice();
    this.buildGrid();
    this.colorBy("cluster");
  }

  id(index) {
    return this.ids ? this.ids[index] : String(this.rows[index]);
  }

  // Clusters with equal names are one group, with the color of the first.
  rename(names) {
    this.names = names;
    this.colorBy(this.coloring);
  }

  colorBy(coloring) {
    this.coloring = coloring;
    const first = new Map();
    this.names.forEach((name, cluster) => first.has(name) || first.set(name, cluster));
    const group = this.names.map((name) => first.get(name));
    const byCluster = this.cluster.map((cluster) => group[cluster]);
    let [colors, groups, names] = [this.palette, byCluster, this.names];
    let codes;
    if (coloring === "class") {
      ({ codes: groups, names } = this.classes);
      codes = groups.map((code) => (code < 0 ? this.palette.length : code % this.palette.length));
      colors = [...this.palette, "#808080"];
    } else if (coloring === "confidence") {
      codes = this.confidence.map((percent) => Math.min(4, Math.floor(percent / 20)));
      colors = anchorview.MapPoints.RAMP;
    } else if (coloring === "availability") {
      codes = this.availability.codes;
    } else {
      if (coloring in this.levels) {
        groups = this.levels[coloring];
        names = Array.from({ length: 1 + groups.reduce((a, b) => Math.max(a, b), 0) }, (_, c) => String(c));
      }
      codes = groups.map((cluster) => cluster % this.palette.length);
    }
    this.codes = codes;
    this.colors = colors;
    this.sortByColor();
    this.labels = this.labelsOf(groups, names);
    this.labelsAreClusters = groups === byCluster;
  }

  // Layers of pseudo-random points, each sorted by color: no color covers another, and the color
  // changes a few hundred times per drawing only.
  sortByColor() {
    const { LAYERS } = anchorview.MapPoints;
    const key = (i) => (Math.imul(i, 2654435761) >>> 28) * this.colors.length + this.codes[i];
    const starts = new Uint32Array(LAYERS * this.colors.length + 1);
    for (let i = 0; i < this.n; i++) starts[key(i) + 1]++;
    for (let k = 1; k < starts.length; k++) starts[k] += starts[k - 1];
    this.order = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i++) this.order[starts[key(i)]++] = i;
  }

  // Names at the median of each group, moved to its nearest point; large groups first.
  labelsOf(codes, names) {
    const members = names.map(() => []);
    codes.forEach((code, index) => code >= 0 && members[code].push(index));
    return members
      .map((indices, code) => {
        if (!indices.length) return null;
        const [x, y] = [this.x, this.y].map((values) => {
          const sorted = indices.map((index) => values[index]).sort((a, b) => a - b);
          return sorted[sorted.length >> 1];
        });
        const distance = (index) => (this.x[index] - x) ** 2 + (this.y[index] - y) ** 2;
        const nearest = indices.reduce((a, b) => (distance(b) < distance(a) ? b : a));
        const text = anchorview.shorten(names[code], 20);
        return { code, text, x: this.x[nearest], y: this.y[nearest], size: indices.length };
      })
      .filter((label) => label)
      .sort((a, b) => b.size - a.size);
  }

  buildGrid() {
    const { CELLS } = anchorview.MapPoints;
    this.cellSize = Math.max(...this.extent) / CELLS + 1e-9;
    this.grid = new Map();
    for (let i = 0; i < this.n; i++) {
      const cell = this.cellOf(this.x[i]) * CELLS + this.cellOf(this.y[i]);
      if (this.grid.has(cell)) this.grid.get(cell).push(i);
      else this.grid.set(cell, [i]);
    }
  }

  cellOf(value) {
    const { CELLS } = anchorview.MapPoints;
    return Math.max(0, Math.min(CELLS - 1, Math.floor(value / this.cellSize)));
  }

  // Horizontal distances count `stretch` times.
  nearest(x, y, radius, stretch) {
    let [best, least] = [-1, radius * radius];
    const reach = radius / stretch;
    for (let i = this.cellOf(x - reach); i <= this.cellOf(x + reach); i++) {
      for (let j = this.cellOf(y - radius); j <= this.cellOf(y + radius); j++) {
        for (const index of this.grid.get(i * anchorview.MapPoints.CELLS + j) ?? []) {
          const distance = (stretch * (this.x[index] - x)) ** 2 + (this.y[index] - y) ** 2;
          if (distance < least) [best, least] = [index, distance];
        }
      }
    }
    return best;
  }

  // Even-odd rule.
  within(polygon) {
    const indices = [];
    const [xs, ys] = [0, 1].map((axis) => polygon.map((corner) => corner[axis]));
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    for (let i = 0; i < this.n; i++) {
      const [x, y] = [this.x[i], this.y[i]];
      if (x < left || x > right || y < top || y > bottom) continue;
      let inside = false;
      for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
        const crosses = ys[a] > y !== ys[b] > y;
        if (crosses && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a])
          inside = !inside;
      }
      if (inside) indices.push(i);
    }
    return indices;
  }
};
