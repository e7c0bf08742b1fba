// A button beside every piece of text that is meant to be copied; without it the text can still be selected.
// The BibTeX of a claim comes from one file for all claims, once somebody opens it.
"use strict";
(() => {
  function buttonFor(pre) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const range = document.createRange();
      range.selectNodeContents(pre);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try { await navigator.clipboard.writeText(pre.textContent); } catch { document.execCommand("copy"); }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    pre.before(button);
  }

  function fill(details) {
    const pre = document.createElement("pre");
    pre.textContent = details.dataset.keys.split(" ").map(key => globalThis.BIB[key]).filter(Boolean).join("\n\n");
    details.querySelector("p").replaceWith(pre);
    buttonFor(pre);
  }

  for (const pre of document.querySelectorAll("details pre")) buttonFor(pre);
  for (const details of document.querySelectorAll("details[data-keys]"))
    details.addEventListener("toggle", () => {
      const script = document.createElement("script");
      script.src = "../bib.js";
      script.addEventListener("load", () => fill(details));
      document.head.append(script);
    }, { once: true });
})();
