r"""Numbers that are tied to their record: certified digits, the floats behind them and where they stand.

Every number of a claim is shown as ``<data value="lo,hi" data-src="#/scales/paper/departure">``, with digits that
:mod:`theory.report.digits` vouches for; what stands behind ``#`` is a JSON pointer (RFC 6901) into the record of the
page, which its ``<main data-record="ID.json">`` names. One that begins with a stroke goes on from ``data-at`` of what
is around it: of a section, and from there of the row of a table.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from theory.evidence.interval import Interval
from theory.report.digits import at_least, at_most, common

_POWER = re.compile(r"e([+-])0*(\d+)")


def pointer(*keys: str | int) -> str:
    """Return where a value stands in its record, in full.

    Examples
    --------
    >>> pointer("scales", "quick", "parts", "a/b", "gap")
    '#/scales/quick/parts/a~1b/gap'
    """
    return "#" + onward(*keys)


def onward(*keys: str | int) -> str:
    """Return where a value stands, from where what is around it does."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def upper(value: Interval, source: str, *, figures: int = 2) -> Markup:
    """Show the upper end of an interval, rounded up."""
    return _tag(at_most(value.hi, figures=figures), _ends(value), source)


def lower(value: Interval, source: str) -> Markup:
    """Show the lower end of an interval, rounded down."""
    return _tag(at_least(value.lo), _ends(value), source)


def shared(value: Interval, source: str) -> Markup:
    """Show the digits on which both ends of an interval agree, or both ends."""
    return _tag(common(value), _ends(value), source)


def least(value: float, source: str) -> Markup:
    """Show a lower bound, rounded down."""
    return _tag(at_least(value), repr(value), source)


def most(value: float, source: str, *, figures: int = 2) -> Markup:
    """Show an upper bound, rounded up."""
    return _tag(at_most(value, figures=figures), repr(value), source)


def count(value: int, source: str) -> Markup:
    """Show a count.

    Examples
    --------
    >>> count(3, "#/scales/quick/cases")
    Markup('<data value="3" data-src="#/scales/quick/cases">3</data>')
    """
    if type(value) is not int:
        raise TypeError(f"value: expected a count, got {type(value).__name__}")
    return _tag(str(value), str(value), source)


def verbatim(text: str, source: str, shown: Markup | None = None) -> Markup:
    """Show text as it stands in the record; digits in it are the author's."""
    return Markup('<span data-src="{}">{}</span>').format(source, escape(text) if shown is None else shown)


def _ends(value: Interval) -> str:
    return f"{value.lo!r},{value.hi!r}"


def _tag(shown: str, value: str, source: str) -> Markup:
    return Markup('<data value="{}" data-src="{}">{}</data>').format(value, source, _as_power(shown))


def _as_power(shown: str) -> Markup:
    """Write powers of ten as a reader writes them, and a minus as a minus."""
    exponents = _POWER.split(shown.replace("...", "\u2026").replace("-", "\u2212").replace("e\u2212", "e-"))
    text = Markup("")
    for k in range(0, len(exponents), 3):
        text += escape(exponents[k])
        if k + 2 < len(exponents):
            sign = "\u2212" if exponents[k + 1] == "-" else ""
            text += Markup("\u00d710<sup>{}{}</sup>").format(sign, exponents[k + 2])
    return text
