"""Every argument check: what it converts, what it refuses, and in which words."""

import math
import sys

import numpy as np
import pytest

from tests.attention.inputs import DISGUISES, KINDS, disguised, spoilt
from theory._validate import (
    all_finite,
    as_between,
    as_bound,
    as_callable,
    as_choice,
    as_count,
    as_counts,
    as_flag,
    as_flags,
    as_generator,
    as_having,
    as_index,
    as_instance,
    as_masses,
    as_matrix,
    as_points,
    as_positive,
    as_real,
    as_share,
    as_simplex,
    as_text,
    as_vector,
    frozen,
)

CLOUD = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, -5.0]])
LAW = np.array([0.5, 0.25, 0.25])
LARGEST = 2**53
FREE_SHAPE = {"one axis more", "one axis less", "empty", "no dimension", "scalar"}  # as_real takes any shape


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", [as_real, as_points, as_matrix, as_vector, as_masses, as_simplex])
def test_bad_arrays_are_refused_by_name(check, kind):
    if check is as_real and kind in FREE_SHAPE:
        return
    good = CLOUD if check in (as_real, as_points, as_matrix) else LAW
    with pytest.raises((ValueError, TypeError), match=r"^stuff: expected "):
        check(spoilt(good)[kind], "stuff")


@pytest.mark.parametrize("kind", DISGUISES)
@pytest.mark.parametrize("check", [as_real, as_points, as_matrix, as_vector, as_masses])
def test_good_arrays_are_taken_exactly(check, kind):
    good = CLOUD if check in (as_real, as_points, as_matrix) else np.array([1.0, 0.0, 3.0])
    taken = check(disguised(good)[kind], "stuff")
    assert taken.dtype == np.float64
    assert taken.flags.c_contiguous
    assert np.array_equal(taken, good)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[1.0, math.nan]], "stuff: expected finite numbers, got nan at index (0, 1)"),
        ([-math.inf], "stuff: expected finite numbers, got -inf at index (0,)"),
        ([LARGEST + 1], "stuff: expected integers up to 2**53, got 9007199254740993"),
        ([-LARGEST - 1], "stuff: expected integers up to 2**53, got 9007199254740993"),
        ([[1.0], [1.0, 2.0]], "stuff: expected a rectangular array, got a ragged sequence"),
        ([1j], "stuff: expected real numbers that float64 can hold, got dtype complex128"),
        ([True, False], "stuff: expected real numbers that float64 can hold, got dtype bool"),
        (["1"], "stuff: expected real numbers that float64 can hold, got dtype <U1"),
        (None, "stuff: expected real numbers that float64 can hold, got dtype object"),
        (
            np.ma.masked_invalid([1.0, math.nan]),
            "stuff: expected a plain array, got a masked array (give masked tokens weight zero instead)",
        ),
    ],
)
def test_words_of_as_real(value, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        as_real(value, "stuff")
    assert str(caught.value) == words


def test_type_errors_are_type_errors():
    for kind in ("masked", "object", "text", "complex", "bool", "nothing"):
        with pytest.raises(TypeError):
            as_real(spoilt(CLOUD)[kind], "stuff")
    for kind in ("nan", "inf", "ragged", "large integers"):
        with pytest.raises(ValueError, match=r"^stuff: "):
            as_real(spoilt(CLOUD)[kind], "stuff")


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, np.iinfo(np.int32).min, 0])
def test_integers_that_float64_holds(value):
    assert int(as_real([value], "stuff")[0]) == value


@pytest.mark.parametrize("value", [5e-324, -0.0, sys.float_info.max, 0.1])
def test_floats_keep_every_bit(value):
    assert as_real([value], "stuff")[0].hex() == value.hex()


@pytest.mark.parametrize("value", [[1.0, LARGEST + 1], [[0.5], [2**60 + 1]], [-1, 2**63 + 1]])
def test_large_integers_beside_floats_lose_no_digit_silently(value):
    with pytest.raises((ValueError, TypeError), match=r"^stuff: expected "):
        as_real(value, "stuff")


def test_large_floats_in_a_list_are_no_integers():
    assert np.array_equal(as_real([1e300, 0.5, 2.0**60], "stuff"), [1e300, 0.5, 2.0**60])


def test_mask_inside_a_list_is_not_dropped():
    with pytest.raises(TypeError, match=r"^stuff: expected a plain array, got a masked array"):
        as_real([np.ma.array([1.0, 2.0], mask=[True, False])], "stuff")


def test_as_real_does_not_alias_a_conversion():
    assert as_real(CLOUD, "stuff") is CLOUD  # no copy without need: holders take frozen copies
    assert not np.shares_memory(as_real(CLOUD.astype(np.float32), "stuff"), CLOUD)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dim": 3}, "stuff: expected shape (n, 3), got shape (3, 2)"),
        ({"size": 2}, "stuff: expected shape (2, d), got shape (3, 2)"),
        ({"size": 3, "dim": 1}, "stuff: expected shape (3, 1), got shape (3, 2)"),
    ],
)
def test_words_of_as_points(arguments, words):
    with pytest.raises(ValueError, match=r"^stuff: ") as caught:
        as_points(CLOUD, "stuff", **arguments)
    assert str(caught.value) == words


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0, 0)])
def test_empty_clouds(shape):
    with pytest.raises(ValueError, match=r"^stuff: expected at least one point of at least one dimension, got shape"):
        as_points(np.empty(shape), "stuff")


