"""Sentences of numerals: nobody sees what comes later, no test number is known, and what counts as a fault."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")
pytest.importorskip("num2words")

from theory.evidence.streams import stream  # noqa: E402  as all that needs PyTorch
from theory.experiments.arms import ARMS, experiment, find_arm  # noqa: E402
from theory.experiments.arms.lessons import SEARCH  # noqa: E402
from theory.experiments.arms.network import sparse_rows  # noqa: E402
from theory.experiments.arms.plan import PLAIN  # noqa: E402
from theory.experiments.arms.sentences import (  # noqa: E402
    END,
    SOURCE,
    TARGET,
    TOGETHER,
    Sentences,
    leave_out,
    symbols,
    task_sizes,
    write_pairs,
)
from theory.experiments.arms.training import COLUMNS  # noqa: E402
from theory.experiments.arms.translating import Translators, hide, judge, tensors, translate, visible  # noqa: E402
from theory.experiments.data import numerals  # noqa: E402

NAMES = [arm.name for arm in ARMS]
RUNS = 3


def networks_of(name, *, runs=RUNS, first=0):
    starts = [stream("tests.sentences.start", first + run) for run in range(runs)]
    inner = [stream("tests.sentences.inner", first + run) for run in range(runs)]
    return Translators(find_arm(name), task_sizes(), starts, inner, dtype=torch.float64)


def drawn(runs=RUNS, first=0, count=4):
    numbers = [stream("tests.sentences", first + run).integers(numerals.LARGEST + 1, size=count) for run in range(runs)]
    each = [write_pairs(own.tolist()) for own in numbers]
    return tensors(*(np.stack(side) for side in zip(*each, strict=True)))


def rows_of(symbols_of_runs):
    return {row.tobytes() for run in symbols_of_runs for row in run}


def test_symbols_are_those_of_the_grammar_and_fit():
    numbers = [0, 1, 1000, 71_071, 80_080, 97_997, 99_999, *stream("tests.sentences", 9).integers(100_000, size=300)]
    sources, targets = write_pairs(map(int, numbers))  # a symbol that is not known, or a row too long, would raise
    assert targets.max() < symbols()["<start>"]
    assert {symbols()[f"<{language}>"] for language in numerals.LANGUAGES} == set(sources[:, 0])
    assert (np.count_nonzero(sources, axis=1).max(), np.count_nonzero(targets, axis=1).max()) == (SOURCE, TARGET - 1)


def test_every_number_comes_in_both_languages_with_its_own_translation():
    sources, targets = write_pairs([2081])
    names = dict(zip(symbols().values(), symbols(), strict=True))
    said = [[names[number] for number in row if number != END] for row in (*sources, *targets)]
    assert said[0] == ["<de>", "two", "thousand", "and", "eighty", "-one"]
    assert said[1] == ["<fr>", *said[0][1:]]
    assert said[2:] == [["zwei", "tausend", "ein", "und", "achtzig"], ["deux", "mille", "quatre", "-vingt", "-un"]]


def test_no_number_of_validation_is_in_a_training_or_a_test():
    final = Sentences("numerals", (0, 1)).sets()
    search = Sentences("numerals", (SEARCH, SEARCH + 1), validation=True).sets()
    held = rows_of(search["test"][0])
    assert len(held) == 300  # the same for both
    for known in (final["train"], final["test"], search["train"]):
        assert not held & rows_of(known[0])
    for run in range(2):
        assert not rows_of(final["train"][0][run : run + 1]) & rows_of(final["test"][0][run : run + 1])
    assert len(rows_of(final["train"][0])) > 750  # seeds have numbers of their own
    assert final["train"][0].shape == (2, 400, SOURCE)
    assert final["test"][1].shape == (2, 300, TARGET)


def test_noise_leaves_out_one_symbol_and_never_the_mark():
    pairs = Sentences("numerals", (5,)).sets()
    places = set()
    for row, less in zip(pairs["test"][0][0].tolist(), pairs["noisy"][0][0].tolist(), strict=True):
        words, left = ([symbol for symbol in each if symbol != END] for each in (row, less))
        fitting = [at for at in range(len(words)) if words[:at] + words[at + 1 :] == left]
        assert fitting
        assert fitting[-1] > 0
        assert left[0] == words[0]
        assert less == left + [END] * (SOURCE - len(left))
        places.update(fitting)
    assert places >= set(range(1, 9))
    assert np.array_equal(pairs["noisy"][1], pairs["test"][1])
    short = leave_out(write_pairs([7])[0], stream("tests.sentences.noise", 0))
    assert np.count_nonzero(short, axis=1).tolist() == [1, 1]


def test_permuted_targets_are_the_same_targets_elsewhere():
    plain, permuted = (Sentences("numerals", (3,), labels=labels).sets() for labels in ("true", "permuted"))
    assert np.array_equal(plain["train"][0], permuted["train"][0])
    one, two = plain["train"][1][0], permuted["train"][1][0]
    assert (one != two).any(axis=1).mean() > 0.9
    assert np.array_equal(one[np.lexsort(one.T)], two[np.lexsort(two.T)])
    assert np.array_equal(plain["test"][1], permuted["test"][1])


def test_an_epoch_sees_every_sentence_once_in_an_order_of_its_own():
    lessons = Sentences("numerals", (0, 1))
    orders = lessons.orders()
    first, second = (lessons.deal(orders, 400 // TOGETHER, TOGETHER) for _ in range(2))
    assert first.shape == (2, 400 // TOGETHER, TOGETHER)
    assert np.array_equal(np.sort(first.reshape(2, -1), axis=1), np.tile(np.arange(400), (2, 1)))
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], second[0])


@pytest.mark.parametrize("name", NAMES)
def test_no_score_depends_on_what_comes_later(name):
    networks = networks_of(name)
    x, _ = drawn()
    other = x.clone()
    other[..., SOURCE + 4 :] = (x[..., SOURCE + 4 :] + 1) % task_sizes().classes
    one, two = networks(x), networks(other)
    assert torch.equal(one[..., : SOURCE + 4, :], two[..., : SOURCE + 4, :])
    assert not torch.equal(one[..., SOURCE + 4, :], two[..., SOURCE + 4, :])


@pytest.mark.parametrize("name", NAMES)
def test_what_rows_are_filled_up_with_changes_nothing(name):
    networks = networks_of(name)
    x, y = drawn()
    judge(networks, x, y)[0].sum().backward()
    assert not networks.ends[0].grad[:, END].any()
    before = judge(networks, x, y)[0]
    with torch.no_grad():
        networks.ends[0][:, END] += 1.0
    assert torch.equal(before, judge(networks, x, y)[0])


def test_all_of_the_source_and_the_target_so_far_are_seen():
    x, _ = drawn()
    seen = visible(x)
    lengths = (x[..., :SOURCE] != END).sum(dim=-1)
    assert torch.equal(seen[..., :SOURCE].sum(dim=-1), lengths[..., None].expand(x.shape))
    so_far = torch.arange(x.shape[-1]) - SOURCE + 1
    assert torch.equal(seen[..., SOURCE:].sum(dim=-1), so_far.clamp(min=0).expand(x.shape))


@pytest.mark.parametrize("name", ["published-metric", "residual-distance", "block-dot"])
def test_the_first_word_depends_on_all_of_the_source(name):
    networks = networks_of(name)
    x, _ = drawn()
    for at in range(3):
        other = x.clone()
        other[..., at] = symbols()["and"]
        assert (networks(x)[..., SOURCE, :] != networks(other)[..., SOURCE, :]).any()


@pytest.mark.parametrize("similarity", ["dot", "entmax"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_what_is_hidden_has_weight_zero_and_the_others_are_a_law(similarity, scale):
    rng = stream("tests.sentences.rows", 0)
    x, _ = drawn(runs=1)
    seen = visible(x)
    scores = torch.tensor(scale * rng.normal(size=seen.shape), requires_grad=True)
    law = (sparse_rows if similarity == "entmax" else torch.nn.Softmax(dim=-1))(hide(scores, seen, similarity))
    assert not law[~seen].any()
    assert law.sum(dim=-1).detach().numpy() == pytest.approx(1.0, rel=1e-6, abs=0.0)
    (law * torch.tensor(rng.normal(size=seen.shape))).sum().backward()
    assert scores.grad.isfinite().all()
    assert not scores.grad[~seen].any()
    few = int(seen[0, 0, 0].sum())  # as if the row had been that short; a source is at the beginning
    alone = (sparse_rows if similarity == "entmax" else torch.nn.Softmax(dim=-1))(scores[0, 0, :1, :few])
    assert law[0, 0, 0, :few].detach().numpy() == pytest.approx(alone[0].detach().numpy(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_as_if_it_were_alone(name):
    together, alone = networks_of(name), networks_of(name, runs=1, first=1)
    x, y = drawn()
    many, one = judge(together, x, y), judge(alone, x[1:2], y[1:2])
    assert many[0][1].item() == pytest.approx(one[0].item(), rel=1e-12, abs=0.0)
    many[0].sum().backward()
    one[0].sum().backward()
    for all_, own in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(all_.grad[1], own.grad[0], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_diverges_takes_no_other_with_it(name):
    networks = networks_of(name)
    with torch.no_grad():
        next(networks.parameters())[0] = torch.inf
    found = judge(networks, *drawn())[0]
    assert not found[0].isfinite()
    assert found[1:].isfinite().all()


def test_the_loss_is_the_mean_over_the_symbols_of_the_targets():
    networks = networks_of("block-dot", runs=1)
    x, y = drawn(runs=1)
    logarithms = networks(x)[0, :, SOURCE:].log_softmax(dim=-1)
    each = [
        -logarithms[sentence, place, y[0, sentence, place]].item()
        for sentence in range(y.shape[1])
        for place in range(1 + int((y[0, sentence] != END).sum()))  # the end is one of them
    ]
    total, count, _ = judge(networks, x, y)
    assert count.item() == len(each)
    assert total.item() == pytest.approx(sum(each), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("name", ["linear", "published-dot", "block-metric", "block-entmax"])
def test_what_networks_say_themselves_is_without_fault(name):
    networks = networks_of(name)
    x, _ = drawn()
    x[..., SOURCE + 1 :] = END
    y = torch.full((*x.shape[:2], TARGET), END)
    told = torch.ones(x.shape[:2], dtype=torch.bool)
    for place in range(TARGET):  # one symbol after the other, the likeliest
        y[..., place] = torch.where(told, networks(x)[..., SOURCE + place, :].argmax(dim=-1), END)
        told &= y[..., place] != END
        if place + 1 < TARGET:
            x[..., SOURCE + place + 1] = y[..., place]
    assert judge(networks, x, y)[2].tolist() == [x.shape[1]] * RUNS
    y[1, 2, 0] = (y[1, 2, 0] + 1) % task_sizes().classes
    y[2, :, 0] = (y[2, :, 0] + 1) % task_sizes().classes
    assert judge(networks, x, y)[2].tolist() == [x.shape[1], x.shape[1] - 1, 0]


def test_arms_share_what_they_can_and_have_as_many_parameters():
    networks = {name: networks_of(name, runs=1) for name in NAMES if name != "linear"}
    first = networks["published-dot"]
    for name, each in networks.items():
        assert all(torch.equal(a, b) for a, b in zip(first.ends, each.ends, strict=True))
        dots = networks[f"{name.partition('-')[0]}-dot"]
        assert each.parameters_each == pytest.approx(dots.parameters_each, rel=0.05, abs=0.0)


def test_runs_trained_together_are_those_trained_alone():
    arm = find_arm("block-metric")
    together = translate(arm, Sentences("numerals", (5, 6)), rate=1e-3, epochs=10, decay=1e-4)
    alone = translate(arm, Sentences("numerals", (6,)), rate=1e-3, epochs=10, decay=1e-4)
    assert together.measured[1] == pytest.approx(alone.measured[0], rel=1e-2, abs=1e-2)  # in single precision
    assert together.measured[0] != pytest.approx(alone.measured[0], rel=1e-2, abs=1e-2)
    assert alone.measured[0, -1, 0] < 0.5 * alone.measured[0, 0, 0]
    assert alone.measured.shape == (1, 11, len(COLUMNS))


def test_a_diverged_run_is_marked():
    found = translate(find_arm("published-dot"), Sentences("numerals", (0,)), rate=1e30, epochs=10, decay=1e-4)
    assert found.diverged.all()
    assert np.isinf(found.measured[0, -1, :2]).all()
    assert np.isnan(found.measured[0, -1, 2:]).all()
    assert np.isfinite(found.measured[0, 0]).all()


def test_pieces_of_the_experiment_are_made_of_sentences(tmp_path):
    setting = experiment.Setting("numerals", "quick", 7, tmp_path)
    made, again = (experiment.piece(find_arm("linear"), setting, PLAIN, 1e-2) for _ in range(2))
    assert np.array_equal(made.measured, again.measured)
    assert made.parameters == (task_sizes().inputs + 1) * task_sizes().classes
    assert len(list(tmp_path.iterdir())) == 1
    identity, other = setting.identity(), experiment.Setting("moons", "quick", 7, tmp_path).identity()
    assert "num2words" in identity
    assert "num2words" not in other
    assert identity["sources"] != other["sources"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "moons"}, "task: expected one of numerals, got 'moons'"),
        ({"labels": "none"}, "labels: expected one of"),
        ({"start": "late"}, "start: expected one of"),
        ({"seeds": ()}, "seeds: expected at least one, got none"),
        ({"seeds": (-1,)}, "seeds: expected an integer of at least 0"),
    ],
)
def test_refusals_of_data(arguments, words):
    with pytest.raises(ValueError, match=words):
        Sentences(**{"task": "numerals", "seeds": (0,), **arguments})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rate": 0.0}, "rate"),
        ({"epochs": 15}, "epochs: expected a multiple of 10, got 15"),
        ({"decay": -1.0}, "decay: expected a number that is not negative"),
    ],
)
def test_refusals_of_training(arguments, words):
    with pytest.raises(ValueError, match=words):
        translate(
            find_arm("linear"), Sentences("numerals", (0,)), **{"rate": 1e-3, "epochs": 10, "decay": 0.0, **arguments}
        )
