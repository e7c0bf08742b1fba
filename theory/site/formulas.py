r"""Formulas as MathML, made when the site is built, so that a page needs no JavaScript to show them.

Text of a claim is plain but for formulas between dollars; :func:`typeset` escapes the one and converts the others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import cache

from markupsafe import Markup, escape
from math_core import LatexError, LatexToMathML

_CONVERTER = LatexToMathML(fancy_error=False)
_STAR = re.compile(r"(\\(?!operatorname|tag|hspace|vspace)[A-Za-z]+)\*")  # a product
_PIECES = re.compile(r"(\$[^$]*\$)")
_CODE = re.compile(r"\\texttt\{(\w+)\}")
_INDEX = re.compile(r"(?<=\b[A-Z])_(\w)\b")
_BREAK = re.compile(r"(?<=[;:])\s+|(?<=\.)\s+(?=[A-Z$])")


@cache
def formula(source: str, *, display: bool = False) -> Markup:
    r"""Return a formula as MathML.

    Raises
    ------
    ValueError
        If it cannot be converted, or a command is left over.

    Examples
    --------
    >>> formula(r"x \le 1")
    Markup('<math><mi>x</mi><mo>≤</mo><mn>1</mn></math>')
    """
    try:
        made = _CONVERTER.convert_with_local_state(_STAR.sub(r"\1 *", source), displaystyle=display)
    except LatexError as error:
        raise ValueError(f"formula: expected what can be shown, got {source!r}: {error}") from error
    if "\\" in made:
        raise ValueError(f"formula: expected no command to be left over, got {made!r} for {source!r}")
    made = made.replace("&ApplyFunction;", "\u2061")
    return Markup(made)  # noqa: S704  made of a formula, by a converter that escapes


def typeset(text: str) -> Markup:
    """Return text with its formulas as MathML, and all else escaped; an index such as that of W_1 stands low.

    Raises
    ------
    ValueError
        If a formula cannot be converted.

    Examples
    --------
    >>> typeset("$x$ < 1")
    Markup('<math><mi>x</mi></math> &lt; 1')
    >>> typeset("in W_1")
    Markup('in W<sub>1</sub>')
    """
    pieces = _PIECES.split(text)
    shown = [formula(piece[1:-1]) if k % 2 else _lowered(piece) for k, piece in enumerate(pieces)]
    return Markup("").join(shown)


def _lowered(text: str) -> Markup:
    made = _INDEX.sub(r"<sub>\1</sub>", _CODE.sub(r"<code>\1</code>", str(escape(text))))
    if "\\" in made:
        raise ValueError(f"text: expected commands in formulas only, got {text!r}")
    return Markup(made)  # noqa: S704  escaped


def as_code(text: str) -> Markup:
    """Return text that is shown as it is, between tags; quotes need no escape there, and code is full of them."""
    return Markup(html.escape(text, quote=False))  # noqa: S704  escaped


def lines_of(text: str, longest: int = 160, told: Mapping[re.Pattern[str], str] | None = None) -> list[Markup]:
    r"""Return a statement in lines: broken after semicolons, colons and full stops outside formulas if it is long.

    Examples
    --------
    >>> lines_of("$a; b$; $c$", longest=3)
    [Markup('<math><mi>a</mi><mo>;</mo><mi>b</mi></math>;'), Markup('<math><mi>c</mi></math>')]
    """
    return [_with_titles(line, told or {}) for line in _lines(text, longest)]


def _with_titles(line: str, told: Mapping[re.Pattern[str], str]) -> Markup:
    """Show a line whose formulas say under the pointer what the symbols in them mean."""
    shown = Markup("")
    for piece in _PIECES.split(line):
        titles = [title for pattern, title in told.items() if piece.startswith("$") and pattern.search(piece)]
        made = typeset(piece)
        shown += Markup('<span class="sym" title="{}">{}</span>').format("\n".join(titles), made) if titles else made
    return shown


def _lines(text: str, longest: int) -> Iterator[str]:
    if len(text) <= longest:
        yield text
        return
    hidden = {f"\x00{k}\x00": piece for k, piece in enumerate(_PIECES.findall(text))}
    for mark, piece in hidden.items():
        text = text.replace(piece, mark, 1)
    for line in _BREAK.split(text):
        yield re.sub(r"\x00\d+\x00", lambda mark: hidden[mark[0]], line)
