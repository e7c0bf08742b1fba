r"""Ball arithmetic: exact inputs, every rounding enclosed, the width computed along the way (FLINT's ``arb``).

:func:`balls` turns floats into exact balls, on which a formula can be evaluated as it is printed, without shift or
trick; the exponent range is unlimited. :func:`hull` and :func:`ends` read the result off, outward. :func:`sup_over`
encloses the supremum of an expression over a whole box by branch and bound, and is what the kind ``PROVED`` rests on.

References
----------
F. Johansson, *Arb: efficient arbitrary-precision midpoint-radius interval arithmetic*, IEEE Trans. Computers 66 (2017).
"""

from __future__ import annotations

import ast
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_positive, as_text
from theory.evidence.interval import Interval, Kind, as_kind, made

_WIDE = np.longdouble if np.dtype(np.longdouble).itemsize > 8 else None
PRECISION = 128  # bits; enough that a ball of a few thousand operations is far below float64 resolution
_FUNCTIONS = ("exp", "log", "sqrt", "tanh", "sinh", "cosh", "sin", "cos", "atan", "lambertw")


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Compute balls with ``bits`` bits, at least two, inside the block, and as before after it."""
    bits = as_count(bits, "bits", least=2)
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def bits_in_force() -> int:
    """Return the bits with which balls are computed here, by which what is kept of them can be told apart."""
    return int(flint.ctx.prec)


def balls(values: ArrayLike | Fraction) -> NDArray[np.object_]:
    """Return exact balls of finite floats, integers or fractions, in an object array of the same shape."""
    one: Any = values
    if isinstance(one, float) and math.isfinite(one):  # as most are
        return np.array(flint.arb(float(one)), dtype=object)
    given = np.asarray(values)
    if isinstance(values, np.ma.MaskedArray) or given.dtype.kind not in "fiuO" or given.dtype == _WIDE:
        raise TypeError(f"values: expected numbers that float64 can hold, got {type(values).__name__} of {given.dtype}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError(f"values: expected finite numbers, got {given[~np.isfinite(given)].flat[0]}")
    plain = given.ravel().tolist()
    made: Iterator[Any]
    if given.dtype.kind == "O":
        made = (_ball(value.item() if isinstance(value, np.generic) else value) for value in plain)
    else:
        made = map(flint.arb, plain)
    return np.fromiter(made, object, len(plain)).reshape(given.shape)


def ball(value: Any) -> Any:
    """Return the exact ball of one finite number, or of a fraction or decimal given as text, such as ``"0.1"``.

    An array may hold the one number. Balls and power series of balls stay as they are.

    Raises
    ------
    TypeError
        If the value is no number.
    ValueError
        If it is not finite, or a text that is no number.
    """
    if type(value) is float and math.isfinite(value):  # as most are
        return flint.arb(value)
    if isinstance(value, str):
        try:
            return _ball(Fraction(value))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"value: expected a number, or a text such as '0.1' or '1/3', got {value!r}") from error
    if isinstance(value, (flint.arb, flint.arb_series)):
        return value
    if isinstance(value, np.ndarray) and value.size == 1 and not isinstance(value, np.ma.MaskedArray):
        value = value.item()
    return as_ball(value, "value")


def _ball(value: Any) -> Any:
    if isinstance(value, (Fraction, Decimal)):
        value = flint.fmpq(*value.as_integer_ratio())
    if value is None or isinstance(value, (str, bool)):
        raise TypeError(f"values: expected numbers, got {value!r}")
    try:
        return flint.arb(value)
    except TypeError as error:
        raise TypeError(f"values: expected numbers, got {type(value).__name__}") from error


def ball_digits(ball: Any) -> tuple[int, ...] | None:
    """Return mantissa and exponent of middle and radius, by which a finite ball is told from others; else ``None``."""
    if not isinstance(ball, flint.arb) or not ball.is_finite():
        return None
    return tuple(int(part) for end in (ball.mid(), ball.rad()) for part in end.man_exp())


def as_ball(value: Any, name: str) -> Any:
    """Return the ball of a number, or the ball that was given, which must be finite."""
    if (isinstance(value, float) and math.isfinite(value)) or type(value) is int:  # as most are
        return flint.arb(float(value) if isinstance(value, float) else value)
    try:
        ball = value if isinstance(value, flint.arb) else _ball(balls(value)[()])
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: expected a ball or a finite number, got {value!r}") from error
    if not ball.is_finite():
        raise ValueError(f"{name}: expected a finite number, got {ball}")
    return ball


def _lifted(name: str) -> Callable[[Any], Any]:
    def apply(values: Any) -> Any:
        try:
            if not isinstance(values, np.ndarray):
                return getattr(values, name)()
            return np.frompyfunc(lambda ball: getattr(ball, name)(), 1, 1)(values)
        except AttributeError as error:
            raise TypeError(f"values: expected balls or series of balls, got {type(values).__name__}") from error

    apply.__doc__ = f"Apply ``{name}`` to a ball or power series, or to every one of an object array."
    return apply


exp, log, tanh, sqrt = _lifted("exp"), _lifted("log"), _lifted("tanh"), _lifted("sqrt")


def variable(length: int) -> NDArray[np.object_]:
    """Return the power series ``t`` up to ``t**(length - 1)``; what is computed from it has Taylor balls."""
    length = as_count(length, "length")
    flint.ctx.cap = max(flint.ctx.cap, length)
    t = np.empty((), dtype=object)  # without dimensions, so that it broadcasts against arrays of balls
    t[()] = flint.arb_series([0, 1], length)
    return t


def power_series(coefficients: Sequence[Any]) -> Any:
    """Return the power series of these balls, known as far as they go."""
    return flint.arb_series(list(coefficients), len(coefficients))


def ball_matrix(rows: Sequence[Sequence[Any]]) -> Any:
    """Return a matrix of balls; a product of two is faster than one of arrays, and ``entries`` lists it by rows."""
    return flint.arb_mat([list(row) for row in rows])


def coefficient(series: Any, k: int) -> Any:
    """Return the ball that multiplies ``t**k``."""
    if not hasattr(series, "__getitem__") or isinstance(series, (str, Mapping)):
        raise TypeError(f"series: expected a power series, got {type(series).__name__}")
    return series[as_count(k, "k", least=0)]


def hull(ball: Any, kind: Kind = Kind.CERTIFIED) -> Interval:
    """Return the interval around a ball, or those around an array; a ball that is not finite is unknown."""
    if isinstance(ball, np.ndarray) and ball.ndim:
        several: Interval = _hulls(ball, kind)  # an array of them is used as one is
        return several
    try:
        finite = ball.is_finite()
    except AttributeError as error:
        raise TypeError(f"ball: expected a ball, got {type(ball).__name__}") from error
    if not finite:
        return Interval.unknown(kind)
    lo, hi = float(ball.lower()), float(ball.upper())  # these round to nearest, hence one step outward
    right = kind if type(kind) is Kind else as_kind(kind)
    return made(math.nextafter(lo, -math.inf), math.nextafter(hi, math.inf), right)


def _hulls(values: NDArray[np.object_], kind: Kind) -> Any:
    from theory.evidence.intervals import Intervals  # noqa: PLC0415  which this module does not need otherwise

    lo, hi = ball_ends(values)
    return Intervals(lo, hi, kind)


def ball_ends(values: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the intervals around an array of balls, infinite where one is not finite."""
    each = values.ravel().tolist()
    for ball in each:
        if not hasattr(ball, "is_finite"):
            raise TypeError(f"ball: expected a ball, got {type(ball).__name__}")
    known = [ball.is_finite() for ball in each]
    lo = [float(ball.lower()) if finite else -math.inf for ball, finite in zip(each, known, strict=True)]
    hi = [float(ball.upper()) if finite else math.inf for ball, finite in zip(each, known, strict=True)]
    with np.errstate(all="ignore"):
        below = np.nextafter(np.array(lo, dtype=np.float64), -np.inf)  # they round to nearest, hence a step outward
        above = np.nextafter(np.array(hi, dtype=np.float64), np.inf)
    return below.reshape(values.shape), above.reshape(values.shape)


