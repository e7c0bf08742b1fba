r"""Tokens of equal overlaps: one equation, with closed forms.

If all overlaps are :math:`\rho`, they stay equal. With the gap :math:`g = 1 - \rho`, whose digits are kept,
:math:`A = (n - 1)\rho + 1` and :math:`q = 1/(e^{\beta g} + n - 1)`,

.. math:: \dot\rho = 2 q\,g A \quad\text{(SA)}, \qquad \dot\rho = \tfrac2n e^{\beta\rho} g A \quad\text{(USA)}.

Both are integrated by partial fractions: the time from gap :math:`g_0` to :math:`g` is an expression in exponential
integrals, :math:`t = \frac12\log(g_0/g) + \ldots`, so :math:`g \sim K e^{-2t}` (SA) and :math:`K e^{-2e^\beta t}`
(USA) with K in closed form.

SA on the sphere is Post-LN. Under Pre-LN the tokens have a norm r as well, :math:`\dot\rho` is divided by it, and
:math:`\dot r = (1 + (n-1)q'\rho)` with the softmax weights. In the clock :math:`ds = dt/r` the overlap moves as under
Post-LN, and :math:`r\sqrt A = r_0\sqrt{A_0}\,e^s` exactly. Hence :math:`t - r \to D` and

.. math:: g = C t^{-2}\bigl(1 + 2D/t + O(t^{-2})\bigr), \qquad C = K r_0^2 A_0/n, \qquad
   D = -r_0 + \int_{\rho_0}^1 r\,\frac{n - 1}{2A}\,d\rho .

References
----------
B. Geshkovski, C. Letrouit, Y. Polyanskiy, P. Rigollet, A mathematical perspective on transformers, *Bulletin of the
American Mathematical Society* 62 (2025), section 6 (the equation of the overlap).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from theory._validate import as_count, as_flag, as_number, as_positive, as_real
from theory.evidence import as_intervals, exact, is_enclosed, within
from theory.evidence.roundoff import gamma

Array = NDArray[np.float64]
_NODES = 64  # taken: in the variables used no singularity is near; 64 nodes of Gauss leave nothing above rounding
_WEAK = 1e-300  # of beta: below, its products with gaps lose digits, and what it does is of its own size
_TERMS = 200  # taken: of the series of Ein, whose terms fall below the first 1e-17 before that for arguments up to 40
_LARGEST = 40.0  # of beta times a gap, so that neither exponentials nor series leave what _TERMS covers
_ROUNDINGS = 256  # derived: more than the terms of a series and what each of them rounds
_HALVINGS = 70  # derived: halving a bracket of a few hundred down to its last digit
_SMALLEST = 1e-150  # taken: of gaps and inverse norms, whose squares are normal numbers
_TALLEST = 600.0  # taken: of the logarithm of a constant, which is multiplied on
_LAST = math.log(1e-300)  # taken: of the smallest gap that is looked for


@dataclass(frozen=True, slots=True)
class Equiangular:
    """The motion of equiangular tokens under SA, or USA unless ``normalised``.

    Parameters
    ----------
    tokens : int
        Their number n, at least two.
    beta : float
        Inverse temperature, from 0 to 20.
    normalised : bool, default True
        Whether the rows of weights are divided by their sums.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; in the methods, if a gap is not between 0 and ``n / (n - 1)``, the largest that
        equal overlaps allow.
    """

    tokens: int
    beta: float
    normalised: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", as_count(self.tokens, "tokens", least=2))
        object.__setattr__(self, "beta", as_number(self.beta, "beta"))
        object.__setattr__(self, "normalised", as_flag(self.normalised, "normalised"))
        if not 0.0 <= self.beta <= _LARGEST / 2.0:
            raise ValueError(f"beta: expected a number from 0 to {_LARGEST / 2.0:g}, got {self.beta}")

    def shrinking(self, gap: ArrayLike) -> Array:
        r"""Return :math:`-\dot g/g` at gaps of any shape."""
        g = self._gap(gap)
        spread = self.tokens - (self.tokens - 1) * g
        if self.normalised:
            rate: Array = 2.0 * spread / (np.exp(self.beta * g) + (self.tokens - 1))
        else:
            share = exact(2.0) / self.tokens if is_enclosed(g) else 2.0 / self.tokens
            rate = share * np.exp(self.beta * (1.0 - g)) * spread
        return rate

    def rate(self, gap: ArrayLike) -> Array:
        r"""Return :math:`\dot\rho` at gaps of any shape."""
        rate: Array = self._gap(gap) * self.shrinking(gap)
        return rate

    def outward(self, gap: ArrayLike) -> Array:
        r"""Return :math:`\dot r`, what attention adds to the norm of a token under Pre-LN."""
        g = self._gap(gap)
        if not self.normalised:
            raise ValueError("normalised: expected softmax rows for Pre-LN, got none")
        speed: Array = 1.0 - (self.tokens - 1) * g / (np.exp(self.beta * g) + (self.tokens - 1))
        return speed

    def post_norm(self, log_gap: ArrayLike, /) -> Array:
        r"""Return the velocity of :math:`\log g` on the sphere: a field for :func:`~.flows.flow`."""
        speed: Array = -self.shrinking(np.exp(as_real(log_gap, "log_gap")))
        return speed

    def pre_norm(self, state: ArrayLike, /) -> Array:
        r"""Return the velocity of :math:`(\log g, \log r)` under Pre-LN, shape (2,) or (2, ...)."""
        log_gap, log_norm = as_real(state, "state")
        gap, slower = np.exp(log_gap), np.exp(-log_norm)
        return np.stack([-self.shrinking(gap) * slower, self.outward(gap) * slower])

    def time(self, gap: Any, start: float = 1.0) -> Any:
        r"""Return the time from the gap ``start`` to gaps of any shape, in closed form; enclosed if a gap is exact."""
        if is_enclosed(gap):
            found = self.time(_middle(gap), start)
            return within(found, self._rounding(start))
        g = self._gap(gap)
        g0 = self._start(start)
        lag = self._lag(g, g0)
        with np.errstate(over="ignore"):
            ratio = g0 / g
        logarithm = np.where(np.isinf(ratio), math.log(g0) - np.log(g), np.log(ratio))
        if self.normalised:
            taken: Array = 0.5 * (logarithm + lag / self.tokens)
            return taken
        return 0.5 * math.exp(-self.beta) * (logarithm + lag)

    def gap(self, times: ArrayLike, start: float = 1.0) -> Array:
        """Return the gaps at times of any shape, by bisection of :meth:`time` in the logarithm of the gap.

        Enclosed if the times are exact: a time that is off moves the logarithm by its rate, at most two, times
        :math:`exp(beta)` without normalisation.
        """
        if is_enclosed(times):
            rate = 2.0 if self.normalised else 2.0 * math.exp(self.beta)
            off = math.expm1(rate * self._rounding(start)) + gamma(_ROUNDINGS)
            middle = self.gap(_middle(times), start)
            return within(middle, off * middle)  # type: ignore[no-any-return]
        t = as_real(times, "times")
        if not (t >= 0.0).all():
            raise ValueError(f"times: expected non-negative times, got {t.min()}")
        if t.size == 0:
            raise ValueError(f"times: expected at least one time, got shape {t.shape}")
        high = np.full(t.shape, math.log(self._start(start)))
        low = np.full(t.shape, _LAST)
        if (t > float(self.time(math.exp(_LAST), start))).any():
            raise ValueError(f"times: expected times before the gap leaves float64, got {t.max()}")
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            early = self.time(np.exp(middle), start) < t
            low, high = np.where(early, low, middle), np.where(early, middle, high)
        found: Array = np.exp(0.5 * (low + high))
        return found

    def log_prefactor(self, start: Any = 1.0) -> Any:
        r"""Return :math:`\log K` for :math:`g \sim K e^{-2t}`, or :math:`K e^{-2e^\beta t}` of USA.

        Enclosed if the gap is exact.
        """
        if is_enclosed(start):
            first = float(_middle(start))
            return within(self.log_prefactor(first), self._rounding(first))
        g0 = self._start(start)
        lag = float(self._lag(np.zeros(()), g0))
        return math.log(g0) + (lag / self.tokens if self.normalised else lag)

    def pre_norm_tail(self, start: Any = 1.0, norm: float = 1.0) -> tuple[Any, Any]:
        r"""Return :math:`C, D` in :math:`g = C t^{-2}(1 + 2D/t + O(t^{-2}))` under Pre-LN, from tokens of one norm.

        Enclosed if the gap is exact.
        """
        if is_enclosed(start):
            first = float(_middle(start))
            slack = 2.0 * self._rounding(first)
            c, d = (within(value, slack * (1.0 + abs(value))) for value in self.pre_norm_tail(first, norm))
            return c, d
        g0 = self._start(start)
        r0 = as_positive(norm, "norm")
        n = self.tokens
        if not g0 > _SMALLEST:
            raise ValueError(f"start: expected a gap above {_SMALLEST:g}, got {g0}")
        if not r0 < 1.0 / _SMALLEST:
            raise ValueError(f"norm: expected one whose square float64 can hold, got {r0}")
        if not self.normalised:
            raise ValueError("normalised: expected softmax rows for Pre-LN, got none")
        log_k = self.log_prefactor(g0)
        if log_k > _TALLEST:
            raise ValueError(f"beta: expected a constant that float64 holds, got exp({log_k:g})")
        spread = n - (n - 1) * g0
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = 0.5 * g0  # nearer gaps in the root of the gap, larger ones in the logarithm of A, which may be small
        w = 0.5 * math.sqrt(half) * (1.0 + nodes)
        near = np.exp(self._lag(w * w, g0) / (2.0 * n)) * (n - (n - 1) * w * w) ** -1.5
        low, high = math.log(spread), math.log(n - (n - 1) * half)
        a = np.exp(low + 0.5 * (high - low) * (1.0 + nodes))
        g = (n - a) / (n - 1)
        far = np.exp(self._lag(g, g0) / (2.0 * n)) / (2.0 * (n - 1) * np.sqrt(a * g))
        integral = 0.5 * (math.sqrt(half) * float(weights @ near) + (high - low) * float(weights @ far))
        delay = -r0 + r0 * math.sqrt(spread * g0) * (n - 1) * integral
        return math.exp(log_k) * r0**2 * spread / n, delay

    def _rounding(self, start: float) -> float:
        r"""Bound what rounds in closed forms of gaps up to ``start``.

        Their terms are at most 30 times :math:`e^{\beta\max(g_0, 1)}`, and each sums less than ``_TERMS``.
        """
        return gamma(_ROUNDINGS) * 30.0 * math.exp(self.beta * max(start, 1.0))

    def _lag(self, g: Array, g0: float) -> Array:
        """Return what the time has beyond the logarithm, finite at gap zero, in units of each kind."""
        n, b = self.tokens, self.beta
        edge = n / (n - 1)
        turn = np.log((edge - g) / (edge - g0))
        lag: Array = _ein(b * np.asarray(g0)) - _ein(b * g)
        lag = lag + (turn if b < _WEAK else math.exp(b * edge) * (_e1(b * (edge - g0)) - _e1(b * (edge - g))))
        return lag + (n - 1) * turn if self.normalised else lag

    def _start(self, start: float) -> float:
        return float(self._gap(as_number(start, "start"), "start"))

    def _gap(self, gap: ArrayLike, name: str = "gap") -> Array:
        g = as_real(gap, name)
        ends = as_intervals(g)
        if ends.size == 0:
            raise ValueError(f"{name}: expected at least one number, got shape {ends.shape}")
        if not ((ends.lo > 0.0) & (ends.hi < self.tokens / (self.tokens - 1))).all():
            raise ValueError(
                f"{name}: expected numbers above 0 and below n/(n - 1), got {ends.lo.min()} to {ends.hi.max()}"
            )
        return g


def _middle(gap: Any) -> Array:
    """Return gaps that are known exactly, the only ones of which closed forms are enclosed."""
    ends = as_intervals(gap)
    if not ends.is_exact:
        raise ValueError("gap: expected exact numbers, got a width")
    return ends.lo


def _ein(x: Array) -> Array:
    r"""Return :math:`\int_0^x (e^u - 1)/u\,du`, whose terms are all positive."""
    term = np.ones_like(x, dtype=np.float64)
    total = np.zeros_like(x, dtype=np.float64)
    for k in range(1, _TERMS):
        term = term * x / k
        total = total + term / k
        if (term <= total * 2.0**-60).all():
            break
    return total


def _e1(x: ArrayLike) -> Array:
    value: Array = special.exp1(np.asarray(x, dtype=np.float64))
    return value
