"""Translation by an encoder-decoder transformer: English numerals to German and French, or Multi30K.

Numerals are small enough for one core and have right and wrong answers. 200 numbers in both languages, of 100 000, are
few enough for self-attention to end between seven and nine tenths of right answers, so that there is room to be better
and worse. The paper's settings, 512 features, 6 layers, 8 heads and Adam at rate 1e-5, are for Multi30K and taken there
(a run needs most of a day on one core); they say nothing about a transformer of 64 features, for which every attention
chooses its rate from the same three. Weight decay is the paper's in both. There is no dropout: the paper names none,
and runs should differ in nothing but what they compare.

What is measured: cross-entropy in nat per token with the right tokens before it, on up to 1024 training pairs and on
the test pairs; the share of sentences translated without a fault by the most probable token at each step
(``accuracy``); BLEU of the same translations, over characters for numerals, since a German one is a single word; and
both again after one token of each source sentence, the same for all attentions, was left out. For numerals that token
is a word, a part of one, a hyphen or the comma; only without the last two or ``and`` is the answer still certain, so
that ``noisy_1`` cannot reach 1 and ``noisy_bleu`` says how far a fault spreads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theory.evidence import stream
from theory.evidence.streams import ROOT
from theory.experiments.data import numerals
from theory.experiments.data.corpus import Corpus, Pairs
from theory.experiments.data.multi30k import read_multi30k
from theory.experiments.data.vocabulary import learn_vocabulary
from theory.experiments.tasks.task import Setting, Variant, variants_without

if TYPE_CHECKING:
    from theory.experiments.tasks.translator import Translator

_STREAM = "metric.translation"
_DECAY = 5e-4


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large an experiment is.

    Parameters
    ----------
    train, test : int
        Pairs to learn from and, for numerals, to test and to validate on.
    decoded : int
        Test pairs that are translated at every measurement.
    symbols : (int, int)
        Symbols of the source and target vocabularies at most.
    dim, layers, heads, hidden, width : int
        Of the transformer; ``width`` is that of the features that attention compares.
    batch, epochs, every : int
        Pairs in a batch, epochs in a run and between two measurements.
    """

    train: int
    test: int
    decoded: int
    symbols: tuple[int, int]
    dim: int
    layers: int
    heads: int
    hidden: int
    width: int
    batch: int
    epochs: int
    every: int


_NUMERALS = {
    "quick": Sizes(96, 16, 8, (80, 120), 16, 1, 2, 32, 16, 32, 2, 1),
    "paper": Sizes(400, 300, 300, (100, 160), 64, 2, 4, 128, 64, 64, 40, 5),
}
_MULTI30K = {
    "quick": Sizes(96, 16, 8, (300, 300), 16, 1, 2, 32, 16, 32, 2, 1),
    "paper": Sizes(29000, 1014, 1000, (8000, 8000), 512, 6, 8, 2048, 512, 128, 30, 5),
}


