"use strict";
// Cards of the clusters: search, order, names, merging, and the mapping to download.
(() => {
  const list = document.getElementById("cards");
  if (!list) return;
  const PAGE = 24;
  const MAX_OPEN_ON_PHONES = 4;
  const cards = [...list.children];
  const find = (name) => document.getElementById(`cards-${name}`);
  const original = cards.map((card) => card.dataset.name);
  const texts = cards.map((card) => card.textContent.toLowerCase());
  let limit = PAGE;

  // On phones, cards are folded to a line each.
  if (cards.length > MAX_OPEN_ON_PHONES && matchMedia("(max-width: 40rem)").matches)
    for (const card of cards) card.querySelector(".body").open = false;

  // Search and order

  const ORDERS = {
    number: (a, b) => a.dataset.cluster - b.dataset.cluster,
    size: (a, b) => b.dataset.size - a.dataset.size,
    confidence: (a, b) => a.dataset.confidence - b.dataset.confidence,
    separation: (a, b) => a.dataset.separation - b.dataset.separation,
  };

  function show() {
    const wanted = find("search").value.trim().toLowerCase();
    const matches = (card) => {
      const cluster = Number(card.dataset.cluster);
      return texts[cluster].includes(wanted) || nameOf(cluster).toLowerCase().includes(wanted);
    };
    const ordered = [...cards].sort(ORDERS[find("order").value]);
    const matching = ordered.filter((card) => !wanted || matches(card));
    const shown = new Set(matching.slice(0, limit));
    for (const card of cards) card.hidden = !shown.has(card);
    list.append(...ordered);
    const which = wanted ? `${matching.length} of ${cards.length} clusters match` : `${cards.length} clusters`;
    const rest = matching.length - shown.size;
    find("count").textContent = rest ? `${which}; ${shown.size} are shown` : which;
    find("more").hidden = !rest;
    find("more").textContent = `Show ${Math.min(rest, 4 * PAGE)} more clusters`;
  }

  find("search").addEventListener("input", () => {
    limit = PAGE;
    show();
  });
  find("order").addEventListener("change", show);
  find("more").addEventListener("click", () => {
    const next = cards.length && [...list.children].filter((card) => !card.hidden).length;
    limit += 4 * PAGE;
    show();
    [...list.children].filter((card) => !card.hidden)[next]?.focus();
  });

  function open(cluster) {
    const card = cards[cluster];
    if (card.hidden) {
      find("search").value = "";
      show();
      card.hidden = false;
    }
    card.querySelector(".body").open = true;
    card.scrollIntoView({ block: "center" });
    card.focus({ preventScroll: true });
  }

  document.addEventListener("anchorview:open", ({ detail }) => open(detail));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-open]");
    if (!link) return;
    event.preventDefault();
    open(Number(link.dataset.open));
  });
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-select]");
    if (!button) return;
    const detail = new Set([Number(button.dataset.select)]);
    document.dispatchEvent(new CustomEvent("anchorview:select", { detail }));
  });

  // Names; clusters with equal names are merged.

  function nameOf(cluster) {
    const typed = cards[cluster].querySelector("input.name")?.value.trim() || original[cluster];
    // A number stands for the cluster that has it.
    return /^\d+$/.test(typed) ? (original[Number(typed)] ?? typed) : typed;
  }

  function update() {
    const names = cards.map((_, cluster) => nameOf(cluster));
    const groups = new Map();
    names.forEach((name, cluster) => {
      groups.set(name, [...(groups.get(name) ?? []), cluster]);
    });
    const renamed = names.filter((name, cluster) => name !== original[cluster]).length;
    for (const [cluster, card] of cards.entries()) {
      const others = groups.get(names[cluster]).filter((other) => other !== cluster);
      const note = card.querySelector(".merged");
      note.hidden = !others.length;
      note.textContent = others.length ? `Merged with ${others.map((c) => original[c]).join(", ")}` : "";
      const nearest = card.querySelector("dl [data-open]");
      if (!nearest) continue;
      nearest.textContent = names[nearest.dataset.open];
      nearest.closest("div").hidden = others.includes(Number(nearest.dataset.open));
    }
    const checked = cards.filter((card) => card.querySelector("input.chosen").checked);
    find("merge").disabled = checked.length < 2;
    find("merge").textContent =
      checked.length < 2 ? "Merge selected clusters" : `Merge ${checked.length} clusters`;
    find("undo").disabled = !renamed;
    // A model must keep two clusters.
    find("download").disabled = !renamed || groups.size < 2;
    const parts = [];
    if (checked.length) parts.push(`${anchorview.count(checked.length, "cluster")} selected`);
    if (renamed) {
      parts.push(`${anchorview.count(renamed, "cluster")} renamed`);
      parts.push(`${groups.size} of ${cards.length} clusters remain`);
    }
    find("status").textContent = parts.join("; ") + (parts.length ? "." : "");
    return names;
  }

  function rename() {
    const names = update();
    document.dispatchEvent(new CustomEvent("anchorview:names", { detail: names }));
  }

  if (!find("merge")) {
    show();
    return;
  }
  list.addEventListener("change", (event) => {
    if (event.target.matches("input.name")) rename();
    else update();
  });
  find("merge").addEventListener("click", () => {
    const chosen = cards.filter((card) => card.querySelector("input.chosen").checked);
    const clusters = chosen.map((card) => Number(card.dataset.cluster));
    // A name that was typed in for one of them, or all their names.
    const typed = chosen.map((card) => card.querySelector("input.name").value.trim());
    const name = typed.find((text) => text) ?? clusters.map((c) => original[c]).join(" + ");
    for (const card of chosen) {
      card.querySelector("input.name").value = name;
      card.querySelector("input.chosen").checked = false;
    }
    rename();
  });
  find("undo").addEventListener("click", () => {
    for (const card of cards) {
      card.querySelector("input.name").value = "";
      card.querySelector("input.chosen").checked = false;
    }
    rename();
  });
  find("download").addEventListener("click", () => {
    const clusters = {};
    cards.forEach((_, cluster) => {
      if (nameOf(cluster) !== original[cluster]) clusters[cluster] = nameOf(cluster);
    });
    const mapping = { ...JSON.parse(list.dataset.mapping), clusters };
    anchorview.download("relabel.json", "application/json", JSON.stringify(mapping, null, 2) + "\n");
  });
  update();
  show();
})();
