"""Arrays that must be refused and arrays that must be taken exactly, the same ones for every public function."""

from __future__ import annotations

import numpy as np

NAN, INF = float("nan"), float("inf")


def spoilt(good):
    """Return inadmissible versions of a float array of at least one axis, by what is wrong with them."""
    good = np.asarray(good, dtype=float)

    def with_entry(value):
        bad = good.copy()
        bad.flat[-1] = value
        return bad

    ragged = [*good.tolist(), [1.0] * 7 if good.ndim == 1 else [[1.0] * 7]]
    return {
        "nan": with_entry(NAN),
        "inf": with_entry(INF),
        "-inf": with_entry(-INF),
        "one axis more": good[np.newaxis],
        "one axis less": good[0],
        "empty": good[:0],
        "no dimension": good[..., :0],
        "scalar": 1.0,
        "ragged": ragged,
        "masked": np.ma.masked_equal(good, good.flat[0]),
        "object": good.astype(object),
        "text": good.astype(str),
        "complex": good.astype(complex),
        "bool": good.astype(bool),
        "nothing": None,
        "large integers": np.full(good.shape, 2**53 + 1),
        "large unsigned integers": np.full(good.shape, 2**64 - 1, dtype=np.uint64),
        "large integers in a list": np.full(good.shape, 2**70, dtype=object).tolist(),
        **({"long double": good.astype(np.longdouble)} if np.dtype(np.longdouble).itemsize > 8 else {}),
    }


KINDS = tuple(spoilt(np.ones((2, 2))))


def disguised(good):
    """Return versions of an array of small integers that mean the same to the last bit."""
    good = np.asarray(good, dtype=float)
    wide = np.full((*good.shape[:-1], 2 * good.shape[-1]), NAN)
    wide[..., ::2] = good
    record = np.zeros(good.shape, dtype=[("pad", "i1"), ("value", "f8")])
    record["value"] = good
    fixed = good.copy()
    fixed.setflags(write=False)
    return {
        "list": good.tolist(),
        "tuple": tuple(map(tuple, good.tolist())) if good.ndim == 2 else tuple(good.tolist()),
        "integers": good.astype(np.int64),
        "short integers": good.astype(np.int8),
        "mixed list": (good + 0.0).astype(object).tolist(),
        "float32": good.astype(np.float32),
        "float16": good.astype(np.float16),
        "foreign byte order": good.astype(good.dtype.newbyteorder()),
        "Fortran order": np.asfortranarray(good),
        "strided": wide[..., ::2],
        "reversed": np.ascontiguousarray(good[::-1])[::-1],
        "read-only": fixed,
        "unaligned": record["value"],
    }


DISGUISES = tuple(disguised(np.ones((2, 2))))
