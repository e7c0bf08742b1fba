"""English numerals with their German and French translations: a small language whose whole grammar is known.

The three languages build 0 to 99 999 by different rules: German says units before tens and writes one word, French
counts by twenties from 70, joins some numbers by ``et`` and inflects ``vingt`` and ``cent`` at the end of a number. So
a translation is not word for word, and it can be judged right or wrong. In this range num2words agrees, number by
number and in all three languages, with the grammar written out in the tests.

The text is that of num2words unchanged: lower case, accents and sharp s as single characters, one space between words,
hyphens inside French and English numbers, ``and`` and the comma after thousands in English ("one thousand, two hundred
and one").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory._extra import extra
from theory._validate import as_count
from theory.experiments.data.corpus import Corpus, Pairs

LARGEST = 99_999
LANGUAGES = ("de", "fr")


def numeral(number: int, language: str) -> str:
    """Return the name of a number.

    Parameters
    ----------
    number : int
        Between 0 and 99 999.
    language : {"en", "de", "fr"}
        English, German or French.

    Raises
    ------
    ValueError, TypeError
        If there is no such number or language.
    ModuleNotFoundError
        If num2words is not installed.

    Examples
    --------
    >>> numeral(2080, "fr"), numeral(2081, "de")
    ('deux mille quatre-vingts', 'zweitausendeinundachtzig')
    """
    if language not in ("en", *LANGUAGES):
        raise ValueError(f"language: expected one of en, de, fr, got {language!r}")
    if as_count(number, "number", least=0) > LARGEST:
        raise ValueError(f"number: expected at most {LARGEST}, got {number}")
    return str(extra("num2words").num2words(int(number), lang=language))


def language_mark(language: str) -> str:
    """Return the token that asks for a language."""
    return f"<{language}>"


def draw_corpus(rng: np.random.Generator, *, train: int, validation: int, test: int) -> Corpus:
    """Draw numbers without repetition and translate each into both languages.

    Parameters
    ----------
    rng : Generator
        Draws the numbers, uniformly from 0 to 99 999; no number is in two of the parts, in any language.
    train, validation, test : int
        Numbers in each part; a part has twice as many pairs.

    Returns
    -------
    Corpus
        Pairs in the order of drawing, German before French.
    """
    sizes = [as_count(size, name) for size, name in ((train, "train"), (validation, "validation"), (test, "test"))]
    if sum(sizes) > LARGEST + 1:
        raise ValueError(f"train, validation, test: expected at most {LARGEST + 1} numbers in all, got {sum(sizes)}")
    drawn = [int(number) for number in rng.choice(LARGEST + 1, size=sum(sizes), replace=False)]
    parts = np.cumsum(sizes)
    return Corpus(_pairs(drawn[: parts[0]]), _pairs(drawn[parts[0] : parts[1]]), _pairs(drawn[parts[1] :]))


def _pairs(numbers: Sequence[int]) -> Pairs:
    english = [numeral(number, "en") for number in numbers]
    return Pairs(
        tuple(language_mark(language) for _ in numbers for language in LANGUAGES),
        tuple(text for text in english for _ in LANGUAGES),
        tuple(numeral(number, language) for number in numbers for language in LANGUAGES),
    )
