"""Two clusters as they are printed, in ball arithmetic: how long they take, and where they meet."""

from theory.evidence import at_least, at_most, ball
from theory.evidence.quadrature import integral_over


def ratio_of(a, b):
    """The sum of the ratios of two masses, to which the speed of a pair far apart is proportional."""
    return a / b + b / a


def equal(a, b):
    """The same for equal masses."""
    return 2


def delay(x, beta, a, b, *, top=0, normalised=True, cosine=1, ratio=ratio_of, both=1):
    """The time per angle that two clusters at the angle x take, times exp(-top); a ball or a power series."""
    c = cosine * x.cos()
    if not normalised:
        return (-beta * c - top).exp() / ((a + b) * x.sin())
    hidden, shown, r = (beta * (1 - c) - top).exp(), (beta * (c - 1)).exp(), ratio(a, b)
    # (E E + r E + 1) / (r E + 2) as E (1 + r / E + 1 / E E) / (r + 2 / E), which keeps series narrow
    return hidden * (1 + r * shown + shown * shown) / (both * (r + 2 * shown) * x.sin())


def log_elapsed(start, end, beta, masses=("1/2", "1/2"), **changes):
    """The logarithm of the time from angle ``start`` to ``end``; a ball."""
    first, last, b = ball(start), ball(end), ball(beta)
    m = [ball(mass) for mass in masses]
    top = delay(first, b, *m, **changes).log()  # so that the integral is of order one
    return integral_over(lambda x: delay(x, b, *m, top=top, **changes), last, first).log() + top


def travelled(start, beta, masses, end=0, *, squares=True):
    """The angle that the first cluster travels from ``start`` to ``end``; a ball, or by the law of the barycentre."""
    first, b = ball(start), ball(beta)
    m, n = (ball(mass) for mass in masses)
    if not squares:
        return n / (m + n) * (first - ball(end))

    def part(x):
        shown = (b * (x.cos() - 1)).exp()
        return n * (n + m * shown) / (m * m + n * n + 2 * m * n * shown)

    return integral_over(part, ball(end), first)


def near(found, claimed, slack, **case):
    """Find that a number is the claimed one up to ``slack``, from both sides; in units of one.

    As a bound on the distance this would be the same, but a bound far below the digits of what is measured says nothing
    about how tight it is.
    """
    yield at_most(found, claimed + slack, scale=1, **case)
    yield at_least(found, claimed - slack, scale=1, **case)
