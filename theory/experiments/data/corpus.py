"""Pairs of sentences, in three parts that share no example."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sentences with their translations.

    Parameters
    ----------
    marks : tuple of str
        What says the language to translate into, one per pair; empty where there is only one.
    sources, targets : tuple of str
        The sentences, in the same order.

    Raises
    ------
    ValueError
        If they are not equally many, or none.
    """

    marks: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError("sources: expected at least one sentence, got none")
        for name in ("marks", "targets"):
            if len(getattr(self, name)) != len(self.sources):
                raise ValueError(f"{name}: expected {len(self.sources)} of them, got {len(getattr(self, name))}")

    def __len__(self) -> int:
        return len(self.sources)

    def first(self, size: int) -> Pairs:
        """Return the first ``size`` pairs, or all if there are fewer."""
        return Pairs(self.marks[:size], self.sources[:size], self.targets[:size])


@dataclass(frozen=True, slots=True)
class Corpus:
    """Pairs to learn from, to choose the learning rate on, and to report."""

    train: Pairs
    validation: Pairs
    test: Pairs
