// How claims, and pages and names of the guide, are searched, by the rules of index.js. The page and its test share this.
"use strict";

globalThis.makeSearch = function makeSearch(MiniSearch, claims) {
  const { fields, boost, fuzzy, prefix, synonyms } = ATLAS.rules;
  const search = new MiniSearch({
    fields,
    storeFields: ["id"],
    extractField: (claim, field) =>  // of a name in the guide its last part is what people know
      field === "labels" ? (claim.labels ?? claim.id.split("#").slice(1).map(name => name.split(".").pop())).join(" ") : claim[field],
    processTerm: term => { const t = term.toLowerCase(); return synonyms[t] ?? t; },
    searchOptions: { boost, fuzzy: term => term.length > 3 ? fuzzy : false, prefix: term => term.length >= prefix },
  });
  search.addAll(claims);
  const ids = (query, combineWith) => search.search(query, { combineWith }).map(found => found.id);
  const found = query => [...new Set([...ids(query, "AND"), ...ids(query, "OR")])];  // what has all the words comes first
  found.names = query =>  // what has all the words, and is called so before what only speaks of it
    search.search(query, { combineWith: "AND", boost: { id: 1, words: 2, labels: 12 } }).map(found => found.id);
  return found;
};
