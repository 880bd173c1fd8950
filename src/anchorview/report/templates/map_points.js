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
    this.renamed = this.partitions[this.level]; // The clusters of the chosen level
    this.titles = this.renamed.names;
    this.colorBy("cluster");
  }

  id(index) {
    return this.ids ? this.ids[index] : String(this.rows[index]);
  }

  rename(names) {
    const { titles, renamed } = this;
    renamed.names = names.map((name, c) => (name === renamed.short[c] ? titles[c] : name));
    this.colorBy(this.coloring);
  }

  // Cluster of a sample at the level, and its name; or its name in another partition.
  codeOf(index) {
    return this.partitions[this.level].codes[index];
  }

  nameOf(index, partition = this.level) {
    const { names, codes } = this.partitions[partition];
    return names[codes[index]];
  }

  // The number, unless a person has given a name.
  numberOrName(index) {
    const { short } = this.partitions[this.level];
    const [code, name] = [this.codeOf(index), this.nameOf(index)];
    return short !== this.renamed.short || name === this.titles[code] ? short[code] : name;
  }

  colorBy(coloring) {
    this.coloring = coloring;
    const { names, codes, short } = this.partitions[coloring === "class" ? "class" : this.level];
    // Clusters with equal names are one group, with the color of the first.
    const group = names.map((name) => names.indexOf(name));
    const groups = codes.map((code) => group[code] ?? -1);
    const { length } = this.palette;
    this.colors = [...this.palette, "#808080"];
    this.codes = groups.map((code) => (code < 0 ? length : code % length));
    if (coloring === "confidence") {
      this.codes = this.confidence.map((percent) => Math.min(4, Math.floor(percent / 20)));
      this.colors = anchorview.MapPoints.RAMP;
    } else if (coloring === "availability") {
      this.colors = [...this.palette.slice(0, 7), "#808080"]; // Rare patterns are gray.
      this.codes = this.partitions.availability.codes.map((code) => Math.min(code, 7));
    }
    this.sortByColor();
    this.labels = this.labelsOf(groups, names, short);
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
  labelsOf(codes, names, short) {
    const members = names.map(() => []);
    codes.forEach((code, index) => code >= 0 && members[code].push(index));
    const label = (indices, code) => {
      const middle = (values) => indices.map((i) => values[i]).sort((a, b) => a - b)[indices.length >> 1];
      const nearest = this.nearest(middle(this.x), middle(this.y), Infinity, 1, indices);
      const [x, y, size] = [this.x[nearest], this.y[nearest], indices.length];
      return { code, text: anchorview.shorten(names[code], 30), short: short[code], x, y, size };
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
