"""Packages that only the experiments need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def extra(name: str) -> ModuleType:
    """Import a package of the extra ``learn``, or one of its modules.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise  # something that the package itself lacks
        raise ModuleNotFoundError(
            f'{name}: expected it to be installed, got none; pip install "attention-theory[learn]"', name=error.name
        ) from error
