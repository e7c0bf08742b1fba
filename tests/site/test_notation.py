"""The list of symbols: every row is used, is converted, and does not contradict another."""

import json
import re
from pathlib import Path

import pytest

from theory.site.formulas import lines_of, typeset
from theory.site.notation import Symbol, symbols, symbols_in

EVIDENCE = Path(__file__).parents[2] / "verify" / "evidence"
STATEMENTS = [
    (whole["id"].partition(".")[0], whole["statement"])
    for path in EVIDENCE.glob("*.json")
    for whole in [json.loads(path.read_text(encoding="utf-8"))]
]


@pytest.mark.parametrize("symbol", symbols(), ids=lambda symbol: f"{symbol.plain} {' '.join(symbol.subjects)}")
def test_every_symbol_stands_in_statements_of_all_its_subjects(symbol):
    using = {subject for subject, text in STATEMENTS if symbol.pattern.search(text)}
    assert set(symbol.subjects) <= using
    assert using
    assert typeset(symbol.symbol)
    assert typeset(symbol.meaning)


def test_no_symbol_means_two_things_in_one_subject():
    for subject in {subject for subject, _ in STATEMENTS}:
        names = [each.plain for each in symbols() if not each.subjects or subject in each.subjects]
        assert len(names) == len(set(names)), subject


@pytest.mark.parametrize(
    ("text", "subject", "names"),
    [
        (r"vanishes at $K_\#$", "noisy", []),  # a threshold
        (r"$(\Gamma_\mu)_\# \mu$", "markov", ["Gamma_mu", "f_#"]),
        (r"$|\Delta p_i| \le u$", "entmax", []),  # an error
        (r"$\max_\Delta F$", "entmax", ["Delta"]),
        (r"$\max_{p \in \Delta}$", "loss", ["Delta"]),
        (r"$\Delta h$, $\Delta_g h$", "heat", ["Delta_g", "Delta"]),
    ],
)
def test_a_sign_that_means_something_else_is_not_explained(text, subject, names):
    assert [symbol.plain for symbol in symbols_in(text, subject)] == names


def test_a_formula_says_under_the_pointer_what_its_symbols_mean():
    known = symbols_in(r"$W_1(\mu) \le x$ and $y$", "lipschitz")
    (line,) = lines_of(r"$W_1(\mu) \le x$ and $y$", told={each.pattern: each.told for each in known})
    assert line.startswith('<span class="sym" title="W_p: Wasserstein distance of order p, ')
    assert line.count("<span") == 1


@pytest.mark.parametrize("symbol", symbols(), ids=lambda symbol: f"{symbol.plain} {' '.join(symbol.subjects)}")
def test_what_a_title_says_is_whole(symbol):
    assert not re.search(r"[\\${}\u2026]", symbol.told)
    assert " ".join(symbol.told.split()) == symbol.told


def test_a_sign_that_no_title_can_show_is_named():
    strange = Symbol("$x$", "x", re.compile("x"), (), r"the root $\sqrt x$ of it")
    with pytest.raises(ValueError, match=r"meaning: expected commands that have a sign, got sqrt in '.*sqrt x'"):
        _ = strange.told


def test_most_statements_explain_a_symbol():
    told = [bool(symbols_in(text, subject)) for subject, text in STATEMENTS]
    assert sum(told) > 0.6 * len(told)


def test_titles_have_no_tex():
    assert not [each.told for each in symbols() if re.search(r"[$\\{}]", each.told)]
