"""The numerals against grammars written out here, number by number; and the stems they are cut into."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("language", GRAMMARS)
def test_stems_are_all_there_are_and_say_what_was_written(language):
    drawn = np.random.default_rng(8).integers(0, 100_000, size=500)
    known = set(numerals.stems(language))
    for number in {*range(0, 100_000, 1000), *range(80_000, 80_120), *drawn.tolist()}:
        name = GRAMMARS[language](number)
        cut = numerals.split_numeral(name)
        assert set(cut) <= known
        space = "" if language == "de" else " "
        assert space.join(cut).replace(" -", "-").replace(" ,", ",") == name


def test_stems_that_hold_the_german_and():
    assert numerals.split_numeral("neunundneunzigtausendneunhundertneunundneunzig") == (
        "neun", "und", "neunzig", "tausend", "neun", "hundert", "neun", "und", "neunzig",
    )  # fmt: skip
    assert numerals.split_numeral("one thousand, two hundred and one") == (
        "one", "thousand", ",", "two", "hundred", "and", "one",
    )  # fmt: skip


def test_bad_input():
    with pytest.raises(ValueError, match="number: expected at most 99999, got 100000"):
        numerals.numeral(100_000, "de")
    with pytest.raises(ValueError, match="number: expected an integer of at least 0"):
        numerals.numeral(-1, "de")
    with pytest.raises(TypeError, match="number: expected an integer"):
        numerals.numeral(1.5, "de")
    with pytest.raises(ValueError, match="language: expected one of en, de, fr, got 'nl'"):
        numerals.numeral(1, "nl")
    with pytest.raises(TypeError, match="text: expected"):
        numerals.split_numeral(7)


def test_without_num2words(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "num2words", None)
    with pytest.raises(ModuleNotFoundError, match=r"attention-theory\[learn\]"):
        numerals.numeral(1, "de")
