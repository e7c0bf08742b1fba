"""The transformer: what each output may depend on, its derivatives, starts, sizes, greedy words, and refusals."""

import math

import numpy as np
import pytest

from theory.evidence import stream

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")
from theory.metric.torch.modules import ATTENTIONS  # noqa: E402  it imports PyTorch
from theory.metric.torch.parametrised import Dropout, Table, parameters_of, positions  # noqa: E402
from theory.metric.torch.transformer import Transformer  # noqa: E402

SMALL = {"dim": 8, "heads": 2, "layers": 2, "hidden": 12, "width": 6}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def rng(case=0):
    return stream("tests.metric.transformer", case)


def made(kind="self", case=1, **options):
    net = Transformer(9, 7, attention=kind, **{**SMALL, **options}).double()
    net.reset(rng(case))
    return net


def sentences(rows=3, source=6, target=5):
    draw = rng(2)
    return torch.from_numpy(draw.integers(1, 9, (rows, source))), torch.from_numpy(draw.integers(1, 7, (rows, target)))


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_no_output_sees_the_words_after_it(kind):
    net, (x, y) = made(kind), sentences()
    scores = net(x, y)
    assert scores.shape == (3, 5, 7)
    changed = y.clone()
    changed[:, 3:] = changed[:, 3:] % 6 + 1
    moved = net(x, changed)
    assert torch.equal(moved[:, :3], scores[:, :3])
    assert (moved[:, 3:] != scores[:, 3:]).any(dim=-1).all()


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_no_output_sees_padding(kind):
    net, (x, y) = made(kind), sentences()
    x[0, 4:], y[1, 3:] = 0, 0
    scores = net(x, y)
    with torch.no_grad():
        for table in net.words:
            table.matrix[0] += 5.0
    assert torch.equal(net(x, y)[:, :3], scores[:, :3])
    alone = net(x[:1, :4], y[:1])  # other shapes, other orders of the sums
    assert torch.allclose(alone, scores[:1], rtol=1e-12, atol=1e-13)
    assert not torch.allclose(net(x[1:2, :4], y[1:2]), scores[1:2], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_every_word_counts_in_its_place(kind):
    """Each source word moves each output, and so does the order of the words."""
    net, (x, y) = made(kind, layers=1), sentences(rows=1)
    scores = net(x, y)
    for place in range(6):
        other = x.clone()
        other[0, place] = other[0, place] % 8 + 1
        assert (net(other, y) != scores).any(dim=-1).all() or kind == "entmax"  # which may look away
    x = torch.arange(1, 7).unsqueeze(0)
    assert not torch.allclose(net(x, y), net(x.flip(1), y), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_gradients_are_those_of_differences(kind):
    net = Transformer(4, 4, dim=4, heads=2, layers=1, hidden=3, width=4, attention=kind).double()
    net.reset(rng(3))
    x = torch.tensor([[1, 2, 3], [2, 1, 0]])
    y = torch.tensor([[1, 3], [2, 0]])
    names, own = zip(*((n, p.detach().clone().requires_grad_()) for n, p in net.named_parameters()), strict=True)

    def scores(*own):
        return torch.func.functional_call(net, dict(zip(names, own, strict=True)), (x, y))

    assert torch.autograd.gradcheck(scores, own)


def test_starts_come_from_the_generator_and_agree_between_kinds():
    state = torch.get_rng_state()
    nets = {kind: made(kind, dropout=0.2) for kind in ATTENTIONS}
    assert np.array_equal(parameters_of(nets["self"]), parameters_of(made(dropout=0.2)))
    assert np.array_equal(parameters_of(nets["self"]), parameters_of(nets["entmax"]))
    assert not np.array_equal(parameters_of(nets["self"]), parameters_of(made(case=4)))
    own = dict(nets["self"].named_parameters())
    for kind in ("l2", "metric"):
        others = dict(nets[kind].named_parameters())
        shared = [name for name in own if ".attention." not in name]
        assert shared == [name for name in others if ".attention." not in name]
        assert all(torch.equal(own[name], others[name]) for name in shared)
    assert np.isfinite(parameters_of(nets["metric"])).all()
    nets["self"](*sentences()).sum().backward()
    assert torch.equal(state, torch.get_rng_state())
    assert np.isnan(parameters_of(Transformer(9, 7, **SMALL))).any()


def test_words_have_unit_variance_and_positions_their_waves():
    table = Table(500, 40).double()
    table.reset(rng(5))
    assert table(torch.arange(500)).square().mean().item() == pytest.approx(1.0, rel=0.03, abs=0)
    wave = positions(30, 6)
    for t in (0, 1, 29):
        angles = [t, t / 1e4 ** (1 / 3), t / 1e4 ** (2 / 3)]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        assert wave[t].tolist() == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_numbers_of_parameters():
    def size(kind, matching="width"):
        return parameters_of(Transformer(20, 30, dim=64, heads=4, attention=kind, matching=matching)).size

    per_attention = {"self": 8192, "entmax": 8192, "l2": 4096, "metric": 8320}
    rest = size("self") - 6 * 8192
    affine = lambda m, n: m * n + n  # noqa: E731
    layer = 2 * affine(64, 64) + affine(64, 128) + affine(128, 64) + 2 * 128
    cross = 2 * affine(64, 64) + 128
    assert rest == 50 * 64 + 4 * layer + 2 * cross + 2 * 128 + affine(64, 30)
    assert {kind: size(kind) - rest for kind in ATTENTIONS} == {k: 6 * n for k, n in per_attention.items()}
    assert {kind: size(kind, "parameters") - rest - 6 * 8192 for kind in ATTENTIONS} == {
        "self": 0, "entmax": 0, "l2": 0, "metric": -6  # 63 hidden units, 8191 numbers
    }  # fmt: skip


def copied(net):
    """Return PyTorch's own transformer, normalised before its parts, with the parameters of ours."""
    options = {"batch_first": True, "norm_first": True, "dtype": torch.float64}
    part = torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0, **options)
    end = torch.nn.LayerNorm(8, dtype=torch.float64)
    encoder = torch.nn.TransformerEncoder(part, 2, end, enable_nested_tensor=False)  # which would warn
    theirs = torch.nn.Transformer(8, 2, 2, 2, 12, 0.0, custom_encoder=encoder, **options)

    def attention(to, mixing):
        ours = mixing.attention
        to.in_proj_weight.copy_(torch.cat([ours.query, ours.key, mixing.value.matrix], dim=1).T)
        to.in_proj_bias.copy_(torch.cat([torch.zeros(16, dtype=torch.float64), mixing.value.bias]))
        affine(to.out_proj, mixing.output)

    def affine(to, ours):
        to.weight.copy_(ours.matrix.T)
        to.bias.copy_(ours.bias)

    def layer(to, ours, norms):
        attention(to.self_attn, ours.mixings[0])
        affine(to.linear1, ours.widen)
        affine(to.linear2, ours.narrow)
        for mine, norm in zip(norms, ours.norms, strict=True):
            mine.load_state_dict(norm.state_dict())

    with torch.no_grad():
        for to, ours in zip(theirs.encoder.layers, net.encoder, strict=True):
            layer(to, ours, (to.norm1, to.norm2))
        for to, ours in zip(theirs.decoder.layers, net.decoder, strict=True):
            layer(to, ours, (to.norm1, to.norm2, to.norm3))
            attention(to.multihead_attn, ours.mixings[1])
    theirs.encoder.norm.load_state_dict(net.ends[0].state_dict())
    theirs.decoder.norm.load_state_dict(net.ends[1].state_dict())
    return theirs


def test_with_self_attention_it_is_pytorchs_transformer():
    net, (x, y) = made(width=8), sentences()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.from_numpy(rng(11).normal(0.0, 0.3, tuple(p.shape))))
    x[0, 4:], y[1, 3:] = 0, 0
    wave = [positions(length, 8) for length in (6, 5)]
    embedded = [
        table.matrix[ids] * math.sqrt(8) + place for table, ids, place in zip(net.words, (x, y), wave, strict=True)
    ]
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    state = copied(net)(
        *embedded, tgt_mask=future, src_key_padding_mask=x == 0, tgt_key_padding_mask=y == 0,
        memory_key_padding_mask=x == 0,
    )  # fmt: skip
    assert torch.allclose(net(x, y), net.output(state), rtol=1e-11, atol=1e-12)


