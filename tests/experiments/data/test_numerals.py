"""The numerals against grammars written out here, number by number; and no number is in two parts."""

import numpy as np
import pytest

from theory.evidence import stream
from theory.experiments.data import numerals

pytest.importorskip("num2words")

ENGLISH = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
ENGLISH_TENS = [".", ".", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
GERMAN = [
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
]  # fmt: skip
GERMAN_TENS = [".", ".", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
FRENCH = [
    "zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze", "treize",
    "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf",
]  # fmt: skip
FRENCH_TENS = [
    ".", ".", "vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt",
]  # fmt: skip


def english(n):
    if n < 20:
        return ENGLISH[n]
    if n < 100:
        return ENGLISH_TENS[n // 10] + (f"-{ENGLISH[n % 10]}" if n % 10 else "")
    size, name = (1000, "thousand") if n >= 1000 else (100, "hundred")
    count, rest = divmod(n, size)
    joint = "," if rest >= 100 else " and"
    return f"{english(count)} {name}" + (f"{joint} {english(rest)}" if rest else "")


def german(n, final=True):
    if n < 20:
        return GERMAN[n] + ("s" if n == 1 and final else "")
    if n < 100:
        return (f"{GERMAN[n % 10]}und" if n % 10 else "") + GERMAN_TENS[n // 10]
    size, name = (1000, "tausend") if n >= 1000 else (100, "hundert")
    count, rest = divmod(n, size)
    return german(count, final=False) + name + (german(rest) if rest else "")


def french(n, final=True):
    if n < 20:
        return FRENCH[n]
    if n < 100:
        tens, units = divmod(n, 10)
        units += 10 * (tens in (7, 9))  # seventy is sixty and ten, ninety is four times twenty and ten
        if units == 0:
            return FRENCH_TENS[tens] + ("s" if tens == 8 and final else "")
        joint = " et " if units in (1, 11) and tens < 8 else "-"
        return FRENCH_TENS[tens] + joint + FRENCH[units]
    size, name = (1000, "mille") if n >= 1000 else (100, "cent")
    count, rest = divmod(n, size)
    head = name if count == 1 else f"{french(count, final=False)} {name}"
    plural = "s" if size == 100 and count > 1 and rest == 0 and final else ""
    return head + plural + (f" {french(rest, final)}" if rest else "")


GRAMMARS = {"en": english, "de": german, "fr": french}


@pytest.mark.parametrize(
    ("number", "de", "fr"),
    [
        (0, "null", "zéro"),
        (1, "eins", "un"),
        (21, "einundzwanzig", "vingt et un"),
        (71, "einundsiebzig", "soixante et onze"),
        (80, "achtzig", "quatre-vingts"),
        (81, "einundachtzig", "quatre-vingt-un"),
        (91, "einundneunzig", "quatre-vingt-onze"),
        (100, "einhundert", "cent"),
        (101, "einhunderteins", "cent un"),
        (200, "zweihundert", "deux cents"),
        (280, "zweihundertachtzig", "deux cent quatre-vingts"),
        (1000, "eintausend", "mille"),
        (1001, "eintausendeins", "mille un"),
        (21_000, "einundzwanzigtausend", "vingt et un mille"),
        (80_000, "achtzigtausend", "quatre-vingt mille"),
        (80_080, "achtzigtausendachtzig", "quatre-vingt mille quatre-vingts"),
        (
            99_999,
            "neunundneunzigtausendneunhundertneunundneunzig",
            "quatre-vingt-dix-neuf mille neuf cent quatre-vingt-dix-neuf",
        ),
    ],
)
def test_names_that_are_known(number, de, fr):
    assert numerals.numeral(number, "de") == de == german(number)
    assert numerals.numeral(number, "fr") == fr == french(number)


@pytest.mark.parametrize("language", GRAMMARS)
def test_every_rule_of_the_grammar(language):
    drawn = np.random.default_rng(7).integers(0, 100_000, size=1500)
    for number in {*range(1300), *range(0, 100_000, 1000), *range(80_000, 80_300), *drawn.tolist()}:
        assert numerals.numeral(number, language) == GRAMMARS[language](number)


def test_no_number_is_in_two_parts_in_any_language():
    corpus = numerals.draw_corpus(stream("tests.numerals", 0), train=2500, validation=250, test=250)
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [5000, 500, 500]
    parts = [set(part.sources) for part in (corpus.train, corpus.validation, corpus.test)]
    assert [len(part) for part in parts] == [2500, 250, 250]  # a repetition would be likely
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    words = [set(part.targets) for part in (corpus.train, corpus.validation, corpus.test)]
    assert not words[0] & (words[1] | words[2])


def test_a_pair_is_the_same_number_in_the_language_of_its_mark():
    names = {english(number): number for number in range(100_000)}
    pairs = numerals.draw_corpus(stream("tests.numerals", 1), train=50, validation=1, test=1).train
    for tag, source, target in zip(pairs.marks, pairs.sources, pairs.targets, strict=True):
        assert target == GRAMMARS[tag.strip("<>")](names[source])
    assert pairs.marks == ("<de>", "<fr>") * 50


def test_the_draw_depends_on_the_generator_alone():
    sizes = {"train": 5, "validation": 2, "test": 2}
    assert numerals.draw_corpus(stream("t", 3), **sizes) == numerals.draw_corpus(stream("t", 3), **sizes)
    assert numerals.draw_corpus(stream("t", 3), **sizes) != numerals.draw_corpus(stream("t", 4), **sizes)


def test_bad_input():
    with pytest.raises(ValueError, match="number: expected at most 99999, got 100000"):
        numerals.numeral(100_000, "de")
    with pytest.raises(ValueError, match="number: expected an integer of at least 0"):
        numerals.numeral(-1, "de")
    with pytest.raises(TypeError, match="number: expected an integer"):
        numerals.numeral(1.5, "de")
    with pytest.raises(ValueError, match="language: expected one of en, de, fr, got 'nl'"):
        numerals.numeral(1, "nl")
    with pytest.raises(ValueError, match="expected at most 100000 numbers in all"):
        numerals.draw_corpus(stream("t", 0), train=99_999, validation=1, test=1)
    with pytest.raises(ValueError, match="test: expected an integer of at least 1"):
        numerals.draw_corpus(stream("t", 0), train=5, validation=1, test=0)


def test_without_num2words(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "num2words", None)
    with pytest.raises(ModuleNotFoundError, match=r"attention-theory\[learn\]"):
        numerals.numeral(1, "de")
