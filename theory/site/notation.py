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
        """Symbol and meaning without formulas, as the title of a formula shows them."""
        text = re.sub(r"\$([^$]*)\$", lambda formula: "\u2026" if "\\" in formula[1] else formula[1], self.meaning)
        return re.sub(r"[{}]", "", f"{self.plain}: {text}")


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
