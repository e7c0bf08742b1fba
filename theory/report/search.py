"""How claims are found by words, in the terminal as on the site: the fields, what each weighs, typing errors, synonyms.

A word finds the words that are it, begin with it or are a few letters away, in every field by BM25+ (Lv, Zhai 2011);
a claim is found if it has all the words that are asked for. The site hands the same rules to MiniSearch, by which
:func:`ranked` orders as well. Formulas are found by the words for what stands in them: Wasserstein distances by their
name, not by a letter.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theory.report.archive import Record

RULES: dict[str, Any] = {
    "fields": ["id", "words", "labels", "subject", "more"],
    "boost": {"id": 8, "words": 2, "labels": 3, "subject": 1.5},
    "fuzzy": 0.2,  # edits for each letter, of words of more than three letters
    "prefix": 2,  # letters of the shortest word that stands for all that begin with it
    "synonyms": {  # what somebody types, and what the claims call it
        "clustering": ["clusters"],
        "collapse": ["consensus"],
        "earthmover": ["wasserstein"],
        "emd": ["wasserstein"],
        "head": ["heads"],
        "kl": ["kullback"],
        "layernorm": ["layer", "norm"],
        "quantization": ["quantised"],
        "quantized": ["quantised"],
        "robustness": ["lipschitz"],
        "rope": ["rotary"],
        "sensitivity": ["lipschitz"],
        "transformer": ["attention"],
        "tv": ["variation"],
    },
}
_FUZZY, _PREFIX = 0.45, 0.375  # of MiniSearch: what a word weighs that is near, or begins alike
_K, _B, _D = 1.2, 0.7, 0.5  # of MiniSearch: saturation, length and least weight in BM25+
_FEW = 3  # letters of a word that has no typing error
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


def document(record: Record) -> dict[str, Any]:
    """Return the fields of a claim in which words are looked for, by name; labels are several."""
    claim = record.claim
    return {
        "id": claim.id,
        "words": claim.words,
        "labels": list(claim.spec),
        "subject": record.subject,
        "more": _more(record),
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


def ranked(records: Sequence[Record], query: str) -> list[str]:
    """Return the claims that have every word of a query, or one that is near, the best first.

    Parameters
    ----------
    records : sequence of Record
        Among which, and what tells common words from rare ones.
    query : str
        Words; small and capital letters are the same.

    Returns
    -------
    list of str
        Ids of claims.
    """
    index = _Index([document(record) for record in records])
    totals: dict[int, float] | None = None
    for term in _terms(query):
        found = index.scores(term)
        totals = found if totals is None else {k: totals[k] + found[k] for k in totals if k in found}
    scores = totals or {}
    return [records[k].claim.id for k in sorted(scores, key=lambda k: (-scores[k], k))]


class _Blanks(dict[int, str]):
    """Turns punctuation into blanks, and leaves other signs."""

    def __missing__(self, sign: int) -> str:
        self[sign] = " " if unicodedata.category(chr(sign))[0] in "ZP" or chr(sign) in "\n\r" else chr(sign)
        return self[sign]


_BLANKS = _Blanks()


def _split(text: str) -> list[str]:
    return re.split(" +", text.translate(_BLANKS))


def _terms(text: str) -> list[str]:
    """Return the words of a text as the index has them."""
    words = (word.lower() for word in _split(text) if word)
    return [term for word in words for term in RULES["synonyms"].get(word, [word])]


class _Index:
    """Where every word stands."""

    def __init__(self, documents: Sequence[Mapping[str, Any]]) -> None:
        self.number = len(documents)
        self.places: dict[str, dict[str, Counter[int]]] = defaultdict(dict)  # by word and field: how often, by document
        self.lengths: dict[str, list[int]] = {}
        for field in RULES["fields"]:
            texts = [_joined(each[field]) for each in documents]
            self.lengths[field] = [len(set(_split(text))) for text in texts]
            for k, text in enumerate(texts):
                for term in _terms(text):
                    self.places[term].setdefault(field, Counter())[k] += 1

    def scores(self, term: str) -> dict[int, float]:
        """Return how well each document that has a word, or one near it, answers it."""
        found: defaultdict[int, float] = defaultdict(float)
        for other, weight in self._alike(term):
            for field, counts in self.places[other].items():
                mean = sum(self.lengths[field]) / self.number
                rarity = math.log(1.0 + (self.number - len(counts) + 0.5) / (len(counts) + 0.5))
                for k, often in counts.items():
                    long = 1.0 - _B + _B * self.lengths[field][k] / mean
                    bm25 = rarity * (_D + often * (_K + 1.0) / (often + _K * long))
                    found[k] += weight * RULES["boost"].get(field, 1) * bm25
        return found

    def _alike(self, term: str) -> Iterable[tuple[str, float]]:
        """Yield the words that a word stands for, and what each weighs."""
        size = len(term)
        most = int(size * RULES["fuzzy"] + 0.5) if size > _FEW else 0
        for other in self.places:
            longer = len(other) - size
            if other == term:
                yield other, 1.0
            elif size >= RULES["prefix"] and other.startswith(term):
                yield other, _PREFIX * len(other) / (len(other) + 0.3 * longer)
            elif abs(longer) <= most and (edits := distance(term, other, most)) <= most:
                yield other, _FUZZY * len(other) / (len(other) + edits)


def _joined(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


def distance(a: str, b: str, most: int) -> int:
    """Return how many letters are put in, left out or changed between two words, or more than ``most`` if above it.

    Examples
    --------
    >>> distance("lipshitz", "lipschitz", 2), distance("rope", "hope", 1), distance("sharp", "smooth", 1)
    (1, 1, 2)
    """
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
        if min(row) > most:
            return most + 1
    return row[-1]
