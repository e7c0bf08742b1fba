"""How near translations are to their references: corpus BLEU and exact match.

References
----------
K. Papineni, S. Roukos, T. Ward, W.-J. Zhu, *BLEU*, ACL 2002; M. Post, *A call for clarity in reporting BLEU scores*,
Conference on Machine Translation 2018 (sacrebleu).
"""

from __future__ import annotations

from collections.abc import Sequence

from theory._extra import extra

TOKENISERS = ("13a", "char")


def bleu(translations: Sequence[str], references: Sequence[str], *, tokeniser: str = "13a") -> float:
    """Return the BLEU of a corpus, by sacrebleu, with one reference each.

    Parameters
    ----------
    translations, references : sequence of str
        Sentences in the same order.
    tokeniser : {"13a", "char"}
        What is counted: words, as at the Conference on Machine Translation; or characters, for languages that write a
        numeral as one word, of which words make no sequences.

    Returns
    -------
    float
        The geometric mean of the precisions of one to four neighbours, counted over the corpus, times the brevity
        penalty; between 0 and 100. The k-th precision that is zero counts as one half to the power k of a match
        (sacrebleu's ``exp``).

    Raises
    ------
    ValueError
        If there are no sentences, or not equally many.
    ModuleNotFoundError
        If sacrebleu is not installed.
    """
    _check(translations, references)
    if tokeniser not in TOKENISERS:
        raise ValueError(f"tokeniser: expected one of {', '.join(TOKENISERS)}, got {tokeniser!r}")
    metric = extra("sacrebleu.metrics").BLEU(tokenize=tokeniser)
    score = float(metric.corpus_score(list(translations), [list(references)]).score)
    return min(score, 100.0)  # the exponential of a mean of logarithms may round above


def exact_match(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of translations equal to their reference, between 0 and 1."""
    _check(translations, references)
    return sum(a == b for a, b in zip(translations, references, strict=True)) / len(references)


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if not references:
        raise ValueError("references: expected at least one sentence, got none")
    if len(translations) != len(references):
        raise ValueError(f"translations: expected {len(references)} of them, got {len(translations)}")
