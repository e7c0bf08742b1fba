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
_CODE = re.compile(r"\\texttt\{((?:\w|\\_)+)\}")
_INDEX = re.compile(r"(?<=\b[A-Za-z])_(\w)\b")
_POWER = re.compile(r"\^(?:\(((?:[^()]|\([^()]*\))*)\)|(-?\w+))")
_LETTERS = {
    "alpha": "\u03b1", "beta": "\u03b2", "delta": "\u03b4", "eps": "\u03b5", "epsilon": "\u03b5", "lambda": "\u03bb",
    "mu": "\u03bc", "phi": "\u03c6", "pi": "\u03c0", "rho": "\u03c1", "sigma": "\u03c3", "tau": "\u03c4",
}  # fmt: skip
_GREEK = re.compile(rf"\b(?:{'|'.join(_LETTERS)})\b")
_SPACELESS = ' lspace="0" rspace="0"'
_FENCE = re.compile(
    rf'<mo stretchy="false"(?:>([][(){{}}\u27e8\u27e9])|{_SPACELESS}>([|\u2016]))</mo>|<mo{_SPACELESS}>(/)</mo>'
)
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
    made = _FENCE.sub(_as_it_is, made.replace("&ApplyFunction;", "\u2061"))
    return Markup(made)  # noqa: S704  made of a formula, by a converter that escapes


def _as_it_is(fence: re.Match[str]) -> str:
    """Write a fence that neither grows nor keeps a distance as a letter: it looks the same in a third of the bytes."""
    return f"<mi>{fence[1] or fence[2] or fence[3]}</mi>"


def typeset(text: str) -> Markup:
    r"""Return text with its formulas as MathML, and all else escaped; an index such as that of W_1 stands low.

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
    >>> typeset(r"as \texttt{certify\_blocks} does")
    Markup('as <code>certify_blocks</code> does')
    """
    pieces = _PIECES.split(text)
    shown = [formula(piece[1:-1]) if k % 2 else _lowered(piece) for k, piece in enumerate(pieces)]
    return Markup("").join(shown)


def _lowered(text: str) -> Markup:
    code = _CODE.sub(lambda name: f"<code>{name[1].replace(chr(92), '')}</code>", str(lowered(text)))
    made = Markup(code)  # noqa: S704  escaped
    if "\\" in made:
        raise ValueError(f"text: expected commands in formulas only, got {text!r}")
    return made


def lowered(text: str) -> Markup:
    """Return text, escaped, in which an index such as that of W_1 stands low."""
    return Markup(_INDEX.sub(r"<sub>\1</sub>", str(escape(text))))  # noqa: S704  escaped


def in_words(text: str) -> Markup:
    r"""Return the words of a claim, in which letters are spelled, with their signs: a rule for each sign, no more.

    Examples
    --------
    >>> in_words("exp(2 alpha) in W_1, up to e^(-e^beta t) <= 1")
    Markup('exp(2\u03b1) in W<sub>1</sub>, up to e<sup>-e<sup>\u03b2</sup> t</sup> \u2264 1')
    """
    pieces = _PIECES.split(text)
    return Markup("").join(formula(piece[1:-1]) if k % 2 else _signed(piece) for k, piece in enumerate(pieces))


def _signed(text: str) -> Markup:
    text = _GREEK.sub(lambda name: _LETTERS[name[0]], text)
    text = re.sub(r"(?<=\d) (?=[\u03b1-\u03c9])", "", text)  # a multiple
    text = re.sub(r"\bW([12])\b", r"W_\1", text)
    for said, sign in {"<=": "\u2264", ">=": "\u2265", " - ": " \u2212 ", "sqrt(": "\u221a("}.items():
        text = text.replace(said, sign)
    return Markup(_raised(str(_lowered(text))))  # noqa: S704  escaped


def _raised(text: str) -> str:
    """Raise powers; a power in a power, too."""
    return _POWER.sub(lambda found: f"<sup>{_raised(found[1] or found[2])}</sup>", text)


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
