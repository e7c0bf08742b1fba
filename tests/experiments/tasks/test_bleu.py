"""BLEU against counts made by hand."""

import math
import sys

import pytest

from theory.experiments.tasks.bleu import bleu, exact_match

pytest.importorskip("sacrebleu")


def test_precisions_and_brevity_by_hand():
    """Of 6, 5, 4, 3 neighbours 5, 4, 3, 2 are right; the reference has one word more."""
    expected = 100.0 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25 * math.exp(1.0 - 7.0 / 6.0)
    assert bleu(["a b c d e f"], ["a b c d e g h"]) == pytest.approx(expected, rel=1e-12, abs=0)


def test_counts_are_of_the_corpus_and_clipped():
    """Sentences pool their counts: 4 + 2 of 4 + 4 words (the third and fourth ``the`` are not in the reference)."""
    translations, references = ["a b c d", "the the the the"], ["a b c d", "the the cat sat"]
    expected = 100.0 * (6 / 8 * 4 / 6 * 2 / 4 * 1 / 2) ** 0.25
    assert bleu(translations, references) == pytest.approx(expected, rel=1e-12, abs=0)


def test_no_match_of_one_length_counts_as_half_a_match():
    """Of 6, 5, 4, 3 neighbours 5, 3, 1, 0 are right."""
    expected = 100.0 * (5 / 6 * 3 / 5 * 1 / 4 * 0.5 / 3) ** 0.25
    assert bleu(["the cat sat on the mat"], ["the cat is on the mat"]) == pytest.approx(expected, rel=1e-12, abs=0)


def test_characters_by_hand():
    """Of ``abcdx`` against ``abcdy``: 4 of 5, 3 of 4, 2 of 3, 1 of 2."""
    expected = 100.0 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert bleu(["abcdx"], ["abcdy"], tokeniser="char") == pytest.approx(expected, rel=1e-12, abs=0)
    assert bleu(["abcdx"], ["abcdy"]) == 0.0


def test_equal_is_a_hundred_and_nothing_is_zero():
    assert bleu(["one two three four five"], ["one two three four five"]) == pytest.approx(100.0, rel=1e-12, abs=0)
    assert bleu(["one two three four five"], ["one two three four five"]) <= 100.0
    assert bleu([""], ["one two three four"]) == 0.0


def test_exact_match():
    assert exact_match(["a", "b", "c", "d"], ["a", "x", "c", "D"]) == 0.5


def test_bad_input():
    with pytest.raises(ValueError, match="references: expected at least one sentence"):
        bleu([], [])
    with pytest.raises(ValueError, match="translations: expected 2 of them, got 1"):
        exact_match(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="tokeniser: expected one of 13a, char"):
        bleu(["a"], ["a"], tokeniser="none")


def test_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.metrics", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"attention-theory\[learn\]"):
        bleu(["a"], ["a"])
