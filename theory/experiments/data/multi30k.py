"""Multi30K, English to German, from its text files.

One sentence a line, the same line in both languages. The files are those of the first task, as published: 29 000 pairs
for training, 1014 for validation and the 1000 of the test of 2016, raw or lower-cased and tokenised, gzipped or not.

References
----------
D. Elliott, S. Frank, K. Sima'an, L. Specia, *Multi30K: multilingual English-German image descriptions*, Workshop on
Vision and Language 2016.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from theory.experiments.data.corpus import Corpus, Pairs

SOURCE, TARGET = "en", "de"
_PARTS = {"train": ("train",), "validation": ("val",), "test": ("test_2016_flickr", "test2016", "test")}
_STYLES = ("", ".lc.norm.tok")
_PACKINGS = ("", ".gz")


def read_multi30k(folder: str | os.PathLike[str]) -> Corpus:
    """Read the corpus from the folder that holds its files.

    Parameters
    ----------
    folder : path
        Holds ``train``, ``val`` and ``test_2016_flickr`` (``test2016`` and ``test`` in older packings), each with the
        endings ``.en`` and ``.de``, or ``.lc.norm.tok.en`` and ``.lc.norm.tok.de``; ``.gz`` may follow. Raw text is
        preferred where both are there, and all parts must be of one style. Empty lines at the end of a file, as in the
        packing of 2016, are left out.

    Returns
    -------
    Corpus
        Pairs in the order of the files, without marks.

    Raises
    ------
    NotADirectoryError
        If there is no such folder.
    FileNotFoundError
        If a file is missing; the message names it.
    ValueError
        If a file is not UTF-8, not gzipped as its name says, has an empty line between others or nothing, or the two
        languages differ in length; the message names the file.
    """
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectoryError(f"folder: expected the folder of Multi30K's text files, got {root}")
    style = next((style for style in _STYLES if _find(root, _PARTS["train"], f"{style}.{SOURCE}")), _STYLES[0])
    return Corpus(**{part: _pairs(root, names, style) for part, names in _PARTS.items()})


def _pairs(root: Path, names: tuple[str, ...], style: str) -> Pairs:
    paths = [_found(root, names, f"{style}.{language}") for language in (SOURCE, TARGET)]
    sources, targets = (_lines(path) for path in paths)
    if len(sources) != len(targets):
        raise ValueError(
            f"{paths[1]}: expected {len(sources)} lines as in {paths[0].name}, got {len(targets)}; one is damaged"
        )
    return Pairs(("",) * len(sources), tuple(sources), tuple(targets))


def _find(root: Path, names: tuple[str, ...], ending: str) -> Path | None:
    places = (root / f"{name}{ending}{packing}" for name in names for packing in _PACKINGS)
    return next((place for place in places if place.is_file()), None)


def _found(root: Path, names: tuple[str, ...], ending: str) -> Path:
    place = _find(root, names, ending)
    if place is None:
        others = "".join(f", or {name}{ending}" for name in names[1:])
        raise FileNotFoundError(f"{root / (names[0] + ending)}: expected Multi30K's file{others}, or .gz, got none")
    return place


def _lines(path: Path) -> list[str]:
    """Return the sentences; only a line feed ends a line, since sentences hold other separators of Unicode."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{path}: expected a gzip file, got a damaged one: {error}") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8, got byte {data[error.start]:#04x} at {error.start}") from error
    lines = [" ".join(line.split()) for line in text.rstrip().split("\n")]
    if not text.strip():
        raise ValueError(f"{path}: expected sentences, got an empty file")
    if "" in lines:
        raise ValueError(f"{path}: expected a sentence on every line, got an empty line {lines.index('') + 1}")
    return lines
