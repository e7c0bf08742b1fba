"""``python -m theory certify --block``: files as people have them, what is printed, and what is refused by its name."""

from __future__ import annotations

import json

import numpy as np
import pytest

from theory.__main__ import main
from theory.lipschitz import certify_blocks, read_blocks
from theory.lipschitz.certificate import blocks_as_json, blocks_as_text

D = 4
RNG = np.random.default_rng(7)


def drawn(*shape):
    return 0.3 * RNG.normal(size=shape)


OWN = {
    **{f"w_{name}": drawn(D, D) for name in ("query", "key", "value", "out")},
    **{f"b_{name}": drawn(D) for name in ("query", "value", "out", "down")},
    "gain_1": 1 + drawn(D), "shift_1": drawn(D), "gain_2": 1 + drawn(D), "shift_2": drawn(D),
    "w_up": drawn(6, D), "b_up": drawn(6), "w_down": drawn(D, 6),
}  # fmt: skip


def fused(w):
    return np.concatenate([w["w_query"], w["w_key"], w["w_value"]])


def biases(w):
    return np.concatenate([w["b_query"], np.zeros(D), w["b_value"]])


def gpt(w, k):
    return {
        f"h.{k}.attn.c_attn.weight": fused(w).T, f"h.{k}.attn.c_attn.bias": biases(w),
        f"h.{k}.attn.c_proj.weight": w["w_out"].T, f"h.{k}.attn.c_proj.bias": w["b_out"],
        f"h.{k}.ln_1.weight": w["gain_1"], f"h.{k}.ln_1.bias": w["shift_1"],
        f"h.{k}.ln_2.weight": w["gain_2"], f"h.{k}.ln_2.bias": w["shift_2"],
        f"h.{k}.mlp.c_fc.weight": w["w_up"].T, f"h.{k}.mlp.c_fc.bias": w["b_up"],
        f"h.{k}.mlp.c_proj.weight": w["w_down"].T, f"h.{k}.mlp.c_proj.bias": w["b_down"],
        f"h.{k}.attn.bias": np.tril(np.ones((1, 1, 6, 6))),
    }  # fmt: skip


def torch_layer(w, place=""):
    return {f"{place}{name}": array for name, array in {
        "self_attn.in_proj_weight": fused(w), "self_attn.in_proj_bias": biases(w),
        "self_attn.out_proj.weight": w["w_out"], "self_attn.out_proj.bias": w["b_out"],
        "norm1.weight": w["gain_1"], "norm1.bias": w["shift_1"], "norm2.weight": w["gain_2"],
        "norm2.bias": w["shift_2"], "linear1.weight": w["w_up"], "linear1.bias": w["b_up"],
        "linear2.weight": w["w_down"], "linear2.bias": w["b_down"],
    }.items()}  # fmt: skip


def bert(w, k):
    place = f"encoder.layer.{k}."
    found = {f"{place}attention.self.{name}.weight": w[f"w_{name}"] for name in ("query", "key", "value")}
    found |= {f"{place}attention.self.{name}.bias": w[f"b_{name}"] for name in ("query", "value")}
    return found | {f"{place}{name}": array for name, array in {
        "attention.output.dense.weight": w["w_out"], "attention.output.dense.bias": w["b_out"],
        "attention.output.LayerNorm.weight": w["gain_1"], "attention.output.LayerNorm.bias": w["shift_1"],
        "intermediate.dense.weight": w["w_up"], "intermediate.dense.bias": w["b_up"],
        "output.dense.weight": w["w_down"], "output.dense.bias": w["b_down"],
        "output.LayerNorm.weight": w["gain_2"], "output.LayerNorm.bias": w["shift_2"],
    }.items()}  # fmt: skip


LLAMA = {
    "model.layers.0.input_layernorm.weight": 1 + drawn(D),
    "model.layers.0.post_attention_layernorm.weight": 1 + drawn(D),
    **{f"model.layers.0.self_attn.{name}_proj.weight": drawn(rows, D) for name, rows in (("q", 4), ("k", 2), ("v", 2))},
    "model.layers.0.self_attn.o_proj.weight": drawn(D, D),
    **{f"model.layers.0.mlp.{name}_proj.weight": drawn(6, D) for name in ("gate", "up")},
    "model.layers.0.mlp.down_proj.weight": drawn(D, 6),
    "model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(1),
    "model.norm.weight": np.ones(D),
}
EPS = ("--eps", "0.1", "--activation", "gelu")