def ends(values: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return midpoints of an array of balls as floats, and for each a bound on its distance to the truth."""
    if not isinstance(values, np.ndarray) or values.dtype != object:
        raise TypeError(f"values: expected an array of balls, got {type(values).__name__}")
    mid, radius = np.empty(values.shape), np.empty(values.shape)
    for at, ball in np.ndenumerate(values):
        inside = hull(ball)
        mid[at] = inside.mid
        radius[at] = math.nextafter(max(inside.hi - mid[at], mid[at] - inside.lo), math.inf)
    return mid, radius


def _compiled(expression: str, names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Any]:
    """Read a plain expression; a decimal in it is the exact decimal, not the float nearest to it."""

    def fail(node: ast.AST) -> ValueError:
        return ValueError(
            f"expression: expected numbers, {', '.join(names)}, + - * / **, or {', '.join(_FUNCTIONS)}; "
            f"got {ast.get_source_segment(expression.strip(), node)!r}"
        )

    def build(node: ast.AST) -> Callable[[Mapping[str, Any]], Any]:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            text = ast.get_source_segment(expression.strip(), node) or ""
            exact = _ball(node.value if type(node.value) is int else Decimal(text))
            return lambda _: exact
        if isinstance(node, ast.Name) and node.id in names:
            name = node.id
            return lambda box: box[name]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = build(node.operand)
            return lambda box: -inner(box)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _FUNCTIONS
            and len(node.args) == 1
            and not node.keywords
        ):
            method = node.func.id
            argument = build(node.args[0])
            return lambda box: getattr(argument(box), method)()
        if isinstance(node, ast.BinOp):
            return operation(node)
        raise fail(node)

    def operation(node: ast.BinOp) -> Callable[[Mapping[str, Any]], Any]:
        left = build(node.left)
        if isinstance(node.op, ast.Pow):
            if not (isinstance(node.right, ast.Constant) and type(node.right.value) is int):
                raise fail(node)
            power = node.right.value
            if power > 0:  # FLINT's own power of a ball around zero is NaN
                return lambda box: math.prod([left(box)] * power)
            return lambda box: left(box) ** power
        right = build(node.right)
        match node.op:
            case ast.Add():
                return lambda box: left(box) + right(box)
            case ast.Sub():
                return lambda box: left(box) - right(box)
            case ast.Mult():
                return lambda box: left(box) * right(box)
            case ast.Div():
                return lambda box: left(box) / right(box)
        raise fail(node)

    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"expression: expected a plain formula, got {expression!r}") from error
    return build(tree.body)


def sup_over(expression: str, *, tolerance: float = 1e-6, boxes: int = 200_000, **box: tuple[Any, Any]) -> Interval:
    """Enclose the supremum of ``expression`` over a box, by branch and bound in ball arithmetic.

    Parameters
    ----------
    expression : str
        A plain formula in the names of ``box``; write it so that each variable occurs as rarely as possible.
    tolerance : float, default 1e-6
        Width at which to stop, relative to the supremum (absolute below one).
    boxes : int, default 200_000
        Most boxes to examine; if they run out, the interval is wider and still valid.
    **box : tuple of two of int, str, Fraction or float
        Closed range of each variable, at most four; a text is an exact decimal.

    Returns
    -------
    Interval
        Kind ``PROVED``. The lower end is attained at a point of the box, the upper bounds every box of an exact
        tiling.

    Raises
    ------
    ValueError
        If the expression or a range is malformed, or the expression is not finite at a point of the box.
    ArithmeticError
        If the boxes examined do not tile the domain, which would be a fault of this function.
    """
    if not 1 <= len(box) <= 4:
        raise ValueError(f"box: expected one to four variables, got {len(box)}")
    try:
        domain = tuple((_rational(a), _rational(b)) for a, b in box.values())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"box: expected finite numbers for every variable, got {box}") from error
    except TypeError as error:
        raise TypeError(f"box: expected two numbers for every variable, got {box}") from error
    as_text(expression, "expression")
    tolerance = as_positive(tolerance, "tolerance")
    boxes = as_count(boxes, "boxes")
    if any(not a < b for a, b in domain):
        raise ValueError(f"box: expected lo < hi for every variable, got {box}")
    with precision():
        return _branch_and_bound(_compiled(expression, tuple(box)), tuple(box), domain, tolerance, boxes)


_SPECK = flint.fmpq(1, 2**64)  # taken: the side of a box, as a part of the domain's, at which a supremum is unbounded
Box = tuple[tuple[Any, Any], ...]  # rational numbers of FLINT's, ten times as fast as those of Python


def _rational(value: Any) -> Any:
    return flint.fmpq(*Fraction(value).as_integer_ratio())


def _volume(box: Box) -> Any:
    return math.prod((b - a for a, b in box), start=flint.fmpq(1))


def _branch_and_bound(
    f: Callable[..., Any], names: tuple[str, ...], domain: Box, tolerance: float, boxes: int
) -> Interval:
    def bounds(part: Box) -> tuple[float, float]:
        over = hull(f({n: flint.arb(a).union(flint.arb(b)) for n, (a, b) in zip(names, part, strict=True)}))
        point = hull(f({n: flint.arb((a + b) / 2) for n, (a, b) in zip(names, part, strict=True)}))
        if math.isinf(point.hi):
            raise ValueError(
                f"expression: expected a finite value at {[str((a + b) / 2) for a, b in part]}, got {point}"
            )
        return point.lo, over.hi

    order = itertools.count()  # breaks ties, so that boxes are never compared
    best, top = bounds(domain)
    leaves = [(-top, next(order), domain)]  # a heap: the box of the largest upper bound is first
    for _ in range(boxes):
        if -leaves[0][0] - best <= tolerance * max(1.0, abs(best)):
            break
        if math.isinf(leaves[0][0]) and _volume(leaves[0][2]) < _volume(domain) * _SPECK ** len(names):
            break  # unbounded however small the box: splitting on would never end
        part = heapq.heappop(leaves)[2]
        axis = max(range(len(names)), key=lambda k: (part[k][1] - part[k][0]) / (domain[k][1] - domain[k][0]))
        a, b = part[axis]
        for half in ((a, (a + b) / 2), ((a + b) / 2, b)):
            child = (*part[:axis], half, *part[axis + 1 :])
            low, high = bounds(child)
            best = max(best, low)
            heapq.heappush(leaves, (-high, next(order), child))
    if sum((_volume(leaf[2]) for leaf in leaves), start=flint.fmpq(0)) != _volume(domain):
        raise ArithmeticError("the boxes examined do not tile the domain")
    return Interval(best, max(best, -leaves[0][0]), Kind.PROVED)