# --- dropout ---


def test_dropout_keeps_the_mean_and_is_drawn_by_its_own_generator():
    drop = Dropout(0.3)
    drop.reset(rng(6))
    x = torch.full((200, 200), 2.0, dtype=torch.float64)
    y = drop(x)
    assert set(y.unique().tolist()) == {0.0, 2.0 / 0.7}
    assert y.mean().item() == pytest.approx(2.0, rel=0.03, abs=0)
    assert not torch.equal(drop(x), y)
    assert torch.equal(drop.eval()(x), x)
    drop.train().reset(rng(6))
    assert torch.equal(drop(x), y)


def test_dropout_goes_on_where_it_was_saved():
    net, (x, y) = made(dropout=0.3), sentences()
    saved = {name: value.clone() for name, value in net.state_dict().items()}
    first = net(x, y)
    assert not torch.equal(net(x, y), first)
    other = made(case=7, dropout=0.3)
    other.load_state_dict(saved)
    assert torch.equal(other(x, y), first)
    assert torch.equal(net.eval()(x, y), made().eval()(x, y))


# --- greedy words ---


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_greedy_words_are_the_likeliest(kind):
    net, (x, _) = made(kind, case=8, dropout=0.5), sentences()
    x[0, 4:] = 0
    ids = net.greedy(x, 1, 2, 9)
    assert net.training
    net.eval()
    for source, row in zip(x, ids.tolist(), strict=True):
        words = source[source != 0].unsqueeze(0)
        target = [1]
        while len(target) <= 9 and 2 not in target:
            scores = net(words, torch.tensor([target]))[0, -1]
            target.append(1 + int(scores[1:].argmax()))
        assert [word for word in row if word != 0] == target[1:]
        assert row == sorted(row, key=lambda word: word == 0)  # padding comes behind


