"""Real tokens for the claims that speak of them: the photograph's patches, or a file of the reader's own."""

from pathlib import Path

import numpy as np
import pytest

from theory._validate import as_points
from theory.attention import photograph
from theory.evidence import stream
from theory.evidence.plugin import foreign_data

DIM = 16


def pytest_addoption(parser):
    group = parser.getgroup("attention-theory")
    group.addoption("--tokens", metavar="FILE.npy", help="decide on tokens of your own: a finite array of shape (n, d)")


def pytest_configure(config):
    path = config.getoption("--tokens")
    config.stash[foreign_data] = path is not None
    if path is not None:
        if config.getoption("--record"):
            raise pytest.UsageError("--record: expected the suite's own tokens, got --tokens")
        load(path)


def load(path):
    """Read a token file, or say what is wrong with it before anything runs."""
    try:
        stored = np.load(Path(path), allow_pickle=False)
    except OSError as error:
        raise pytest.UsageError(f"--tokens {path}: {error.strerror}") from error
    except (ValueError, EOFError) as error:
        raise pytest.UsageError(f"--tokens {path}: expected a .npy file of one array of numbers") from error
    try:
        return as_points(stored, "tokens")
    except (ValueError, TypeError) as error:
        raise pytest.UsageError(f"--tokens {path}: {error}") from error


@pytest.fixture
def tokens(request):
    """Tokens of shape (n, d)."""
    path = request.config.getoption("--tokens")
    return photograph.tokens(DIM, stream("photograph", 0)) if path is None else load(path)