@pytest.mark.parametrize("shape", [(3, 2), (None, 2), (3, None), (None, None)])
def test_matrix_sides(shape):
    assert np.array_equal(as_matrix(CLOUD, "stuff", shape=shape), CLOUD)
    with pytest.raises(ValueError, match=r"^stuff: expected shape \(7, "):
        as_matrix(CLOUD, "stuff", shape=(7, shape[1]))
    with pytest.raises(ValueError, match=r"^stuff: expected shape \(.*, 7\), got shape \(3, 2\)$"):
        as_matrix(CLOUD, "stuff", shape=(shape[0], 7))


def test_vector_size():
    assert np.array_equal(as_vector(LAW, "stuff", size=3), LAW)
    with pytest.raises(ValueError, match=r"^stuff: expected shape \(2,\), got shape \(3,\)$"):
        as_vector(LAW, "stuff", size=2)
    with pytest.raises(ValueError, match=r"^stuff: expected shape \(n,\), got shape \(0,\)$"):
        as_vector([], "stuff")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0, -1e-300], "stuff: expected non-negative masses, got -1e-300 at index 1"),
        ([0.0, 0.0], "stuff: expected a positive, finite total mass, got 0.0"),
        ([-0.0], "stuff: expected a positive, finite total mass, got 0.0"),
        ([1.7e308, 1.7e308], "stuff: expected a positive, finite total mass, got inf"),
    ],
)
def test_words_of_as_masses(value, words):
    with pytest.raises(ValueError, match=r"^stuff: ") as caught:
        as_masses(value, "stuff")
    assert str(caught.value).replace("got -0.0", "got 0.0") == words


def test_masses_of_any_positive_total():
    for masses in ([5e-324], [0.0, 1e-300], [1e307, 1e307], [3, 0, 4]):
        assert np.array_equal(as_masses(masses, "stuff"), masses)


def test_simplex_takes_the_rounding_of_its_own_normalisation():
    for n in (1, 2, 3, 10, 49, 1000):
        for law in (np.full(n, 1.0 / n), np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum()):
            assert as_simplex(law, "stuff") is law


@pytest.mark.parametrize("n", [1, 2, 100, 10_000])
def test_simplex_refuses_what_is_no_rounding(n):
    law = np.full(n, 1.0 / n)
    for excess in (8.0 * (n + 2) * 2.0**-52, -8.0 * (n + 2) * 2.0**-52):
        with pytest.raises(ValueError, match=r"^stuff: expected masses with sum 1 \(to "):
            as_simplex(law * (1.0 + excess), "stuff")


def test_words_of_as_simplex():
    with pytest.raises(ValueError, match=r"^stuff: ") as caught:
        as_simplex([0.5, 0.25], "stuff")
    assert str(caught.value) == "stuff: expected masses with sum 1 (to 8.9e-16), got sum 0.75"
    with pytest.raises(ValueError, match=r"^stuff: expected masses with sum 1 "):
        as_simplex(np.full(3, 1 / 3, dtype=np.float32), "stuff")  # a float32 law has no sum one in float64


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.25), np.int64(3), 5e-324, sys.float_info.max, LARGEST])
def test_as_positive_keeps_the_number(value):
    assert as_positive(value, "stuff") == value
    assert type(as_positive(value, "stuff")) is float


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0.0, ValueError, "got 0.0"),
        (-1, ValueError, "got -1"),
        (math.nan, ValueError, "got nan"),
        (math.inf, ValueError, "got inf"),
        (True, TypeError, "got bool"),
        (np.True_, TypeError, "got bool"),
        ("1", TypeError, "got str"),
        (None, TypeError, "got NoneType"),
        (1j, TypeError, "got complex"),
        (np.array([1.0]), TypeError, "got ndarray"),
    ],
)
def test_as_positive_refuses(value, error, words):
    with pytest.raises(error, match=r"^stuff: expected a ") as caught:
        as_positive(value, "stuff")
    assert str(caught.value).endswith(words)


@pytest.mark.parametrize("value", [10**400, LARGEST + 1], ids=["huge", "odd"])
def test_as_positive_loses_no_digit_of_an_integer_silently(value):
    with pytest.raises(ValueError, match=r"^stuff: expected a positive, finite number"):
        as_positive(value, "stuff")


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize <= 8, reason="long double is double here")
@pytest.mark.parametrize("digits", ["1e-4000", "1e4000", "0.1"])
def test_as_positive_loses_no_digit_of_a_long_double_silently(digits):
    with pytest.raises((ValueError, TypeError), match=r"^stuff: expected a "):
        as_positive(np.longdouble(digits), "stuff")


