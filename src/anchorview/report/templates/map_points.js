"use strict";
// Points of the map: their colors, the order in which they are drawn, and which one is near a
// position. Coordinates are those of the data.
anchorview.MapPoints = class {
  static LAYER_BITS = 4;
  static RAMP = ["#b43000", "#d9761a", "#f0a800", "#a8a074", "#6c90c0"];

  constructor(data) {
    Object.assign(this, data);
    this.n = data.x.length;
    this.rowIndex = new Map(data.rows.map((row, index) => [row, index]));
    this.extent = [data.x, data.y].map((values) => values.reduce((a, b) => Math.max(a, b), 1));
    this.names = data.titles.slice();
    this.level = "cluster"; // The coloring that shows the clusters of the level
    this.colorBy("cluster");
  }

  id(index) {
    return this.ids ? this.ids[index] : String(this.rows[index]);
  }

  // Clusters with equal names are one group, with the color of the first.
  rename(names) {
    this.names = names.map((name, c) => (name === this.clusters[c] ? this.titles[c] : name));
    this.colorBy(this.coloring);
  }

  // Cluster of a sample at the level, and its name.
  codeOf(index) {
    return (this.partitions[this.level]?.codes ?? this.cluster)[index];
  }

  // The number, unless a person has given a name.
  numberOrName(index) {
    const code = this.codeOf(index);
    if (this.partitions[this.level]) return String(code);
    return this.names[code] === this.titles[code] ? this.clusters[code] : this.names[code];
  }

  clusterOf(index) {
    return (this.partitions[this.level]?.names ?? this.names)[this.codeOf(index)];
  }

  colorBy(coloring) {
    this.coloring = coloring;
    const shown = coloring === "cluster" ? this.level : coloring;
    const first = new Map();
    this.names.forEach((name, cluster) => first.has(name) || first.set(name, cluster));
    const group = this.names.map((name) => first.get(name));
    const byCluster = this.cluster.map((cluster) => group[cluster]);
    let [groups, names] = [byCluster, this.names];
    const partition = this.partitions[shown] ?? this.partitions[this.level];
    if (partition) ({ codes: groups, names } = partition);
    let colors = [...this.palette, "#808080"];
    let codes = groups.map((code) => (code < 0 ? this.palette.length : code % this.palette.length));
    if (coloring === "confidence") {
      codes = this.confidence.map((percent) => Math.min(4, Math.floor(percent / 20)));
      colors = anchorview.MapPoints.RAMP;
    } else if (coloring === "availability") {
      colors = [...this.palette.slice(0, 7), "#808080"]; // Rare patterns are gray.
      codes = this.availability.codes.map((code) => Math.min(code, 7));
    }
    this.codes = codes;
    this.colors = colors;
    this.sortByColor();
    this.labels = this.labelsOf(groups, names);
    this.labelsAreClusters = coloring !== "class";
  }

  // Layers of pseudo-random points, each sorted by color: no color covers another, and the color
  // changes a few hundred times per drawing only.
  sortByColor() {
    const layer = (index) => Math.imul(index, 2654435761) >>> (32 - anchorview.MapPoints.LAYER_BITS);
    const keys = this.codes.map((code, index) => layer(index) * this.colors.length + code);
    this.order = Uint32Array.from(keys.keys()).sort((a, b) => keys[a] - keys[b]);
  }

  // Names at the median of each group, moved to its nearest point; large groups first.
  labelsOf(codes, names) {
    const members = names.map(() => []);
    codes.forEach((code, index) => code >= 0 && members[code].push(index));
    const label = (indices, code) => {
      const middle = (values) => indices.map((i) => values[i]).sort((a, b) => a - b)[indices.length >> 1];
      const nearest = this.nearest(middle(this.x), middle(this.y), Infinity, 1, indices);
      const text = anchorview.shorten(names[code], 30);
      const short = names === this.names ? this.clusters[code] : String(code);
      return { code, text, short, x: this.x[nearest], y: this.y[nearest], size: indices.length };
    };
    const labels = members.map(label).filter(({ size }) => size);
    return labels.sort((a, b) => b.size - a.size);
  }

  // Of all or some points, the one nearest to a position; -1 if none is within the radius.
  // Horizontal distances count `stretch` times.
  nearest(x, y, radius, stretch, among = this.order) {
    let [best, least] = [-1, radius * radius];
    for (const index of among) {
      const distance = (stretch * (this.x[index] - x)) ** 2 + (this.y[index] - y) ** 2;
      if (distance < least) [best, least] = [index, distance];
    }
    return best;
  }

  within(polygon) {
    const path = new Path2D();
    for (const corner of polygon) path.lineTo(...corner);
    // A context that is not scaled, unlike that of the map.
    const plane = document.createElement("canvas").getContext("2d");
    const inside = (index) => plane.isPointInPath(path, this.x[index], this.y[index], "evenodd");
    return [...this.rows.keys()].filter(inside);
  }
};