def save(tmp_path, arrays):
    np.savez(tmp_path / "weights.npz", **arrays)
    return tmp_path / "weights.npz"


def run(capsys, path, *options):
    """Return status, output and errors of one command."""
    status = main(["certify", str(path), "--no-search", *options])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def refused(capsys, words, path, *options):
    status, out, err = run(capsys, path, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


def same(blocks, *expected):
    assert len(blocks) == len(expected)
    for block, truth in zip(blocks, expected, strict=True):
        assert set(block) - {"b_key"} == set(truth)
        assert block.get("norm") == truth.get("norm")
        for name, array in ((name, array) for name, array in truth.items() if name != "norm"):
            np.testing.assert_array_equal(block[name], array)


def test_layouts_are_read(tmp_path):
    """Of every layout the same arrays come, in the order of the numbers of their blocks."""
    other = {name: array + 1.0 for name, array in OWN.items()}
    same(read_blocks(save(tmp_path, OWN)), OWN)
    many = {name: array for k in range(11) for name, array in gpt(OWN if k == 10 else other, k).items()}
    same(read_blocks(save(tmp_path, many)), *[other] * 10, OWN)
    same(read_blocks(save(tmp_path, many), prefix="h.10."), OWN)
    same(read_blocks(save(tmp_path, torch_layer(OWN))), OWN)
    same(read_blocks(save(tmp_path, torch_layer(OWN, "layers.0.") | torch_layer(other, "layers.1."))), OWN, other)
    after = [block | {"norm": "post"} for block in (OWN, other)]  # as the names of BERT say
    same(read_blocks(save(tmp_path, bert(OWN, 0) | bert(other, 1))), *after)
    older = {name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): array
             for k, block in enumerate((OWN, other)) for name, array in bert(block, k).items()}  # fmt: skip
    same(read_blocks(save(tmp_path, older)), *after)
    (llama,) = read_blocks(save(tmp_path, LLAMA), rotary=True)
    for role, name in (
        ("gain_2", "post_attention_layernorm"),
        ("w_gate", "mlp.gate_proj"),
        ("w_key", "self_attn.k_proj"),
    ):
        np.testing.assert_array_equal(llama[role], LLAMA[f"model.layers.0.{name}.weight"])
    renamed = {f"my_{name}": array for name, array in OWN.items()} | {"rest": np.ones(2)}
    same(read_blocks(save(tmp_path, renamed), {name: f"my_{name}" for name in OWN}), OWN)


def test_what_is_printed(capsys, tmp_path):
    """The numbers of the library, a line for every block and the product; what was read and what was not."""
    other = {name: 0.5 * array for name, array in OWN.items()}
    path = save(tmp_path, gpt(OWN, 0) | gpt(other, 1) | {"ln_f.weight": np.ones(D)})
    status, out, err = run(capsys, path, "--block", "--heads", "2", "--causal", "--tokens", "5", *EPS)
    assert (status, err) == (0, "")
    truth = certify_blocks([OWN, other], heads=2, causal=True, n=5, eps=0.1, activation="gelu", search=False)
    lines = [line.split() for line in out.splitlines()]
    for label, rows in (("h.0", truth.layers[0].rows), ("h.1", truth.layers[1].rows), ("all", truth.rows)):
        shown = [line for line in lines if line[:1] == [label]][-1][1:]
        for cell, row in zip(shown, rows, strict=True):
            assert (cell == "-") is (row.constant is None)
            assert row.constant is None or row.constant <= float(cell) <= row.constant * (1 + 1e-5)
    assert "2 blocks, h.0. to h.1.; of the first:" in out
    assert "h.0.ln_1.weight as gain_1" in out
    assert "h.0.attn.bias is a causal mask" in out
    assert "not used, outside of blocks: ln_f.weight" in out
    found = json.loads(run(capsys, path, "--block", "--heads", "2", "--causal", "--tokens", "5", *EPS, "--json")[1])
    assert [row["constant"] for row in found["rows"]] == [row.constant for row in truth.rows]
    assert found["blocks"] == ["h.0.", "h.1."]
    assert [layer["feed_forward"] for layer in found["layers"]] == [layer.feed_forward for layer in truth.layers]
    assert blocks_as_text(truth, ["h.0.", "h.1."]) in out
    assert json.loads(blocks_as_json(truth))["layers"] == found["layers"]