@dataclass(frozen=True)
class Translation:
    """A :class:`theory.experiments.tasks.task.Task`.

    Parameters
    ----------
    data : path, optional
        Folder of Multi30K's text files; English numerals unless given.
    root : int, default ROOT
        Entropy of every draw.

    Raises
    ------
    OSError, ValueError
        If the files are missing or damaged, as :func:`theory.experiments.data.multi30k.multi30k` says.
    """

    data: Path | None = None
    root: int = ROOT

    def __post_init__(self) -> None:
        self._read()

    @property
    def name(self) -> str:
        """The word by which the command line knows it."""
        return "translation"

    @property
    def permutes(self) -> bool:
        """Whether runs with permuted targets are part of the experiment: the other tasks have them, at less cost."""
        return False

    @property
    def columns(self) -> Mapping[str, str]:
        """What a learner measures, with units."""
        return {
            "train_loss": "nat",
            "test_loss": "nat",
            "accuracy": "1",
            "bleu": "percent",
            "noisy_1": "1",
            "noisy_bleu": "percent",
        }

    @property
    def variants(self) -> tuple[Variant, ...]:
        """What is compared: all but a wider start, which the transformer does not have."""
        return variants_without("wide")

    @property
    def rules(self) -> tuple[str, ...]:
        """How learning rates are chosen: the published one is for Multi30K, whose runs are too long to tune."""
        return ("tuned",) if self.data is None else ("published",)

    def epochs(self, scale: str) -> int:
        """Return the budget of a run."""
        return self._sizes(scale).epochs

    def every(self, scale: str) -> int:
        """Return after how many epochs a curve has its next point."""
        return self._sizes(scale).every

    def seeds(self, scale: str) -> int:
        """Return how many runs there are of every kind: as few as an interval of paired differences is formed of."""
        self._sizes(scale)
        return 16

    def tuning_seeds(self, scale: str) -> int:
        """Return how many runs decide on a rate."""
        self._sizes(scale)
        return 2

    @property
    def published_rate(self) -> float:
        """The learning rate that the paper states, for Multi30K."""
        return 1e-5

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates among which every attention may choose, on validation data."""
        return (1e-3, 3e-3, 1e-2)

    def learner(self, setting: Setting, *, validation: bool = False) -> Translator:
        """Make the learner of a setting at epoch zero.

        The vocabularies are learned from the training pairs. Attentions share the data, the order of the batches and
        the start of all parameters outside attention; ``again`` starts elsewhere.

        Raises
        ------
        ValueError
            If the setting is of another task.
        ModuleNotFoundError
            If PyTorch, num2words or sacrebleu is not installed.
        """
        from theory.experiments.tasks.translator import Lesson, Translator  # noqa: PLC0415  needs PyTorch
        from theory.metric.torch import Transformer  # noqa: PLC0415  needs PyTorch

        if setting.task != self.name:
            raise ValueError(f"setting: expected task {self.name}, got {setting.task}")
        sizes = self._sizes(setting.scale)
        corpus = self.corpus(setting.scale, setting.seed)
        train = corpus.train
        test = corpus.validation if validation else corpus.test
        source = learn_vocabulary(
            train.sources, sizes.symbols[0], tuple(sorted({mark for mark in train.marks if mark}))
        )
        target = learn_vocabulary(train.targets, sizes.symbols[1])
        if setting.labels == "permuted":
            train = permute_targets(train, stream(f"{_STREAM}.permutation", setting.seed, root=self.root))
        again = setting.attention == "again"
        model = Transformer(
            len(source),
            len(target),
            dim=sizes.dim,
            heads=sizes.heads,
            layers=sizes.layers,
            hidden=sizes.hidden,
            width=sizes.width,
            attention="self" if again else setting.attention,
            matching=setting.matching,
        )
        model.reset(stream(f"{_STREAM}.again" if again else f"{_STREAM}.start", setting.seed, root=self.root))
        tokeniser = "char" if self.data is None else "13a"
        return Translator(
            model,
            source,
            target,
            Lesson(train, 1024, test, sizes.decoded, tokeniser),
            rate=setting.rate,
            decay=_DECAY,
            batch=sizes.batch,
            seed=setting.seed,
            root=self.root,
        )

    def corpus(self, scale: str, seed: int) -> Corpus:
        """Return the data of a seed; those of Multi30K are the same for all."""
        sizes = self._sizes(scale)
        read = self._read()
        if read is not None:
            return Corpus(read.train.first(sizes.train), read.validation.first(sizes.test), read.test.first(sizes.test))
        half = sizes.test // 2  # every number is translated twice
        rng = stream(f"{_STREAM}.numbers", seed, root=self.root)
        return numerals.draw_corpus(rng, train=sizes.train // 2, validation=half, test=half)

    def _read(self) -> Corpus | None:
        if self.data is None:
            return None
        if "_corpus" not in self.__dict__:
            object.__setattr__(self, "_corpus", read_multi30k(self.data))
        return self.__dict__["_corpus"]  # type: ignore[no-any-return]

    def _sizes(self, scale: str) -> Sizes:
        table = _NUMERALS if self.data is None else _MULTI30K
        if scale not in table:
            raise ValueError(f"scale: expected one of {', '.join(table)}, got {scale!r}")
        return table[scale]


def permute_targets(pairs: Pairs, rng: np.random.Generator) -> Pairs:
    """Give every sentence the translation of another one, by one cycle through all of them."""
    cycle = rng.permutation(len(pairs))
    targets = list(pairs.targets)
    for here, there in zip(cycle, np.roll(cycle, 1), strict=True):
        targets[here] = pairs.targets[there]
    return Pairs(pairs.marks, pairs.sources, tuple(targets))
