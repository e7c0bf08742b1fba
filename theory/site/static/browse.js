// Search and facets over the lists that the page has anyway. What is chosen stands in the address, so that it can be sent.
"use strict";
(() => {
  const form = document.getElementById("facets");
  const all = document.getElementById("all");
  const found = document.getElementById("found");
  const { claims } = globalThis.ATLAS;
  const search = makeSearch(MiniSearch, claims);
  const byId = new Map(claims.map(claim => [claim.id, claim]));
  const rows = new Map([...all.querySelectorAll("li")].map(row => [row.querySelector("code").textContent, row]));
  const facets = { subject: "subject", kind: "kind", proof: "proof", verdict: "verdict", source: "sources", figure: "figures", label: "labels" };
  const values = (claim, name) => [claim[facets[name]]].flat();

  for (const name of Object.keys(facets)) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.name = name;
    label.append(name, select);
    form.querySelector(".selects").append(label);
  }

  const chosen = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  const matches = (claim, want, but) =>
    Object.keys(facets).every(name => name === but || !want[name] || values(claim, name).includes(want[name]));

  const guide = document.getElementById("in-guide");
  const entries = new Map((globalThis.GUIDE || []).map(entry => [entry.id, entry]));
  const searchGuide = guide && makeSearch(MiniSearch, [...entries.values()]);
  function showGuide(want) {  // a few lines below the claims, of what has all the words; how many, the line above says
    const hits = want.q && Object.keys(want).length === 1 ? searchGuide.names(want.q).slice(0, 4).map(id => entries.get(id)) : [];
    guide.hidden = hits.length === 0;
    guide.querySelector("ul").replaceChildren(...hits.map(({ id, words, subject }) => {
      const name = id.split("#")[1];
      const [row, link, said] = ["li", "a", "span"].map(tag => document.createElement(tag));
      link.href = `docs/${id}`;
      link.textContent = name || words;
      said.textContent = name ? `${subject}: ${words}` : subject;
      row.append(link, said);
      return row;
    }));
    return hits.length;
  }

  let shown = claims;
  function show() {
    const want = chosen();
    const ids = want.q ? search(want.q) : claims.map(claim => claim.id);
    const hits = ids.map(id => byId.get(id));
    shown = hits.filter(claim => matches(claim, want));
    for (const name of Object.keys(facets)) {
      const counts = new Map();
      for (const claim of hits.filter(c => matches(c, want, name)))
        for (const value of values(claim, name)) counts.set(value, (counts.get(value) || 0) + 1);
      const select = form.elements[name];
      const listed = [...counts.keys()];
      if (!["subject", "kind"].includes(name)) listed.sort();
      if (want[name] && !counts.has(want[name])) listed.unshift(want[name]);
      select.replaceChildren(new Option("any", ""), ...listed.map(v => new Option(`${v} (${counts.get(v) || 0})`, v)));
      select.value = want[name] || "";
    }
    const below = guide ? showGuide(want) : 0;
    const asked = Object.keys(want).length > 0;
    all.hidden = asked;
    found.hidden = !asked;
    found.replaceChildren(...(asked ? shown.map(claim => rows.get(claim.id).cloneNode(true)) : []));
    form.querySelector("output").textContent = `${shown.length} of ${claims.length} claims` + (below ? `, and ${below} in the guide below` : "");
    const address = new URLSearchParams(want).toString();
    try { history.replaceState(null, "", address ? `?${address}` : location.pathname + location.hash); } catch { /* a folder that may not */ }
  }

  function save(format) {
    const keys = [...new Set(shown.flatMap(claim => claim.sources))];
    const quoted = value => `"${String(value).replaceAll('"', '""')}"`;
    const fields = ["id", "words", "subject", "kind", "verdict", "proof", "labels", "sources", "figures"];
    const text = {
      json: () => JSON.stringify(shown.map(c => Object.fromEntries(fields.map(f => [f, c[f]]))), null, 1),
      csv: () => [fields.join(","), ...shown.map(c => fields.map(f => quoted([c[f]].flat().join(" "))).join(","))].join("\n"),
      bib: () => keys.map(key => globalThis.BIB[key]).filter(Boolean).join("\n\n"),
    }[format]();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text + "\n"], { type: "text/plain" }));
    link.download = `attention-theory.${format}`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const asked = new URLSearchParams(location.search);
  show();
  for (const [name, value] of asked) if (form.elements[name]) {
    if (name !== "q" && ![...form.elements[name].options].some(o => o.value === value)) form.elements[name].add(new Option(value, value));
    form.elements[name].value = value;
  }
  show();
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  for (const button of form.querySelectorAll("[data-save]")) button.addEventListener("click", () => save(button.dataset.save));
})();
