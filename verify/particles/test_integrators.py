"""The Runge-Kutta methods of the room on problems of which the solution is known."""

from dataclasses import replace
from fractions import Fraction

from theory.evidence import Claim, ball, bug, constant, equals, limit, order, verifies
from theory.particles import METHODS, RK4, SPHERE, studies
from theory.particles.studies import settings
from verify.textbook import balls, hull

SHORT = replace(RK4, b=tuple(w * Fraction(9999, 10000) for w in RK4.b))
LATE = replace(RK4, c=(*RK4.c[:3], RK4.c[2]))


def ending(problem, at, late=1):
    """The solution that the force keeps, at the end of the runs or later by a factor, as it is printed, in balls."""
    u = balls(problem.centre[at[0]]).copy()
    for k, phase in enumerate(problem.phase[at[0]]):
        angle = ball(problem.frequency) * ball(settings.END) * ball(late) + ball(phase)
        u[k] += ball(problem.swing) * angle.sin()
    return hull(u[at[1]] / sum(x * x for x in u).sqrt() if problem.space is SPHERE else u[at[1]])


@verifies(
    Claim(
        "flow.order",
        "each method has its order on attention under a force that makes the solution known, in the plane, in angles, on the sphere",
        r"$|x_h(1) - x^*(1)| \sim h^p$, $x_h(1) \to x^*(1)$ for $\dot x = F(x) + \dot x^*(t) - F(x^*(t))$, on the sphere in charts $(x + v)/|x + v|$: $p = 1, 2, 4, 6$",
        assumptions=("fixed steps", "a smooth field"),
        cites=("hairer1993", "hairer2006"),
        source_status=("recalled", "derived"),
    ),
    constant("one-more", "each method has one order more", more=1),
    bug("weights", "the weights add up to 0.9999", methods=(SHORT,)),
    bug("node", "the last stage lies at half the step", methods=(LATE,)),
    constant("late", "they end where the solution is one per cent later", late=Fraction(101, 100)),
)
def test_order(run, *, methods=METHODS, more=0, late=1):
    table = run.study(studies.orders) if methods is METHODS else run.study(studies.orders, methods=methods)
    for name, problem in settings.PROBLEMS.items():
        exact = ending(problem, settings.OBSERVED[name], late)
        for method in methods:
            values = table.where(problem=name, method=method.name).intervals("value")[-4:]
            errors = [value - exact for value in values]
            case = {"problem": name, "method": method.name}
            yield equals(order(errors), method.order + more, scale=1, part="order", **case)
            # the methods differ by eight digits in what they leave of the limit
            yield equals(limit(values, order=method.order), exact, scale=1, part=f"limit, {method.name}", **case)
