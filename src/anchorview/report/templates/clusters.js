"use strict";
// Cards of the clusters: levels, search, order, names, merging, and the mapping to download.
(() => {
  const main = document.getElementById("cards");
  if (!main) return;
  const PAGE = 24;
  const MAX_OPEN_ON_PHONES = 4;
  const lists = [...document.querySelectorAll("ul.cards")];
  const find = (name) => document.getElementById(`cards-${name}`);
  const nameBox = (card) => card.querySelector("input.name");
  const cards = [...main.children]; // Of the chosen level, in order
  const original = cards.map((card) => card.dataset.name);
  const titles = cards.map((card) => card.dataset.title);
  let [list, limit] = [main, PAGE];

  // On phones, cards are folded to a line each.
  for (const own of matchMedia("(max-width: 40rem)").matches ? lists : [])
    if (own.children.length > MAX_OPEN_ON_PHONES)
      for (const card of own.children) card.querySelector(".body").open = false;

  // Search and order

  const by = (key, sign = 1) => (a, b) => sign * (a.dataset[key] - b.dataset[key]);
  const ORDERS = { number: by("cluster"), size: by("size", -1), confidence: by("confidence") };

  function show() {
    const wanted = find("search").value.trim().toLowerCase();
    const said = (card) => [card.textContent, card.dataset.title, nameBox(card)?.value];
    const text = (card) => said(card).join(" ").toLowerCase();
    const ordered = [...list.children].sort(ORDERS[find("order").value]);
    const matching = ordered.filter((card) => text(card).includes(wanted));
    const shown = matching.slice(0, limit);
    for (const card of ordered) card.hidden = !shown.includes(card);
    list.append(...ordered);
    const all = anchorview.count(ordered.length, "cluster");
    const rest = matching.length - shown.length;
    const which = wanted ? `${matching.length} of ${all} match` : all;
    find("count").textContent = rest ? `${which}; ${shown.length} are shown` : which;
    find("more").hidden = !rest;
    find("more").textContent = `Show ${Math.min(rest, 4 * PAGE)} more clusters`;
    return shown;
  }

  find("search").addEventListener("input", () => {
    limit = PAGE;
    show();
  });
  find("order").addEventListener("change", show);
  find("more").addEventListener("click", () => {
    const first = limit;
    limit += 4 * PAGE;
    show()[first].focus();
  });

  function open(cluster) {
    const card = list.querySelector(`[data-cluster="${cluster}"]`);
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
  document.addEventListener("anchorview:level", ({ detail }) => {
    list = lists.find((own) => own.dataset.level === detail);
    for (const own of lists) own.hidden = own !== list;
    for (const edit of document.querySelectorAll(".edit")) edit.hidden = list !== main;
    limit = PAGE;
    show();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-open], [data-select]");
    if (!link) return;
    event.preventDefault();
    if (link.dataset.open) return open(Number(link.dataset.open));
    const detail = new Set([Number(link.dataset.select)]);
    document.dispatchEvent(new CustomEvent("anchorview:select", { detail }));
  });

  // Names; clusters with equal names are merged.

  function nameOf(cluster) {
    const typed = nameBox(cards[cluster])?.value.trim() || original[cluster];
    // A number stands for the cluster that has it.
    return /^\d+$/.test(typed) ? (original[Number(typed)] ?? typed) : typed;
  }

  function update() {
    const names = original.map((_, cluster) => nameOf(cluster));
    const shown = names.map((name, c) => (name === original[c] ? titles[c] : name));
    for (const [cluster, card] of cards.entries()) {
      const merged = titles.filter((_, other) => other !== cluster && names[other] === names[cluster]);
      const note = card.querySelector(".merged");
      note.hidden = !merged.length;
      note.textContent = `Merged with ${merged.join(", ")}`;
      card.querySelector(".title").textContent = shown[cluster];
      const nearest = card.querySelector("dl [data-open]");
      if (!nearest) continue;
      nearest.textContent = shown[nearest.dataset.open];
      nearest.closest("div").hidden = names[nearest.dataset.open] === names[cluster];
    }
    const n_renamed = names.filter((name, cluster) => name !== original[cluster]).length;
    const n_names = new Set(names).size;
    find("undo").disabled = !n_renamed;
    // A model must keep two clusters.
    find("download").disabled = !n_renamed || n_names < 2;
    const said = `${anchorview.count(n_renamed, "cluster")} renamed; ${n_names} of ${cards.length} clusters remain.`;
    find("status").textContent = n_renamed ? said : "";
    return names;
  }

  const rename = () =>
    document.dispatchEvent(new CustomEvent("anchorview:names", { detail: update() }));

  show();
  if (!find("undo")) return;
  update();
  main.addEventListener("change", rename);
  find("undo").addEventListener("click", () => {
    for (const card of cards) nameBox(card).value = "";
    rename();
  });
  find("download").addEventListener("click", () => {
    const named = update().map((name, cluster) => [cluster, name]);
    const clusters = Object.fromEntries(named.filter(([cluster, name]) => name !== original[cluster]));
    const mapping = { ...JSON.parse(main.dataset.mapping), clusters };
    anchorview.download("relabel.json", "application/json", JSON.stringify(mapping, null, 2) + "\n");
  });
})();
