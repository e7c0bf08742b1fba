"""What the options of several commands have in common; it loads nothing, since a help text needs none of it."""

from __future__ import annotations

from argparse import ArgumentTypeError


def read_root(text: str) -> int:
    """Read the entropy of a run from an option of a command.

    Raises
    ------
    ArgumentTypeError
        If it is no whole number, in decimal digits.
    """
    if not text.isdecimal():
        raise ArgumentTypeError(f"expected a non-negative integer, got {text!r}")
    return int(text)
