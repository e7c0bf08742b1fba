"""A figure to play with: its study, its module, its evidence."""

from types import SimpleNamespace

import numpy as np

from theory.evidence import Claim, Interval, Kind, Run, Table, Verdict, bug, constant, decide, equals, verifies
from theory.evidence.record import write
from theory.figures import verified_table
from theory.figures._style import style

ROOT = 20070


def toy_study(*, moved=0.0, width=1e-6, rows=8):
    """Make a study named ``toy`` whose intervals hold the truth 2x, off by ``moved``."""

    def toy(*, scale, root):
        x = np.arange(1.0, rows + 1.0)
        y = [Interval.within(2.0 * value + moved, width) for value in x.tolist()]
        return Table(Kind.NUMERIC, {"x": "1", "y": "1"}, {"x": x, "y": y})

    return toy


def toy_module(study=None, claims=("toy.double",)):
    def draw(table):
        figure = style.canvas(style.SINGLE, 2.0)
        figure.subplots().plot(table["x"], table["y.lo"])
        return figure

    return SimpleNamespace(TITLE="a toy", STUDY=study or toy_study(), CLAIMS=claims, draw=draw)


def lay(folder, *, factor=2.0, claim="toy.double", scale="quick", root=ROOT, study=None, finds=(Verdict.SUPPORTED,)):
    """Judge the toy and write its evidence; another ``factor`` makes a claim that is refuted."""

    def check(run, *, factor=factor, power=1):
        table = run.study(study or toy_study())
        for x, y in zip(table["x"].tolist(), table.intervals("y"), strict=True):
            yield equals(y, factor * x**power)

    twins = constant("triple", "the factor is three", factor=3.0), bug("square", "the argument is squared", power=2)
    verification = verifies(Claim(claim, "the double is twice", "$y = 2x$", finds=finds), *twins)(check)
    write(folder, decide(verification, Run(claim, scale=scale, root=root)), "verify/test_toy.py")


def verify(tmp_path, module, *, scale="quick", root=ROOT, folders=()):
    return verified_table.verify_table(
        "toy", module, scale=scale, root=root, evidence=tmp_path / "evidence", folders=folders
    )


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}
