"""Translation: what is measured, against sums made here; stopped runs go on to the same bytes; fair pairs of runs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("num2words")
pytest.importorskip("sacrebleu")

from theory.evidence import stream  # noqa: E402
from theory.experiments.data.corpus import Pairs  # noqa: E402
from theory.experiments.data.vocabulary import END, START, learn_vocabulary  # noqa: E402
from theory.experiments.tasks.task import Setting  # noqa: E402
from theory.experiments.tasks.translation import Translation, permute_targets  # noqa: E402
from theory.experiments.tasks.translator import Lesson, Translator, damage, encode  # noqa: E402
from theory.metric.torch import Transformer  # noqa: E402

TEXTS = ("one two", "two one", "one one two", "two two one", "one", "two")
PAIRS = Pairs(("<x>",) * 6, TEXTS, tuple(" ".join(text.split()[::-1]).upper() for text in TEXTS))  # backwards


def made(attention="self", *, seed=3, rate=3e-3, labels="true", matching="width", validation=False, root=5):
    setting = Setting("translation", attention, seed, rate, matching, labels, "quick")
    return Translation(root=root).learner(setting, validation=validation)


def small(rate=1e-2, seed=1):
    source = learn_vocabulary(PAIRS.sources, 20, ("<x>",))
    target = learn_vocabulary(PAIRS.targets, 20)
    model = Transformer(len(source), len(target), dim=16, heads=2, layers=1, hidden=16, width=16)
    model.reset(stream("tests.translation", seed))
    lesson = Lesson(PAIRS, 4, PAIRS, 5, "char")
    return Translator(model, source, target, lesson, rate=rate, decay=5e-4, batch=4, seed=seed, root=5)


def test_losses_are_means_over_the_tokens_of_the_sentences():
    """One sentence at a time, so that nothing is padded: minus the logarithm of the probability of each next token."""
    learner = small()
    learner.advance()
    source = learn_vocabulary(PAIRS.sources, 20, ("<x>",))
    target = learn_vocabulary(PAIRS.targets, 20)
    losses = []
    for text, right in zip(PAIRS.sources, PAIRS.targets, strict=True):
        x = [source.mark("<x>"), *source.encode(text), END]
        y = [*target.encode(right), END]
        with torch.no_grad():
            logits = learner._model(torch.tensor([x]), torch.tensor([[START, *y[:-1]]]))[0].double().numpy()
        laws = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        losses.append([-np.log(laws[k, token]) for k, token in enumerate(y)])
    measured = learner.measure()
    assert measured["test_loss"] == pytest.approx(np.mean(np.concatenate(losses)), rel=1e-5, abs=0)
    assert measured["train_loss"] == pytest.approx(np.mean(np.concatenate(losses[:4])), rel=1e-5, abs=0)


def test_a_small_language_is_learned_by_heart():
    learner = small()
    before = learner.measure()
    for _ in range(150):
        learner.advance()
    after = learner.measure()
    assert before["accuracy"] < 0.5
    assert after["accuracy"] == 1.0
    assert after["bleu"] == pytest.approx(100.0, rel=1e-12, abs=0)
    assert after["noisy_1"] < 1.0
    assert after["train_loss"] < 0.05 * before["train_loss"]


def test_the_first_step_is_that_of_adam_with_weight_decay():
    """After one step Adam has moved every parameter by rate * g / (|g| + 1e-8), g with the decay added."""
    learner, twin = small(), small()
    learner._batch = twin._batch = len(PAIRS)
    total, tokens = twin._loss(twin._train, np.arange(len(PAIRS)))
    (total / tokens).backward()
    learner.advance()
    for new, old in zip(learner._model.parameters(), twin._model.parameters(), strict=True):
        slope = (0.0 if old.grad is None else old.grad) + 5e-4 * old.detach()
        step = 1e-2 * slope / (slope.abs() + 1e-8)
        sure = slope.abs() > 1e-5  # where the order of the sum of a batch does not change the sign
        assert torch.allclose(new[sure], (old - step).detach()[sure], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("attention", ["self", "metric", "entmax"])
def test_a_stopped_run_goes_on_to_the_same_bytes(attention):
    whole, first, second = made(attention), made(attention), made(attention)
    for _ in range(3):
        whole.advance()
    first.advance()
    first.measure()
    stopped = {name: array.copy() for name, array in first.state().items()}
    first.advance()  # what was handed out is a copy
    second.restore(stopped)
    second.measure()
    second.advance()
    second.advance()
    expected, found = whole.state(), second.state()
    assert expected.keys() == found.keys()
    assert all(expected[name].tobytes() == found[name].tobytes() for name in expected)
    assert whole.measure() == second.measure()
    assert expected["epoch"] == 3


def test_every_epoch_takes_all_pairs_in_an_order_of_its_own(monkeypatch):
    seen = []
    plain = Translator._loss
    monkeypatch.setattr(Translator, "_loss", lambda self, pairs, rows: seen.append(rows) or plain(self, pairs, rows))
    learner = made()
    learner.advance()
    learner.advance()
    first, second = np.concatenate(seen).reshape(2, -1)
    assert sorted(first) == sorted(second) == list(range(96))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(96))


def test_a_run_goes_back_to_its_start():
    learner = made()
    start = learner.state()
    learner.advance()
    learner.restore(start)
    again = learner.state()
    assert all(start[name].tobytes() == again[name].tobytes() for name in start)
    learner.advance()
    other = made()
    other.advance()
    assert all(other.state()[name].tobytes() == array.tobytes() for name, array in learner.state().items())


def test_a_state_of_another_model_is_refused_and_changes_nothing():
    learner = made()
    before = made().state()
    with pytest.raises(ValueError, match=r"state: expected the \d+ arrays of this model"):
        learner.restore({name: array for name, array in before.items() if name != "steps"})
    with pytest.raises(ValueError, match=r"state: expected parameter\.output\.bias of shape"):
        learner.restore({**before, "parameter.output.bias": np.zeros(3, np.float32)})
    with pytest.raises(ValueError, match=r"state: expected the \d+ arrays of this model"):
        learner.restore(made("metric").state())
    assert all(before[name].tobytes() == array.tobytes() for name, array in learner.state().items())


@pytest.mark.parametrize("attention", ["l2", "metric", "entmax", "again"])
def test_attentions_share_data_and_what_is_not_attention(attention):
    one, two = made("self"), made(attention)
    for a, b in zip((*one._train, *one._test, one._damaged), (*two._train, *two._test, two._damaged), strict=True):
        assert np.array_equal(a, b)
    first = dict(one._model.named_parameters())
    second = dict(two._model.named_parameters())
    shared = [name for name in first if name in second and first[name].shape == second[name].shape]
    outside = [name for name in shared if ".attention." not in name]
    assert len(outside) == sum(".attention." not in name for name in first)
    equal = [bool(torch.equal(first[name], second[name])) for name in shared]
    if attention == "again":
        assert not all(equal)
    else:
        assert all(equal[shared.index(name)] for name in outside)


def test_matching_makes_parameters_equally_many():
    sizes = {
        (name, rule): made(name, matching=rule).parameters
        for name in ("self", "metric")
        for rule in ("width", "parameters")
    }
    assert sizes["self", "width"] == sizes["self", "parameters"]
    near = abs(sizes["metric", "parameters"] - sizes["self", "width"])
    assert near <= abs(sizes["metric", "width"] - sizes["self", "width"])


def test_seeds_and_roots_change_the_data():
    assert not np.array_equal(made(seed=3)._train[0], made(seed=4)._train[0])
    assert not np.array_equal(made(root=5)._train[0], made(root=6)._train[0])


def test_validation_data_are_neither_test_nor_training_data():
    task = Translation(root=5)
    corpus = task.corpus("quick", 3)
    assert made(validation=True)._lesson.test == corpus.validation
    assert made()._lesson.test == corpus.test
    parts = [set(part.sources) for part in (corpus.train, corpus.validation, corpus.test)]
    assert len(parts[0] | parts[1] | parts[2]) == sum(map(len, parts))


def test_permuted_targets_are_all_there_and_none_is_its_own():
    pairs = Pairs(("",) * 9, tuple("abcdefghi"), tuple("ABCDEFGHI"))
    moved = permute_targets(pairs, stream("tests.translation", 0))
    assert sorted(moved.targets) == list("ABCDEFGHI")
    assert all(source.upper() != target for source, target in zip(moved.sources, moved.targets, strict=True))
    learner, plain = made(labels="permuted"), made()
    assert learner._lesson.train.sources == plain._lesson.train.sources
    assert learner._lesson.train.targets != plain._lesson.train.targets
    assert learner._lesson.test == plain._lesson.test


def test_one_token_is_missing_but_never_the_mark_or_the_end():
    source = learn_vocabulary(PAIRS.sources, 12, ("<x>",))
    ids, _ = encode(PAIRS, source, learn_vocabulary(PAIRS.targets, 20))
    short = [damage(ids, PAIRS.marks, stream("tests.translation", case)) for case in range(30)]
    for whole, rest in zip(np.tile(ids, (30, 1)), (row for rows in short for row in rows), strict=True):
        before, after = whole[whole != 0].tolist(), rest[rest != 0].tolist()
        assert after[0] == source.mark("<x>")
        assert after[-1] == END
        assert after in [before[:k] + before[k + 1 :] for k in range(1, len(before) - 1)]
    places = np.array([0, 0])
    for case in range(400):
        kept = damage(np.array([[5, 6, END]]), ("",), stream("tests.translation.place", case))
        places += [int(kept[0, 0] == 6), int(kept[0, 0] == 5)]
    assert places.sum() == 400
    assert places.min() > 140  # six standard deviations of ten from a half


def test_the_number_of_threads_is_left_as_it_was():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        learner = made()
        learner.advance()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_diverged_run_is_measured_all_the_same():
    learner = made(rate=1e30)
    learner.advance()
    measured = learner.measure()
    assert measured.keys() == Translation().columns.keys()
    assert not np.isfinite(measured["train_loss"])
    assert measured["accuracy"] == 0.0


def test_multi30k_is_translated_at_the_published_rate(tmp_path):
    words = ["man", "dog", "woman", "child", "boat", "tree"]
    for part, count in (("train", 30), ("val", 6), ("test_2016_flickr", 6)):
        lines = [f"A {words[k % 6]} and a {words[k * 5 % 6]} ." for k in range(count)]
        (tmp_path / f"{part}.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / f"{part}.de").write_text("\n".join(line.upper() for line in lines) + "\n", encoding="utf-8")
    task = Translation(tmp_path)
    assert (task.rules, task.published_rate) == (("published",), 1e-5)
    learner = task.learner(Setting("translation", "l2", 0, 1e-5, scale="quick"))
    learner.advance()
    measured = learner.measure()
    assert measured.keys() == task.columns.keys()
    assert np.isfinite(measured["test_loss"])
    with pytest.raises(NotADirectoryError, match="nowhere"):
        Translation(tmp_path / "nowhere")


def test_sizes_of_the_experiment():
    task = Translation()
    assert (task.name, task.rules, task.permutes) == ("translation", ("tuned",), False)
    assert (task.seeds("quick"), task.seeds("paper")) == (16, 16)
    corpus = task.corpus("paper", 0)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (400, 300, 300)
    source = learn_vocabulary(corpus.train.sources, 100, ("<de>", "<fr>"))
    target = learn_vocabulary(corpus.train.targets, 160)
    assert len(target) <= 200
    x, y = encode(corpus.train, source, target)
    assert (y != 0).sum(axis=1).mean() < 12
    assert max(x.shape[1], y.shape[1]) <= 22


def test_bad_input():
    with pytest.raises(ValueError, match="setting: expected task translation, got moons"):
        Translation().learner(Setting("moons", "self", 0, 1e-3, scale="quick"))
    with pytest.raises(ValueError, match="scale: expected one of quick, paper, got 'huge'"):
        Translation().epochs("huge")