def test_one_layer_with_its_norm(capsys, tmp_path):
    """Without the feed-forward part, which the output says is there; a residual where it is asked for."""
    path = save(tmp_path, torch_layer(OWN))
    alone = {
        name: array
        for name, array in OWN.items()
        if name not in ("gain_2", "shift_2", "w_up", "b_up", "w_down", "b_down")
    }
    for order, residual in (("pre", False), ("pre", True), ("post", True)):
        options = ("--norm", order, "--eps", "0.1", "--radius", "2", *(("--residual",) if residual else ()))
        found = json.loads(run(capsys, path, *options, "--json")[1])
        truth = certify_blocks(alone, norm=order, eps=0.1, radius=2.0, residual=residual, search=False)
        assert [row["constant"] for row in found["rows"]] == [row.constant for row in truth.rows]
        assert "linear1.weight" in " ".join(found["notes"])
        assert "--block takes all of it" in " ".join(found["notes"])
    refused(
        capsys, "expected one layer, got 2", save(tmp_path, gpt(OWN, 0) | gpt(OWN, 1)), "--norm", "pre", "--eps", "0.1"
    )


def test_tokens_of_a_file(capsys, tmp_path):
    tokens = np.random.default_rng(0).normal(size=(5, D))
    np.save(tmp_path / "tokens.npy", tokens)
    path = save(tmp_path, torch_layer(OWN))
    options = ("--block", *EPS, "--tokens", str(tmp_path / "tokens.npy"))
    out = run(capsys, path, *options)[1]
    truth = certify_blocks(OWN, tokens=tokens, eps=0.1, activation="gelu", search=False)
    assert "They hold only while no token that enters a norm has a variance below these" in out
    assert f"{truth.layers[0].least[0]:.6g}" in out
    found = json.loads(run(capsys, path, *options, "--json")[1])
    assert [row["constant"] for row in found["rows"]] == [row.constant for row in truth.rows]
    assert "--variance V" in run(capsys, path, "--block", *EPS)[1]
    refused(capsys, "--tokens: expected a number with --block", path, *options, "--rotary")


def test_a_search_through_blocks_is_printed(capsys, tmp_path):
    path = save(tmp_path, torch_layer(OWN))
    main(["certify", str(path), "--block", *EPS, "--tokens", "3", "--json"])
    for row in json.loads(capsys.readouterr().out)["rows"]:
        assert 0.0 < row["lower"] <= row["constant"]
        assert len(row["witness"]["points"]) == len(row["witness"]["masses"])


GPT = gpt(OWN, 0)


