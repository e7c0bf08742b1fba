"""Random streams keyed by what they serve, so that order, selection and workers change no draw."""

from __future__ import annotations

import hashlib

import numpy as np

from theory._validate import as_count, as_text

ROOT = 20070  # the fixed root of the default run; changing it to make a check pass counts as moving a number


def stream(name: str, case: int, *, root: int = ROOT) -> np.random.Generator:
    """Return the generator of case ``case`` of the claim or study ``name``.

    Parameters
    ----------
    name : str
        A claim's id or a study's name.
    case : int
        Number of the case, from zero.
    root : int, default ROOT
        Entropy of the whole run.

    Returns
    -------
    numpy.random.Generator
        Philox, seeded by ``[root, *words(sha256(name)), case]`` and nothing else.

    Examples
    --------
    >>> a, b = stream("markov.rows", 3), stream("markov.rows", 3)
    >>> bool(a.normal() == b.normal())
    True
    """
    as_text(name, "name")
    case = as_count(case, "case", least=0)
    root = as_count(root, "root", least=0)
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype=">u4")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([root, *(int(w) for w in words), case])))
