"""A transformer that learns to translate, with all that a run needs to be stopped and to go on to the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theory._extra import extra
from theory.evidence import stream
from theory.experiments.data.corpus import Pairs
from theory.experiments.data.vocabulary import END, PADDING, START, Vocabulary
from theory.experiments.tasks.bleu import bleu, exact_match
from theory.metric.torch import Transformer

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

Ids = NDArray[np.int64]
State = dict[str, NDArray[np.generic]]

STREAM = "metric.translation"
_MARGIN = 4  # symbols that a translation may be longer than all that were learned
_AT_ONCE = 128  # sentences that are translated together
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learned and on what it is examined.

    Parameters
    ----------
    train : Pairs
        The pairs of an epoch.
    shown : int
        How many of them the training loss is measured on.
    test : Pairs
        What the test loss is measured on; its first ``decoded`` pairs are also translated.
    decoded : int
        How many.
    tokeniser : str
        Of :func:`theory.experiments.tasks.bleu.bleu`.
    """

    train: Pairs
    shown: int
    test: Pairs
    decoded: int
    tokeniser: str


class Translator:
    """A :class:`theory.experiments.tasks.task.Learner`: a transformer, its vocabularies and Adam.

    Parameters
    ----------
    model : Transformer
        At its start; float32.
    source, target : Vocabulary
        Of the two sides.
    lesson : Lesson
        The data.
    rate, decay : float
        Adam's learning rate and weight decay (added to the gradient).
    batch : int
        Pairs in a batch.
    seed, root : int
        Of the order of the batches and of the tokens that are left out.
    """

    def __init__(
        self,
        model: Transformer,
        source: Vocabulary,
        target: Vocabulary,
        lesson: Lesson,
        *,
        rate: float,
        decay: float,
        batch: int,
        seed: int,
        root: int,
    ) -> None:
        self._model, self._target, self._lesson = model, target, lesson
        self._batch, self._seed, self._root = batch, seed, root
        self._adam = torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay)
        self._epoch = 0
        self._train = encode(lesson.train, source, target)
        self._test = encode(lesson.test, source, target)
        self._longest = int((self._train[1] != PADDING).sum(axis=1).max()) + _MARGIN
        self._clean = self._test[0][: lesson.decoded]
        self._damaged = damage(self._clean, lesson.test.marks, stream(f"{STREAM}.noise", seed, root=root))

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(parameter.numel() for parameter in self._model.parameters())

    def advance(self) -> None:
        """Train for one epoch, in an order drawn for it alone."""
        order = stream(f"{STREAM}.order.{self._epoch}", self._seed, root=self._root).permutation(len(self._train[0]))
        self._model.train()
        with _one_thread():
            for first in range(0, order.size, self._batch):
                total, tokens = self._loss(self._train, order[first : first + self._batch])
                self._adam.zero_grad()
                torch.autograd.backward(total / tokens)
                self._adam.step()
        self._epoch += 1

    def measure(self) -> dict[str, float]:
        """Return the losses, and how well sentences are translated with and without a missing token."""
        self._model.eval()
        with _one_thread(), torch.inference_mode():
            shown = min(self._lesson.shown, len(self._train[0]))
            losses = [self._mean(self._train, shown), self._mean(self._test, len(self._test[0]))]
            clean, damaged_ones = self._translate(self._clean), self._translate(self._damaged)
        references = self._lesson.test.targets[: self._lesson.decoded]
        kind = self._lesson.tokeniser
        return {
            "train_loss": losses[0],
            "test_loss": losses[1],
            "accuracy": exact_match(clean, references),
            "bleu": bleu(clean, references, tokeniser=kind),
            "noisy_1": exact_match(damaged_ones, references),
            "noisy_bleu": bleu(damaged_ones, references, tokeniser=kind),
        }

    def state(self) -> State:
        """Return the epoch, the parameters, and Adam's moments and number of steps."""
        state: State = {"epoch": np.array(self._epoch), "steps": np.array(0)}
        for name, parameter in self._model.named_parameters():
            kept = self._adam.state.get(parameter, {})
            state["steps"] = np.array(int(kept.get("step", 0)))
            state[f"parameter.{name}"] = parameter.detach().numpy().copy()
            for moment in _MOMENTS:
                value = kept.get(moment)
                state[f"{moment}.{name}"] = np.zeros(parameter.shape, np.float32) if value is None else _copy(value)
        return state

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a state that :meth:`state` returned.

        Raises
        ------
        ValueError
            If the state is of another model; nothing is changed then.
        """
        expected = self.state()
        if set(state) != set(expected):
            odd = sorted(set(state) ^ set(expected))
            raise ValueError(f"state: expected the {len(expected)} arrays of this model, got others: {', '.join(odd)}")
        for name, array in expected.items():
            if np.shape(state[name]) != array.shape or np.asarray(state[name]).dtype.kind != array.dtype.kind:
                raise ValueError(f"state: expected {name} of shape {array.shape}, got shape {np.shape(state[name])}")
        self._epoch = int(state["epoch"])
        steps = float(state["steps"])
        with torch.no_grad():
            for name, parameter in self._model.named_parameters():
                parameter.copy_(torch.tensor(state[f"parameter.{name}"]))
                if steps:
                    moments = {moment: torch.tensor(state[f"{moment}.{name}"]) for moment in _MOMENTS}
                    self._adam.state[parameter] = {"step": torch.tensor(steps), **moments}
                else:
                    self._adam.state.pop(parameter, None)

    def _loss(self, pairs: tuple[Ids, Ids], rows: NDArray[np.int64]) -> tuple[Tensor, int]:
        """Return the cross-entropy of a batch, summed, and the number of tokens it is the sum over."""
        x, y = (torch.from_numpy(_trim(side[rows])) for side in pairs)
        start = torch.full((len(rows), 1), START, dtype=y.dtype)
        logits = self._model(x, torch.cat([start, y[:, :-1].where(y[:, :-1] != END, PADDING)], dim=1))
        total = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=PADDING, reduction="sum"
        )
        return total, int((y != PADDING).sum())

    def _mean(self, pairs: tuple[Ids, Ids], size: int) -> float:
        parts = [self._loss(pairs, rows) for rows in _runs(size, self._batch)]
        return sum(float(total) for total, _ in parts) / sum(tokens for _, tokens in parts)

    def _translate(self, source: Ids) -> list[str]:
        written: list[str] = []
        for rows in _runs(len(source), _AT_ONCE):
            ids = self._model.greedy(torch.from_numpy(_trim(source[rows])), START, END, self._longest)
            written.extend(self._target.decode(sentence) for sentence in ids.tolist())
        return written


def encode(pairs: Pairs, source: Vocabulary, target: Vocabulary) -> tuple[Ids, Ids]:
    """Return the numbers of the symbols of both sides, (pairs, longest), each with ``END`` and padding behind.

    A source begins with its mark, if it has one.
    """
    marks = [(source.mark(mark),) if mark else () for mark in pairs.marks]
    sources = [(*mark, *source.encode(text), END) for mark, text in zip(marks, pairs.sources, strict=True)]
    return _pad(sources), _pad([(*target.encode(text), END) for text in pairs.targets])


def damage(source: Ids, marks: Sequence[str], rng: np.random.Generator) -> Ids:
    """Leave out one token of every sentence, drawn uniformly; never its mark, nor its end."""
    sentences = []
    for row, mark in zip(source, marks, strict=False):
        words = row[row != PADDING].tolist()
        first = 1 if mark else 0
        at = int(rng.integers(first, len(words) - 1))
        sentences.append((*words[:at], *words[at + 1 :]))
    return _pad(sentences)


def _pad(sentences: Sequence[Sequence[int]]) -> Ids:
    rows = np.full((len(sentences), max(map(len, sentences))), PADDING, dtype=np.int64)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    return rows


def _trim(rows: Ids) -> Ids:
    """Leave out the columns that are padding in every row."""
    return np.ascontiguousarray(rows[:, : int((rows != PADDING).sum(axis=1).max())])


def _runs(size: int, batch: int) -> Iterator[NDArray[np.int64]]:
    return (np.arange(first, min(first + batch, size)) for first in range(0, size, batch))


def _copy(value: Tensor) -> NDArray[np.float32]:
    return np.array(value.detach().numpy(), dtype=np.float32)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: the order of a sum, and so its last digits, depends on their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