@pytest.mark.parametrize("value", [1, np.int8(1), np.uint64(2**63), 10**30])
def test_as_count_keeps_the_number(value):
    assert as_count(value, "stuff") == int(value)
    assert type(as_count(value, "stuff")) is int


@pytest.mark.parametrize("value", [1.0, "1", None, True, np.True_, np.float64(2.0), np.array(1)])
def test_as_count_wants_an_integer(value):
    with pytest.raises(TypeError, match=rf"^stuff: expected an integer, got {type(value).__name__}$"):
        as_count(value, "stuff")


def test_as_count_has_a_least_value():
    assert as_count(0, "stuff", least=0) == 0
    with pytest.raises(ValueError, match=r"^stuff: expected an integer of at least 1, got 0$"):
        as_count(0, "stuff")
    with pytest.raises(ValueError, match=r"^stuff: expected an integer of at least 3, got -2$"):
        as_count(np.int64(-2), "stuff", least=3)


def test_frozen_is_a_copy_of_its_own():
    source = np.asfortranarray(CLOUD)
    copy = frozen(source)
    assert not np.shares_memory(copy, source)
    assert copy.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        copy[0, 0] = 7.0
    source[0, 0] = 7.0
    assert copy[0, 0] == 1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("-inf"), np.array(np.nan)])
def test_a_scalar_that_is_not_finite(value):
    with pytest.raises(ValueError, match=r"^x: expected finite numbers, got .* at index \(\)$"):
        as_real(value, "x")


# --- what is no array ---


@pytest.mark.parametrize("width", [np.float16, np.float32, np.float64, float, int, np.int8])
@pytest.mark.parametrize("check", [as_positive, as_bound, as_share])
def test_a_number_comes_back_as_a_float_of_full_width(check, width):
    taken = check(width(1), "stuff")
    assert type(taken) is float
    assert taken == 1.0


@pytest.mark.parametrize(
    ("check", "value", "words"),
    [
        (as_bound, -1.0, "stuff: expected a non-negative bound, got -1.0"),
        (as_bound, math.nan, "stuff: expected a non-negative bound, got nan"),
        (as_bound, np.longdouble(1), "stuff: expected a number that float64 can hold, got dtype "),
        (as_bound, 2**53 + 1, "stuff: expected a number that float64 holds, got 9007199254740993"),
        (as_bound, "1", "stuff: expected a number, got str"),
        (as_bound, True, "stuff: expected a number, got bool"),
        (as_share, 1.5, "stuff: expected a number between 0.0 and 1.0, got 1.5"),
        (lambda v, n: as_between(v, n, 2.0, 3.0), 1, "stuff: expected a number between 2.0 and 3.0, got 1"),
        (lambda v, n: as_index(v, n, size=3), 3, "stuff: expected an integer below 3, got 3"),
        (as_counts, [1.0, 1.5], "stuff: expected integers of at least 1, got 1.5"),
        (as_flag, "no", "stuff: expected True or False, got str"),
        (as_flag, 1, "stuff: expected True or False, got int"),
        (lambda v, n: as_flags(v, n, shape=(2,)), [1, 0], "stuff: expected booleans of shape (2,), got int"),
        (lambda v, n: as_choice(v, n, ("a", "b")), "c", "stuff: expected one of a, b, got 'c'"),
        (lambda v, n: as_choice(v, n, ("a", "b")), 1, "stuff: expected one of a, b, got int"),
        (as_text, b"x", "stuff: expected a text, got bytes"),
        (as_generator, 0, "stuff: expected a numpy.random.Generator, got int"),
        (lambda v, n: as_instance(v, n, (int, str)), 1.0, "stuff: expected int or str, got float"),
        (as_callable, 1, "stuff: expected a function, got int"),
        (lambda v, n: as_having(v, n, "keys"), [], "stuff: expected an object with keys(), got list"),
        (lambda v, n: as_having(v, n, "keys"), dict, "stuff: expected an object with keys(), got the class dict"),
    ],
)
def test_what_is_no_array_is_refused_in_these_words(check, value, words):
    with pytest.raises((ValueError, TypeError)) as refused:
        check(value, "stuff")
    assert str(refused.value).startswith(words)


def test_what_fits_comes_back():
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng
    assert as_flag(np.True_, "stuff") is True
    assert as_bound(math.inf, "stuff") == math.inf
    assert as_choice("a", "stuff", ("a", "b")) == "a"
    assert as_having({}, "stuff", "keys", "values") == {}
    assert as_counts([1.0, 2.0], "stuff").tolist() == [1, 2]


@pytest.mark.parametrize("size", [1, 7, 5000])
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, None])
@pytest.mark.parametrize("scale", [0.0, 1e-200, 1.0, 1e200, 1.7e308])
def test_finite_numbers_are_told_in_silence(size, strange, scale):
    numbers = np.full((size, 2), scale)
    if strange is not None:
        numbers[size // 2, 1] = strange
    with np.errstate(all="raise"):
        assert all_finite(numbers) == (strange is None)