def test_greedy_ends_with_all_rows_ended():
    net, (x, _) = made(), sentences()
    with torch.no_grad():
        net.output.matrix.zero_()
        net.output.bias.copy_(torch.tensor([9.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0]))  # padding, which never is chosen
    assert net.greedy(x, 1, 2, 9).tolist() == [[2]] * 3
    assert net.greedy(x, 1, 3, 4).tolist() == [[2] * 4] * 3


def test_it_learns_to_copy():
    """To repeat three of five words, in float32: in the end better than who knows two and guesses one, log(5)/3."""
    draw = rng(9)
    for kind in ("self", "l2", "metric"):
        net = Transformer(8, 8, dim=16, heads=2, layers=1, hidden=32, width=16, attention=kind)
        net.reset(rng(10))
        adam = torch.optim.Adam(net.parameters(), lr=1e-2)
        losses = []
        for _ in range(150):
            x = torch.from_numpy(draw.integers(3, 8, (32, 3)))
            target = torch.cat([torch.ones(32, 1, dtype=torch.int64), x[:, :2]], dim=1)
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x, target).flatten(0, 1), x.flatten())
            loss.backward()
            adam.step()
            losses.append(loss.item())
        assert losses[0] > math.log(5)
        assert np.mean(losses[-10:]) < math.log(5) / 3, kind


# --- refusals ---

ROW = torch.tensor([[1, 2]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: made(dim=7), ValueError, "dim: expected an even multiple of the 2 heads, got 7"),
        (lambda: made(dim=6, heads=4), ValueError, "dim: expected an even multiple of the 4 heads, got 6"),
        (lambda: made(layers=0), ValueError, "layers: expected an integer of at least 1, got 0"),
        (lambda: made(hidden=0), ValueError, "hidden: expected an integer of at least 1"),
        (lambda: made(dropout=1.0), ValueError, "dropout: expected a rate from 0 to below 1, got 1.0"),
        (lambda: made("l1"), ValueError, "kind: expected one of self, l2, metric, entmax, got 'l1'"),
        (lambda: Transformer(1, 7), ValueError, "source: expected an integer of at least 2, got 1"),
        (lambda: made()(ROW[0], ROW), ValueError, r"source_ids: expected shape \(B, length\), got shape \(2,\)"),
        (lambda: made()(ROW, ROW[:, :0]), ValueError, r"target_ids: expected shape \(B, length\), got shape \(1, 0\)"),
        (lambda: made()(ROW * 1.0, ROW), TypeError, "source_ids: expected integers, got torch.float32"),
        (lambda: made()(ROW + 7, ROW), ValueError, "source_ids: expected ids from 0 to 8, got 8 to 9"),
        (lambda: made()(ROW - 2, ROW), ValueError, "source_ids: expected ids from 0 to 8, got -1 to 0"),
        (lambda: made()(ROW, ROW + 5), ValueError, "target_ids: expected ids from 0 to 6, got 6 to 7"),
        (lambda: made()(ROW * 0, ROW), ValueError, "source_ids: expected a word in every row, got padding only"),
        (lambda: made()(ROW, ROW - 1), ValueError, "target_ids: expected a word at the beginning of every row"),
        (lambda: made()(ROW, ROW.T), ValueError, "target_ids: expected 1 rows as source_ids, got 2"),
        (lambda: made().greedy(ROW, 1, 2, 0), ValueError, "longest: expected an integer of at least 1, got 0"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()
