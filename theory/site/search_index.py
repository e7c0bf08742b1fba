"""What a reader can search: an entry for each claim, as a script, since browsers read no other file from a folder.

Formulas are found by the words for what stands in them: Wasserstein distances by their name, not by a letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from theory.report.archive import Record
from theory.report.proofs import NONE
from theory.site.material import Material

_NAMES = {  # what stands in a formula, and what a reader calls it
    r"\bW_|Wasserstein": "wasserstein distance optimal transport",
    r"\\mathrm\{KL\}|D_\{?KL": "kullback leibler divergence relative entropy",
    r"\\mathrm\{softmax\}|e\^\{s": "softmax exponential weights",
    r"\\(mathrm|operatorname)\{(Lip|lip)": "lipschitz constant",
    r"\\(mathrm|operatorname)\{Cov|\\(mathrm|operatorname)\{Var": "covariance variance",
    r"\\(mathrm|operatorname)\{TV\}|\\mathrm\{tv\}": "total variation",
    r"\\Psi_": "boltzmann gibbs transform",
    r"\\Delta": "laplacian",
    r"P_\\varepsilon|P_\{\\varepsilon": "markov operator diffusion limit",
    r"\\nabla": "gradient",
    r"\bH\(|entropy": "entropy",
    r"sparsemax|entmax": "sparse attention",
    r"\\beta\b": "inverse temperature",
    r"\\tau\b": "temperature",
}
_WORD = re.compile(r"[A-Za-z]{3,}")


def documents(material: Material) -> list[dict[str, Any]]:
    """Return what is searched and what facets ask for, a document for each claim."""
    return [_document(material, record) for record in material.records.values()]


def _document(material: Material, record: Record) -> dict[str, Any]:
    claim = record.claim
    return {
        "id": claim.id,
        "words": claim.words,
        "more": _more(record),
        "subject": record.subject,
        "kind": record.best.kind.name.lower(),
        "verdict": record.describe(record.best),
        "proof": material.printed.get(claim.id, NONE).level,
        "labels": list(claim.spec),
        "sources": list(claim.cites),
        "figures": [figure.name for figure in material.figures_of(claim.id)],
    }


def _more(record: Record) -> str:
    """Return further words by which a claim is found: of its formulas, hypotheses, parts and wrong versions."""
    claim = record.claim
    texts = [claim.statement, claim.remark, *claim.assumptions, claim.words]
    named = [names for pattern, names in _NAMES.items() if any(re.search(pattern, text) for text in texts)]
    plain = re.sub(r"\$[^$]*\$", " ", " ".join(texts))
    broken = " ".join(twin.twin.breaks for twin in record.best.twins)
    words = _WORD.findall(" ".join(["attention", *named, plain, broken]).lower())  # which is what all claims are about
    return " ".join(dict.fromkeys(words))


def index_script(material: Material) -> str:
    """Return the documents as a script that sets ``ATLAS``."""
    return _script("ATLAS", {"claims": documents(material)})


def bibtex_script(entries: Mapping[str, str]) -> str:
    """Return entries of BibTeX by their keys, as a script that sets ``BIB``."""
    return _script("BIB", entries)


def _script(name: str, value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return f"globalThis.{name} = " + text.replace("</", "<\\/") + ";\n"
