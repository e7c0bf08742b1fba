"""What symbols mean: one list, ``notation.csv``, for the page of notation and for every statement that uses them.

A row is a symbol, the same in plain text, a pattern that finds it in the TeX of a statement, the subjects in which it
means this (all, if none is named), and what it means.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SIGNS = {
    "alpha": "\u03b1", "varepsilon": "\u03b5", "mu": "\u03bc", "Delta": "\u0394", "nabla": "\u2207",
    "infty": "\u221e", "sum": "\u03a3", "langle": "\u27e8", "rangle": "\u27e9", "lVert": "\u2016", "rVert": "\u2016",
    "top": "\u22a4", "log": "log", "operatorname": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol and what it means in some subjects, or in all."""

    symbol: str
    plain: str
    pattern: re.Pattern[str]
    subjects: tuple[str, ...]
    meaning: str

    @property
    def told(self) -> str:
        """Symbol and meaning in plain text, as the title of a formula shows them."""
        text = re.sub(r"\$([^$]*)\$", lambda formula: _plain(formula[1]), self.meaning)
        return f"{re.sub('[{}]', '', self.plain)}: {text}"


def _plain(tex: str) -> str:
    r"""Return a short formula as a line of text.

    Raises
    ------
    ValueError
        If it has a command for which the table of signs has none.

    Examples
    --------
    >>> _plain(r"e^{-f/2\varepsilon}")
    'e^(-f/2ε)'
    """
    unknown = set(re.findall(r"\\([A-Za-z]+)", tex)) - {*_SIGNS, "mathbb"}
    if unknown:
        raise ValueError(f"meaning: expected commands that have a sign, got {', '.join(sorted(unknown))} in {tex!r}")
    text = re.sub(r"\\([A-Za-z]+)", lambda command: _SIGNS[command[1]], tex.replace(r"\mathbb ", ""))
    text = re.sub("([\u27e8\u2207]) ", r"\1", text)  # these belong to what follows
    return re.sub(r"[{}]", "", re.sub(r"([_^])\{([^{}]*)\}", r"\1(\2)", text))


@cache
def symbols() -> tuple[Symbol, ...]:
    """Return the whole list, in its order."""
    text = (files("theory.site") / "notation.csv").read_text(encoding="utf-8")
    return tuple(
        Symbol(row["symbol"], row["plain"], re.compile(row["pattern"]), tuple(row["subjects"].split()), row["meaning"])
        for row in csv.DictReader(text.splitlines())
    )


def symbols_in(text: str, subject: str) -> list[Symbol]:
    r"""Return the symbols that a text uses and the list knows, in the order of the list.

    Examples
    --------
    >>> [symbol.plain for symbol in symbols_in(r"$W_1(T\mu, T\nu)$", "lipschitz")]
    ['W_p', 'T']
    >>> [symbol.plain for symbol in symbols_in(r"$T\mu$", "heat")]
    []
    """
    known = [each for each in symbols() if not each.subjects or subject in each.subjects]
    return [each for each in known if each.pattern.search(text)]
