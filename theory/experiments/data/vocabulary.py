"""Byte-pair encoding: words cut into the pieces that occur most often.

Text is split into words and single signs, a word with the space before it; the symbols are at first its characters,
and the two neighbours that occur together most often become one symbol, again and again. Ties go to the pair that
comes first in the order of Unicode, so that the same text always gives the same symbols.

References
----------
R. Sennrich, B. Haddow, A. Birch, *Neural machine translation of rare words with subword units*, ACL 2016.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from theory._validate import as_count

PADDING, START, END, UNKNOWN = range(4)  # their numbers in every vocabulary
_MARKS = ("<pad>", "<start>", "<end>", "<unk>")
_SPACE = "\u2581"  # stands for the space before a word
_PIECES = re.compile(rf"{_SPACE}?\w+|{_SPACE}?[^\w{_SPACE}]|{_SPACE}", re.DOTALL)

Pair = tuple[str, str]


@dataclass(frozen=True)
class Vocabulary:
    """Symbols and the order in which they are put together; made by :func:`learn`.

    Parameters
    ----------
    marks : tuple of str
        Symbols that no text contains, after the four of every vocabulary.
    characters : tuple of str
        The characters that occur.
    merges : tuple of (str, str)
        Neighbours that become one symbol, in the order in which they do.
    """

    marks: tuple[str, ...]
    characters: tuple[str, ...]
    merges: tuple[Pair, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _ranks: dict[Pair, int] = field(init=False, repr=False, compare=False)
    _known: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {symbol: number for number, symbol in enumerate(self.symbols)})
        object.__setattr__(self, "_ranks", {pair: rank for rank, pair in enumerate(self.merges)})

    @property
    def symbols(self) -> tuple[str, ...]:
        """All symbols, in the order of their numbers."""
        return (*_MARKS, *self.marks, *self.characters, *dict.fromkeys(a + b for a, b in self.merges))

    def __len__(self) -> int:
        return len(self._ids)

    def mark(self, name: str) -> int:
        """Return the number of a mark."""
        if name not in self.marks:
            raise ValueError(f"name: expected one of the marks {', '.join(self.marks)}, got {name!r}")
        return self._ids[name]

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the numbers of the symbols of a text; a character that was never seen becomes ``UNKNOWN``.

        Raises
        ------
        ValueError
            If the text holds the sign that stands for a space, U+2581.
        """
        numbers: list[int] = []
        for piece in _pieces(text):
            if piece not in self._known:
                self._known[piece] = tuple(self._ids.get(symbol, UNKNOWN) for symbol in self._cut(piece))
            numbers.extend(self._known[piece])
        return tuple(numbers)

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text of the symbols up to the first ``END``; of marks only ``UNKNOWN`` is shown, as U+FFFD."""
        symbols = self.symbols
        written = []
        for number in numbers:
            if number == END:
                break
            if number == UNKNOWN:
                written.append("\ufffd")
            elif number >= len(_MARKS) + len(self.marks):
                written.append(symbols[number])
        return "".join(written).replace(_SPACE, " ").removeprefix(" ")

    def _cut(self, piece: str) -> Sequence[str]:
        symbols = list(piece)
        while len(symbols) > 1:
            last = len(self._ranks)
            rank, at = min((self._ranks.get((a, b), last), k) for k, (a, b) in enumerate(itertools.pairwise(symbols)))
            if rank == last:
                break
            symbols = _merged(symbols, self.merges[rank], at)
        return symbols


def learn_vocabulary(texts: Iterable[str], size: int, marks: Sequence[str] = ()) -> Vocabulary:
    """Learn the symbols of a language.

    Parameters
    ----------
    texts : iterable of str
        Sentences.
    size : int
        Symbols at most, the marks included; fewer if no pair occurs twice any more.
    marks : sequence of str, default ()
        Symbols beside those of the texts, each of more than one character and distinct.

    Returns
    -------
    Vocabulary

    Raises
    ------
    ValueError
        If the characters alone are more than ``size``, or there is no text.
    """
    if len({*_MARKS, *marks}) != len(_MARKS) + len(marks):
        raise ValueError(f"marks: expected distinct ones other than {', '.join(_MARKS)}, got {', '.join(marks)}")
    counted = Counter(piece for text in texts for piece in _pieces(text))
    if not counted:
        raise ValueError("texts: expected at least one word, got none")
    characters = tuple(sorted({character for piece in counted for character in piece}))
    room = as_count(size, "size") - len(_MARKS) - len(marks) - len(characters)
    if room < 0:
        raise ValueError(f"size: expected at least {size - room} for the marks and characters, got {size}")
    return Vocabulary(tuple(marks), characters, _merges(counted, room))


def _merges(counted: Counter[str], room: int) -> tuple[Pair, ...]:
    """Choose the pairs; only the words that hold a chosen pair are counted again."""
    words = [list(piece) for piece in counted]
    times = list(counted.values())
    counts: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, word in enumerate(words):
        for pair in itertools.pairwise(word):
            counts[pair] += times[number]
            where[pair].add(number)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(queue)
    merges: list[Pair] = []
    made: set[str] = set()
    while queue and len(made) < room:
        count, pair = heapq.heappop(queue)
        if -count != counts[pair]:  # an entry from before the words of this pair changed
            continue
        if -count < 2:
            break
        merges.append(pair)
        made.add(pair[0] + pair[1])
        touched: set[Pair] = set()
        for number in where.pop(pair):
            old = words[number]
            new = _merged(words[number], pair)
            for sign, word in ((-1, old), (1, new)):
                for neighbours in itertools.pairwise(word):
                    counts[neighbours] += sign * times[number]
                    touched.add(neighbours)
            for neighbours in itertools.pairwise(new):
                where[neighbours].add(number)
            words[number] = new
        for neighbours in touched:
            if counts[neighbours] > 0:
                heapq.heappush(queue, (-counts[neighbours], neighbours))
    return tuple(merges)


def _merged(symbols: Sequence[str], pair: Pair, at: int = 0) -> list[str]:
    """Put together a pair wherever it stands, from the left; ``at`` is known to be before its first place."""
    joined = list(symbols[:at])
    k = at
    while k < len(symbols):
        if k + 1 < len(symbols) and (symbols[k], symbols[k + 1]) == pair:
            joined.append(pair[0] + pair[1])
            k += 2
        else:
            joined.append(symbols[k])
            k += 1
    return joined


def _pieces(text: str) -> list[str]:
    if _SPACE in text:
        raise ValueError(f"text: expected none of the sign U+2581, which stands for a space, got {text!r}")
    return _PIECES.findall(f"{_SPACE}{text}".replace(" ", _SPACE)) if text else []
