"""Hypothesis profiles, and floating-point faults as errors, for every test below this folder.

``ci`` is the default and draws the same examples every time; ``pytest --hypothesis-profile audit`` draws fresh ones.
"""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("audit", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Let no file of tests be skipped because something that it imports is gone; an extra is asked for by name."""
    report = yield
    if report.outcome == "skipped" and "unable to import module" in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: expected a file that can be imported, got one that cannot"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    with np.errstate(over="raise", divide="raise", invalid="raise", under="ignore"):
        return (yield)
