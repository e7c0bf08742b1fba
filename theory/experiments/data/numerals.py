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

import re
from functools import cache

from theory._extra import extra
from theory._validate import as_count, as_text

LARGEST = 99_999
LANGUAGES = ("de", "fr")
_STEMS = re.compile(r"hundred|hundert|tausend|und|-?[^\W\d]+?(?=und|hundert|tausend|\b)|,")  # German ones are joined


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


def split_numeral(text: str) -> tuple[str, ...]:
    """Cut the name of a number into its stems; a hyphen stays with the stem behind it, spaces are left out.

    So a language has some forty symbols, and the name of no number has more than eleven. What was written follows from
    them: there is a space between French or English stems without a hyphen, and none between German ones.

    Parameters
    ----------
    text : str
        As :func:`numeral` returns it.

    Examples
    --------
    >>> split_numeral("zweitausendeinundachtzig")
    ('zwei', 'tausend', 'ein', 'und', 'achtzig')
    >>> split_numeral("deux mille quatre-vingt-un")
    ('deux', 'mille', 'quatre', '-vingt', '-un')
    """
    return tuple(_STEMS.findall(as_text(text, "text")))


@cache
def stems(language: str) -> tuple[str, ...]:
    """Return the stems of a language in alphabetical order: all that occur occur up to one thousand one hundred."""
    return tuple(sorted({stem for number in range(1101) for stem in split_numeral(numeral(number, language))}))
