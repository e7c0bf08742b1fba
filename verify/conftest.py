"""Real tokens for the claims that speak of them: the photograph's patches, or a file of the reader's own."""

import sys
from pathlib import Path

import pytest

from theory.evidence.plugin import foreign_data, given

DIM = 16


def pytest_addoption(parser):
    group = parser.getgroup("attention-theory")
    group.addoption("--tokens", metavar="FILE.npy", help="decide on tokens of your own: a finite array of shape (n, d)")


def pytest_configure(config):
    path = config.getoption("--tokens")
    if path is not None:
        if given(config, "record"):
            raise pytest.UsageError("--record: expected the suite's own tokens, got --tokens")
        load(path)
    if "hypothesis" not in sys.modules and config.pluginmanager.has_plugin("hypothesispytest"):
        # nothing here draws examples, and that plugin would load it at the end to say so, which takes a second
        config.pluginmanager.unregister(name="hypothesispytest")


def load(path):
    """Read a token file, or say what is wrong with it before anything runs."""
    import numpy as np  # noqa: PLC0415  only then needed

    from theory._validate import as_points  # noqa: PLC0415

    try:
        stored = np.load(Path(path), allow_pickle=False)
    except OSError as error:
        raise pytest.UsageError(f"--tokens {path}: {error.strerror or error}") from error
    except Exception as error:  # a header that is damaged may raise anything
        raise pytest.UsageError(f"--tokens {path}: expected a .npy file of one array of numbers") from error
    if not isinstance(stored, np.ndarray):
        raise pytest.UsageError(f"--tokens {path}: expected a .npy file of one array of numbers")
    try:
        return as_points(stored, "tokens")
    except (ValueError, TypeError) as error:
        raise pytest.UsageError(f"--tokens {path}: {error}") from error


@pytest.fixture
def tokens(request):
    """Tokens of shape (n, d)."""
    path = request.config.getoption("--tokens")
    if path is not None:
        request.node.stash[foreign_data] = f"--tokens {path}"
        return load(path)
    from theory.attention import photograph  # noqa: PLC0415  only then needed
    from theory.evidence import stream  # noqa: PLC0415

    return photograph.tokens(DIM, stream("photograph", 0))


def pytest_terminal_summary(terminalreporter, config):
    path = config.getoption("--tokens")
    told = [dict(report.user_properties) for report in terminalreporter.getreports("")]
    if path is not None and not any(facts.get("theory-data") for facts in told):
        terminalreporter.write_line(f"--tokens {path}: used by no claim of this run")
