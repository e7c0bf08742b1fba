"""What the runs of the task ``numerals`` are given: English numerals, to be written in German and in French.

A sentence is a row of symbols: the mark of a language and the stems of an English numeral, filled up to a fixed length,
then, to be told one symbol after the other, the stems of the numeral in that language and the end. The symbols are
those of the grammar, the same for all runs, so that nothing is learned from a test.

Every seed has numbers of its own, each in both languages: 200 for training and 150 for testing; 150 more, the same for
every seed, are for validation and in no training and no test. The noisy test leaves one symbol out of every English
numeral, never the mark. Some of what is left is still certain ("two hundred five"), some is another number; so no
score there can be expected to reach one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_choice, as_count
from theory.evidence.streams import stream
from theory.experiments.arms.arm import LABELS, STARTS, Sizes
from theory.experiments.arms.lessons import Lessons
from theory.experiments.data.numerals import LANGUAGES, LARGEST, numeral, split_numeral, stems

Symbols = NDArray[np.int64]
Pairs = dict[str, tuple[Symbols, Symbols]]  # sources (sentences, SOURCE) and targets (sentences, TARGET) by part
TASK = "numerals"
NUMBERS = {"held": 150, "train": 200, "test": 150}  # each in both languages
SOURCE, TARGET = 10, 12  # a mark and at most 9 stems; at most 11 stems and the end
TOGETHER = 20  # sentences of a step
DIM = 32  # of a token, and the width of features
END = 0  # of a target; what a row is filled up with, too


@cache
def symbols() -> dict[str, int]:
    """Return the numbers of all symbols: the end, what targets are made of, and then what only sources have."""
    said = sorted({stem for language in LANGUAGES for stem in stems(language)})
    heard = [f"<{word}>" for word in ("start", *LANGUAGES)] + [stem for stem in stems("en") if stem not in said]
    return {symbol: number for number, symbol in enumerate(["<end>", *said, *heard])}


def task_sizes() -> Sizes:
    """Return the sizes of the task: a token is one of the symbols at one of the places, a class a symbol of targets."""
    return Sizes(len(symbols()) + SOURCE + TARGET, symbols()["<start>"], DIM, DIM)


def write_pairs(numbers: Iterable[int]) -> tuple[Symbols, Symbols]:
    """Return the sources and targets of numbers, German before French, as numbers of symbols."""
    pairs = [(number, language) for number in numbers for language in LANGUAGES]
    sources = [(f"<{language}>", *split_numeral(numeral(number, "en"))) for number, language in pairs]
    return _rows(sources, SOURCE), _rows([split_numeral(numeral(*pair)) for pair in pairs], TARGET)


def leave_out(sources: Symbols, rng: np.random.Generator) -> Symbols:
    """Leave one symbol of every source out, drawn uniformly among all but the mark."""
    rows = [np.delete(row, rng.integers(1, np.count_nonzero(row != END))) for row in sources]
    return np.pad(np.stack(rows), ((0, 0), (0, 1)), constant_values=END)


def draw_numerals(seed: int, validation: bool, root: int) -> Pairs:
    """Draw the sentences of a seed."""
    order = stream(f"arms.{TASK}.held", 0, root=root).permutation(LARGEST + 1)
    held, rest = np.split(order, [NUMBERS["held"]])
    rng = stream(f"arms.{TASK}.data", seed, root=root)
    drawn = rng.choice(rest, NUMBERS["train"] + NUMBERS["test"], replace=False)
    train, test = np.split(drawn, [NUMBERS["train"]])
    sources, targets = write_pairs((held if validation else test).tolist())
    noisy = leave_out(sources, rng), targets
    return {"train": write_pairs(train.tolist()), "test": (sources, targets), "noisy": noisy}


@dataclass(frozen=True, slots=True, eq=False)
class Sentences(Lessons):
    """The sentences of some runs, stacked, and what draws their orders and starts.

    Parameters
    ----------
    task : str
        ``TASK``.
    seeds, validation, labels, start, root
        As in :class:`theory.experiments.arms.lessons.Lessons`. ``permuted`` gives every training source the target of
        another one.

    Raises
    ------
    ValueError, TypeError
        If a word is none of these, or a seed is negative or none is given.
    """

    def __post_init__(self) -> None:
        as_choice(self.task, "task", (TASK,))
        as_choice(self.labels, "labels", LABELS)
        as_choice(self.start, "start", STARTS)
        if not self.seeds:
            raise ValueError("seeds: expected at least one, got none")
        object.__setattr__(self, "seeds", tuple(as_count(seed, "seeds", least=0) for seed in self.seeds))

    @property
    def sizes(self) -> Sizes:
        """Of the task."""
        return task_sizes()

    def sets(self) -> Pairs:  # type: ignore[override]  # symbols are integers
        """Return sources (runs, sentences, SOURCE) and targets (runs, sentences, TARGET) by part."""
        each = [draw_numerals(seed, self.validation, self.root) for seed in self.seeds]
        stacked = {part: _stacked([pairs[part] for pairs in each]) for part in each[0]}
        if self.labels == "permuted":
            sources, targets = stacked["train"]
            mixed = [rng.permutation(own) for own, rng in zip(targets, self._streams("permuted"), strict=True)]
            stacked["train"] = sources, np.stack(mixed)
        return stacked

    def deal(self, orders: Sequence[np.random.Generator], count: int, tokens: int) -> Symbols:
        """Return the places of one epoch, (runs, steps, sentences of a step), among all sentences of a run."""
        return np.stack([rng.permutation(count * tokens).reshape(count, tokens) for rng in orders])


def _rows(sentences: Sequence[Sequence[str]], length: int) -> Symbols:
    rows = np.full((len(sentences), length), END, dtype=np.int64)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = [symbols()[symbol] for symbol in sentence]
    return rows


def _stacked(each: Sequence[tuple[Symbols, Symbols]]) -> tuple[Symbols, Symbols]:
    return np.stack([sources for sources, _ in each]), np.stack([targets for _, targets in each])
