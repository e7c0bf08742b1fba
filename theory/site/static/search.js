// How claims, and pages and names of the guide, are searched. The page and the test of it share this file.
"use strict";

// what somebody types, and what the claims call it
const SYNONYMS = {
  earthmover: "wasserstein", emd: "wasserstein", kl: "kullback", tv: "variation", transformer: "attention",
  clustering: "clusters", collapse: "consensus", robustness: "lipschitz", sensitivity: "lipschitz", head: "heads",
  rope: "rotary", layernorm: ["layer", "norm"], quantization: "quantised", quantized: "quantised",
};

globalThis.makeSearch = function makeSearch(MiniSearch, claims) {
  const search = new MiniSearch({
    fields: ["id", "words", "labels", "subject", "more"],
    storeFields: ["id"],
    extractField: (claim, field) =>  // of a name in the guide its last part is what people know
      field === "labels" ? (claim.labels ?? claim.id.split("#").slice(1).map(name => name.split(".").pop())).join(" ") : claim[field],
    processTerm: term => { const t = term.toLowerCase(); return SYNONYMS[t] || t; },
    searchOptions: {
      boost: { id: 8, words: 2, labels: 3, subject: 1.5 },
      fuzzy: term => term.length > 3 ? 0.2 : false,
      prefix: term => term.length > 1,
    },
  });
  search.addAll(claims);
  const ids = (query, combineWith) => search.search(query, { combineWith }).map(found => found.id);
  const found = query => [...new Set([...ids(query, "AND"), ...ids(query, "OR")])];  // what has all the words comes first
  found.names = query =>  // what has all the words, and is called so before what only speaks of it
    search.search(query, { combineWith: "AND", boost: { id: 1, words: 2, labels: 12 } }).map(found => found.id);
  return found;
};