@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        (GPT, ("--activation", "relu"), "eps: expected that of the norms"),
        (GPT, ("--eps", "0.1"), "activation: expected that of the feed-forward part"),
        (GPT, (*EPS, "--norm", "post"), "radius: expected one"),
        (GPT, (*EPS, "--base", "10"), "--base: expected none with --block"),
        (GPT, (*EPS, "--prefix", "g."), "expected blocks of names that are known, got none that begins with 'g.'"),
        (bert(OWN, 0), EPS, "radius: expected one, as attention sees the tokens themselves (norm post)"),
        (GPT | gpt(OWN, 2), EPS, "expected blocks that follow each other, got h.2. after h.0."),
        (GPT | {"h.attn.c_attn.weight": fused(OWN).T}, EPS, "blocks that follow each other, got h.0. after h."),
        (
            GPT | {name: array for name, array in gpt(OWN, 1).items() if "ln_2" not in name},
            EPS,
            "expected the same parts in all blocks, got no gain_2 in h.1., unlike h.0.",
        ),
        (GPT | {"h.0.attn.q_norm.weight": np.ones(D)}, EPS, "h.0.attn.q_norm.weight: expected scores of dot products"),
        (GPT | {"h.0.mlp.experts.0.weight": np.ones(D)}, EPS, "h.0.mlp.experts.0.weight: expected attention, norms"),
        (GPT | {"h.0.ln_3.weight": np.ones(D)}, EPS, "h.0.ln_3.weight: expected attention, norms"),
        (GPT | {"h.0.layer_scale": np.ones(D)}, EPS, "h.0.layer_scale: expected attention, norms"),
        (GPT | {"rel_pos_bias": np.ones(D)}, EPS, "rel_pos_bias: expected scores of tokens alone"),
        (
            GPT | {f"h.0.cross.{n}.weight": np.eye(D) for n in ("q_proj", "k_proj", "v_proj")},
            EPS,
            "a second one beside",
        ),
        (GPT | torch_layer(OWN, "decoder.0."), EPS, "expected one stack of blocks, got decoder., h.; --prefix"),
        (GPT | {"h.0.norm1.weight": np.ones(D)}, EPS, "expected one gain_1 in a block"),
        (LLAMA, ("--eps", "0.1", "--activation", "silu", "--rotary"), "--kind: expected layer or rms"),
        (LLAMA, ("--eps", "0.1", "--activation", "silu"), "rotary positions: --rotary bounds"),
        (OWN | {"extra": np.ones(2)}, EPS, "names: expected any of w_query"),
        (OWN, (*EPS, "--names", "w_query=q"), "expected an array 'q' as w_query"),
        (OWN, (*EPS, "--names", "w_up=w_up"), "expected arrays w_query, w_key, w_value"),
        (OWN, (*EPS, "--names", "w_top=w_up"), "names: expected any of w_query"),
        ({"one": np.ones(2)}, EPS, "expected blocks of names that are known, got one"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(capsys, tmp_path, arrays, options, words):
    refused(capsys, words, save(tmp_path, arrays), "--block", *options)


def test_norms_before_may_be_told_of_any_names(capsys, tmp_path):
    path = save(tmp_path, bert(OWN, 0))
    assert "norms before each part" in run(capsys, path, "--block", *EPS, "--norm", "pre")[1]
    out = run(capsys, path, "--block", *EPS, "--radius", "2")[1]
    assert "norms after each part" in out
    assert "encoder.layer.0.attention.output.LayerNorm.weight comes after attention, as its name says" in out


def test_options_of_blocks_alone(capsys, tmp_path):
    plain = {name: OWN[name] for name in ("w_query", "w_key", "w_value")}
    for option, value in (("eps", "0.1"), ("kind", "rms"), ("activation", "relu"), ("variance", "1"), ("prefix", "h")):
        refused(
            capsys, f"--{option}: expected with --block or --norm only", save(tmp_path, plain), f"--{option}", value
        )


@pytest.fixture
def torch():
    """PyTorch, where it is."""
    return pytest.importorskip("torch", reason="PyTorch comes with the extra learn")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_layers_of_pytorch_by_file(torch, tmp_path, first, activation):
    """The file of a module and the module itself are the same block, which computes what the module does."""
    from safetensors.torch import save_file  # noqa: PLC0415  it needs PyTorch

    from theory.lipschitz.certificate import as_block  # noqa: PLC0415
    from theory.metric.torch import module_weights  # noqa: PLC0415

    options = {"dropout": 0.0, "activation": activation, "norm_first": first, "batch_first": True}
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, dtype=torch.float64, layer_norm_eps=1e-3, **options).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    held = module_weights(layer)
    assert (held["norm"], held["activation"], held["eps"]) == ("pre" if first else "post", activation, 1e-3)
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    (read,) = read_blocks(tmp_path / "layer.safetensors")
    for name, array in read.items():
        if name != "b_key":
            np.testing.assert_array_equal(array, held[name])
    chosen = {name: held[name] for name in ("heads", "norm", "kind", "eps", "activation")}
    more = {"causal": False, "residual": True, "score": "dot", "scale": None, "rotary": False}
    x = np.random.default_rng(0).normal(size=(5, 8))
    theirs = layer(torch.from_numpy(x)[np.newaxis])[0].detach().numpy()
    np.testing.assert_allclose(as_block(held, **chosen, **more)(x, np.ones(5)), theirs, rtol=1e-11, atol=1e-11)
    found = certify_blocks(held, radius=1.0, search=False)
    again = certify_blocks(read, radius=1.0, search=False, **chosen)
    assert [row.constant for row in found.rows] == [row.constant for row in again.rows]


def test_layers_of_pytorch_that_are_something_else(torch):
    from theory.metric.torch import module_weights  # noqa: PLC0415  it needs PyTorch

    with pytest.raises(ValueError, match="module: expected an activation of relu, gelu"):
        module_weights(torch.nn.TransformerEncoderLayer(8, 2, 12, activation=torch.tanh))
    with pytest.raises(ValueError, match="module: expected an activation of relu, gelu"):
        module_weights(torch.nn.TransformerEncoderLayer(8, 2, 12, activation=torch.nn.ReLU6()))
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12)
    layer.norm1 = torch.nn.RMSNorm(8, eps=1e-5)
    with pytest.raises(ValueError, match=r"module: expected norms torch\.nn\.LayerNorm, got RMSNorm"):
        module_weights(layer)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12)
    layer.norm2.eps = 1e-3
    with pytest.raises(ValueError, match="module: expected norms of one eps"):
        module_weights(layer)
