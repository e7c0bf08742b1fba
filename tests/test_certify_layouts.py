"""``python -m theory certify`` on files as people have them: names, biases, fused, grouped, half precision."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import safetensors.numpy

from theory.__main__ import main
from theory.lipschitz.certificate import certify, read_weights

D = 4
RNG = np.random.default_rng(3)
Q, K, V, OUT = (0.5 * RNG.normal(size=(D, D)) for _ in range(4))
BQ, BK, BV, BO = RNG.normal(size=(4, D))
PLAIN = {"w_query": Q, "w_key": K, "w_value": V, "w_out": OUT}
TOKENS = {"radius": 1.0, "n": 5, "search": False}
TORCH = {
    "in_proj_weight": np.vstack([Q, K, V]), "in_proj_bias": np.concatenate([BQ, BK, BV]),
    "out_proj.weight": OUT, "out_proj.bias": BO,
}  # fmt: skip
GPT = {
    "h.0.attn.c_attn.weight": np.vstack([Q, K, V]).T, "h.0.attn.c_attn.bias": np.concatenate([BQ, BK, BV]),
    "h.0.attn.c_proj.weight": OUT.T, "h.0.attn.c_proj.bias": BO, "h.0.attn.bias": np.tril(np.ones((1, 1, 6, 6))),
    "h.0.attn.masked_bias": np.array(-1e4), "h.0.ln_1.weight": np.ones(D), "h.0.ln_1.bias": np.ones(D),
    "wpe.weight": np.ones((6, D)),
}  # fmt: skip
LINEAR = {
    f"block.attn.{name}_proj.{kind}": array
    for name, pair in (("q", (Q, BQ)), ("k", (K, BK)), ("v", (V, BV)), ("o", (OUT, BO)))
    for kind, array in zip(("weight", "bias"), pair, strict=True)
}


def run(capsys, path, *options):
    """Return status, output and errors of one command."""
    status = main(["certify", str(path), "--no-search", "--tokens", "5", *options])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def save(tmp_path, arrays):
    np.savez(tmp_path / "weights.npz", **arrays)
    return tmp_path / "weights.npz"


def constants_of(text):
    return [row["constant"] for row in json.loads(text)["rows"]]


def expected(**options):
    return [row.constant for row in certify(**{**PLAIN, **TOKENS, **options}).rows]


def refused(capsys, words, path, *options):
    status, out, err = run(capsys, path, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_all_biases_by_their_own_names(capsys, tmp_path):
    path = save(tmp_path, {**PLAIN, "b_query": BQ, "b_key": BK, "b_value": BV, "b_out": BO})
    assert constants_of(run(capsys, path, "--json")[1]) == expected(b_query=BQ)
    out = run(capsys, path)[1]
    assert "b_query, as b_query: enters the constants" in out
    assert "with the query bias (|B| R + |c|) R at most" in out
    for name, why in (("b_key", "drops out of the softmax"), ("b_value", "moves all outputs"), ("b_out", "moves all")):
        assert any(name in line and why in line for line in out.splitlines())
    assert set(read_weights(path)) == {*PLAIN, "b_query"}


def test_a_layer_of_pytorch_is_recognised(capsys, tmp_path):
    status, out, err = run(capsys, save(tmp_path, TORCH), "--heads", "2", "--json")
    assert (status, err) == (0, "")
    assert constants_of(out) == expected(b_query=BQ, heads=2)
    assert any("names taken" in note and "in_proj_weight" in note for note in json.loads(out)["notes"])


@pytest.fixture
def torch():
    """PyTorch, where it is."""
    return pytest.importorskip("torch", reason="PyTorch comes with the extra learn")


def test_pytorch_agrees(torch, tmp_path):
    """What the module computes is what the arrays that are read stand for, bias and all."""
    from safetensors.torch import save_file  # noqa: PLC0415  it needs PyTorch

    layer = torch.nn.MultiheadAttention(D, 2, bias=True, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_bias.copy_(torch.from_numpy(TORCH["in_proj_bias"]))
        layer.out_proj.bias.copy_(torch.from_numpy(BO))
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    found = read_weights(tmp_path / "layer.safetensors")
    x = np.random.default_rng(0).normal(size=(5, D))
    total = np.zeros((5, D))
    parts = zip(*(np.split(found[name], 2) for name in ("w_query", "b_query", "w_key", "w_value")), strict=True)
    for (query, bias, key, value), out in zip(parts, np.split(found["w_out"], 2, axis=1), strict=True):
        scores = (x @ query.T + bias) @ (x @ key.T).T / math.sqrt(D / 2)
        laws = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        total += laws @ x @ value.T @ out.T
    tokens = torch.from_numpy(x)[np.newaxis]
    truth = layer(tokens, tokens, tokens, need_weights=False)[0].detach().numpy()[0]
    np.testing.assert_allclose(truth - truth[0], total - total[0], rtol=1e-10, atol=1e-12)  # but for a translation


def test_a_block_of_gpt_is_proposed_and_read(capsys, tmp_path):
    path = save(tmp_path, GPT)
    refused(capsys, "--names w_qkv=h.0.attn.c_attn.weight,w_out=h.0.attn.c_proj.weight", path)
    names = "w_qkv=h.0.attn.c_attn.weight,w_out=h.0.attn.c_proj.weight"
    assert constants_of(run(capsys, path, "--names", names, "--json")[1]) == expected(b_query=BQ)
    out = run(capsys, path, "--names", names)[1]
    assert "c_attn.bias stands beside h.0.attn.c_attn.weight" in out
    assert "columns of matrices: y = x W, as the shape of h.0.attn.c_attn.weight says" in out
    assert "h.0.attn.bias is a causal mask" in out
    refused(capsys, "convention: expected columns for w_qkv", path, "--names", names, "--convention", "rows")
    not_lower = {**GPT, "h.0.attn.bias": np.ones((1, 1, 6, 6))}
    refused(capsys, "expected every bias beside the matrices to be known", save(tmp_path, not_lower), "--names", names)


def test_linear_layers_with_their_biases(capsys, tmp_path):
    path = save(tmp_path, {**LINEAR, "block.mlp.weight": Q})
    err = run(capsys, path)[2]
    names = err.rpartition("--names ")[2].strip()
    assert constants_of(run(capsys, path, "--names", names, "--json")[1]) == expected(b_query=BQ)
    for gone in ("w_key", "w_value", "w_query"):
        rest = ",".join(part for part in names.split(",") if not part.startswith(gone))
        refused(capsys, f"expected an array '{gone}'", path, "--names", rest)


def test_grouped_heads(capsys, tmp_path):
    """Four heads of the queries, two of keys and values, are four heads of which two and two are equal."""
    rng = np.random.default_rng(5)
    query, out = rng.normal(size=(8, D)), rng.normal(size=(D, 8))
    key, value = rng.normal(size=(2, 4, D))
    full = [np.repeat(m.reshape(2, 2, D), 2, axis=0).reshape(8, D) for m in (key, value)]
    path = save(tmp_path, {"w_query": query, "w_key": key, "w_value": value, "w_out": out})
    truth = certify(query, *full, 1.0, w_out=out, heads=4, n=5, search=False)
    assert constants_of(run(capsys, path, "--heads", "4", "--json")[1]) == [row.constant for row in truth.rows]
    refused(capsys, "w_key: expected shape (8, d), or 8 rows for each of fewer heads", path)
    searched = certify(query, key, value, 0.5, w_out=out, heads=4, n=3)
    assert all(0.0 < row.lower <= row.constant for row in searched.rows)


def test_scale(capsys, tmp_path):
    path = save(tmp_path, PLAIN)
    for scale in (0.25, 1.0, 1e-10):
        changed = expected(w_query=scale * math.sqrt(D) * Q)
        found = constants_of(run(capsys, path, "--scale", str(scale), "--json")[1])
        np.testing.assert_allclose(found, changed, rtol=1e-9, atol=0.0)
    refused(capsys, "scale: expected", path, "--scale", "0")
    refused(capsys, "scale: expected", path, "--scale", "1e30")
    tied = {"w_query": Q, "w_key": Q, "w_value": V, "radius": 0.5, "score": "distance"}
    for row, other in zip(certify(**tied, scale=1.0, n=3).rows, certify(**tied, n=3).rows, strict=True):
        assert other.constant < row.constant
        assert row.lower <= row.constant


def test_convention(capsys, tmp_path):
    path = save(tmp_path, {name: matrix.T for name, matrix in PLAIN.items()})
    assert constants_of(run(capsys, path, "--convention", "columns", "--json")[1]) == expected()
    assert constants_of(run(capsys, path, "--json")[1]) != expected()
    assert "their shapes cannot tell: --convention columns" in run(capsys, path)[1]
    assert "cannot tell" not in run(capsys, path, "--convention", "rows")[1]
    flat = save(tmp_path, {name: PLAIN[name][:2] for name in ("w_query", "w_key", "w_value")})
    assert "tokens are of 4 numbers: --convention columns" in run(capsys, flat)[1]  # of 2 the other way: both fit
    assert "tokens are" not in run(capsys, flat, "--convention", "columns")[1]
    path = save(tmp_path, {name: matrix.T for name, matrix in PLAIN.items()})
    refused(capsys, "convention: expected one of rows, columns", path, "--convention", "diagonal")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_read_exactly(torch, tmp_path, dtype):
    from safetensors.torch import save_file  # noqa: PLC0415  it needs PyTorch

    tensors = {name: torch.from_numpy(matrix).to(getattr(torch, dtype)) for name, matrix in PLAIN.items()}
    save_file(tensors, tmp_path / "weights.safetensors")
    found = read_weights(tmp_path / "weights.safetensors")
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(np.asarray(found[name], dtype=np.float64), tensor.to(torch.float64).numpy())


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin"])
def test_pickles_are_refused_with_the_reason(torch, capsys, tmp_path, suffix):
    torch.save({"w_query": torch.eye(2)}, tmp_path / f"weights{suffix}")
    refused(capsys, "got a pickle, which can run any code when it is read", tmp_path / f"weights{suffix}")


@pytest.mark.parametrize(
    ("called", "words"),
    [
        ("block.attn.rotary_emb.inv_freq", "rotary positions: --rotary bounds the layer at all positions"),
        ("model.relative_attention_bias.weight", "relative positions, for which no theorem here holds"),
        ("block.attn.q_norm.weight", "another change of queries"),
        ("block.attn.bias_k", "another change of queries"),
        ("block.attn.norm_q.weight", "another change of queries"),
        ("block.attn.qk_norm.weight", "another change of queries"),
        ("block.attn.q_a_layernorm.weight", "another change of queries"),
        ("block.attn.v_norm.weight", "another change of queries"),
        ("block.attn.attn_sub_norm.weight", "another change of queries"),
        ("block.attn.sinks", "another change of queries"),
        ("block.attn.logit_scale", "another change of queries"),
        ("block.attn.q_proj.lora_A.default.weight", "another change of queries"),
        ("block.attn.o_proj.weight_scale", "another change of queries"),
        ("encoder.rel_embeddings.weight", "relative positions, for which no theorem here holds"),
        ("block.attn.pos_key_proj.weight", "relative positions, for which no theorem here holds"),
        ("block.attn.gate_bias", "expected every bias beside the matrices to be known"),
        ("block.attn.bq", "expected every bias beside the matrices to be known"),
        ("block.attn.q_b", "expected every bias beside the matrices to be known"),
        ("block.attn.query/b", "expected every bias beside the matrices to be known"),
    ],
)
def test_what_changes_scores_is_refused_by_name(capsys, tmp_path, called, words):
    names = ",".join(f"w_{role}=block.attn.{letter}_proj.weight" for role, letter in
                     (("query", "q"), ("key", "k"), ("value", "v"), ("out", "o")))  # fmt: skip
    path = save(tmp_path, {**LINEAR, called: np.ones(D)})
    refused(capsys, words, path, "--names", names)
    refused(capsys, called, path, "--names", names)


def test_a_module_above_that_is_called_a_norm_hides_no_bias(capsys, tmp_path):
    arrays = {f"prenorm.attn.{part}.weight": m for part, m in (("q", Q), ("k", K), ("v", V))}
    path = save(tmp_path, {**arrays, "prenorm.attn.q_bias": BQ})
    names = ",".join(f"w_{role}=prenorm.attn.{role[0]}.weight" for role in ("query", "key", "value"))
    refused(capsys, "expected every bias beside the matrices to be known", path, "--names", names)


@pytest.mark.parametrize(
    ("called", "words"),
    [
        ("layer.attn.q_bias", "expected every bias beside the matrices to be known"),
        ("layer.attn.bv", "expected every bias beside the matrices to be known"),
        ("layer.attn.k_norm.weight", "another change of queries"),
        ("layer.attn.sinks", "another change of queries"),
    ],
)
def test_what_the_module_above_holds_itself(capsys, tmp_path, called, words):
    """Projections may have a module of their own; other layers and perceptrons beside it are no part of attention."""
    arrays = {f"layer.attn.parts.{part}.weight": m for part, m in (("q", Q), ("k", K), ("v", V))}
    arrays |= {"layer.attn.dropout.q_norm.weight": BQ, "layer.mlp.bias": BQ, "layer.attn.mlp.fc.bias": BQ}
    names = ",".join(f"w_{role}=layer.attn.parts.{role[0]}.weight" for role in ("query", "key", "value"))
    assert run(capsys, save(tmp_path, arrays), "--names", names)[0] == 0
    refused(capsys, words, save(tmp_path, {**arrays, called: BQ}), "--names", names)


def test_a_fused_matrix_with_a_bias_of_each_part(capsys, tmp_path):
    arrays = {"attn.qkv.weight": np.vstack([Q, K, V]), "attn.q_bias": BQ, "attn.v_bias": BV, "attn.proj.weight": OUT}
    path = save(tmp_path, arrays)
    names = "w_qkv=attn.qkv.weight,w_out=attn.proj.weight"
    refused(capsys, "--names b_query=attn.q_bias", path, "--names", names)
    refused(capsys, "attn.v_bias: expected every bias", path, "--names", f"{names},b_query=attn.q_bias")
    found = run(capsys, path, "--names", f"{names},b_query=attn.q_bias,b_value=attn.v_bias", "--json")[1]
    assert constants_of(found) == expected(b_query=BQ)


def test_names_given_twice(capsys, tmp_path):
    """A name for two arrays is refused; an array for two names, as ties are, is told."""
    path = save(tmp_path, {"q": Q, "k": K, "v": V})
    refused(capsys, "--names: expected every name once", path, "--names", "w_query=q,w_key=k,w_value=v,w_query=k")
    out = run(capsys, path, "--names", "w_query=q,w_key=q,w_value=v")[1]
    assert "q is taken as each of w_query, w_key" in out
    assert "is taken as each" not in run(capsys, path, "--names", "w_query=q,w_key=k,w_value=v")[1]


def test_rotary_positions(capsys, tmp_path):
    """The bound at all positions is that of the product of norms; measures of tokens have none."""
    arrays = {name: array for name, array in LINEAR.items() if not name.endswith("k_proj.bias")}
    names = ",".join(f"w_{role}=block.attn.{letter}_proj.weight" for role, letter in
                     (("query", "q"), ("key", "k"), ("value", "v"), ("out", "o")))  # fmt: skip
    path = save(tmp_path, {**arrays, "block.attn.rotary_emb.inv_freq": np.ones(2)})
    status, out, err = run(capsys, path, "--names", names, "--rotary")
    assert (status, err) == (0, "")
    assert "scale |W_Q| |W_K| R^2 by heads at most" in out
    assert "(scale |W_Q| |W_K| R + scale |W_K| |b_Q|) R at most" in out
    assert "scores of tokens turned by their positions" in out
    assert out.count("outputs depend on positions") == 3
    alpha = np.linalg.norm(Q, 2) * np.linalg.norm(K, 2) / 2.0
    beta = alpha + np.linalg.norm(K, 2) * np.linalg.norm(BQ) / 2.0
    largest = np.linalg.norm(OUT @ V, 2) * (1.0 + alpha + beta)
    found = json.loads(run(capsys, path, "--names", names, "--rotary", "--json")[1])
    constant = {row["metric"]: row["constant"] for row in found["rows"]}
    assert largest <= constant["max"] <= largest * (1.0 + 1e-9)
    assert constant["W1"] is None
    for row in certify(**PLAIN, radius=0.5, n=6, rotary=True, residual=True).rows:
        assert row.constant is None or 1.0 < row.lower <= row.constant
    biased = run(capsys, save(tmp_path, LINEAR), "--names", names, "--rotary", "--json")[1]
    longest = np.linalg.norm(K, 2) + np.linalg.norm(BK)
    own, both = (longest * (np.linalg.norm(Q, 2) + more) / 2.0 for more in (0.0, np.linalg.norm(BQ)))
    largest = np.linalg.norm(OUT @ V, 2) * (1.0 + own + both)
    constant = {row["metric"]: row["constant"] for row in json.loads(biased)["rows"]}
    assert largest <= constant["max"] <= largest * (1.0 + 1e-9)
    assert any("b_key: enters the constants" in note for note in json.loads(biased)["notes"])
    refused(capsys, "rotary: expected dot products", save(tmp_path, {"w_query": Q, "w_key": Q, "w_value": V}),
            "--rotary", "--score", "distance")  # fmt: skip


def test_norms_beside_are_told_and_those_of_queries_refused(capsys, tmp_path):
    """A norm of whole tokens is no part of attention; beside a fused matrix alone its module is looked at."""
    names = "w_query=attention.self.query.weight,w_key=attention.self.key.weight,w_value=attention.self.value.weight"
    arrays = {f"attention.self.{name}.weight": m for name, m in (("query", Q), ("key", K), ("value", V))}
    arrays |= {"attention.output.dense.weight": OUT, "attention.output.LayerNorm.bias": BO}
    path = save(tmp_path, arrays)
    out = run(capsys, path, "--names", f"{names},w_out=attention.output.dense.weight")[1]
    assert "attention.output.LayerNorm.bias: norms of the same layer, not used" in out
    fused = {"blocks.0.attn.qkv.weight": np.vstack([Q, K, V]), "blocks.0.attn.q_norm.weight": np.ones(D)}
    path = save(tmp_path, fused)
    refused(capsys, "another change of queries", path, "--names", "w_qkv=blocks.0.attn.qkv.weight")


def test_what_is_not_used_is_said(capsys, tmp_path):
    """Norms and the feed-forward part of the layer by their names, of all else the first names and the number."""
    others = {f"h.{k}.{part}.weight": np.ones(1) for k in range(1, 9) for part in ("ln_1", "mlp.c_fc")}
    arrays = {**GPT, "h.0.mlp.c_fc.weight": Q, "h.0.mlp.c_fc.bias": BQ, "ln_f.weight": BO, **others}
    names = "w_qkv=h.0.attn.c_attn.weight,w_out=h.0.attn.c_proj.weight"
    out = run(capsys, save(tmp_path, arrays), "--names", names)[1]
    assert "h.0.ln_1.bias, h.0.ln_1.weight: norms of the same layer, not used" in out
    assert "h.0.mlp.c_fc.bias, h.0.mlp.c_fc.weight: feed-forward part of the same layer, not used" in out
    assert "not used, of other parts: h.1.ln_1.weight, h.1.mlp.c_fc.weight" in out
    assert "and 6 more" in out


@pytest.mark.parametrize("called", ["block.attn.q_norm.weight", "block.attn.relative_attention_bias.weight"])
@pytest.mark.parametrize("known", [True, False])
def test_scores_that_no_names_would_help_are_refused_first(capsys, tmp_path, called, known):
    arrays = LINEAR if known else {f"block.attn.{letter}": m for letter, m in (("one", Q), ("two", K), ("three", V))}
    refused(capsys, f"{called}: expected scores of", save(tmp_path, {**arrays, called: np.ones(D)}))


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2"])
def test_eight_bits_are_refused_in_plain_words(capsys, tmp_path, kind):
    shapes = {name: list(matrix.shape) for name, matrix in PLAIN.items()}
    starts = {name: 16 * k for k, name in enumerate(shapes)}
    about = {n: {"dtype": kind, "shape": s, "data_offsets": [starts[n], starts[n] + 16]} for n, s in shapes.items()}
    header = json.dumps(about).encode()
    (tmp_path / "w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(64))
    refused(capsys, f"expected numbers of half precision or more, got {kind}", tmp_path / "w.safetensors")


def test_biases_under_distances(capsys, tmp_path):
    tied = {"w_query": Q, "w_key": Q, "w_value": V}
    same = {**tied, "b_query": BQ, "b_key": BQ}
    out = run(capsys, save(tmp_path, same), "--score", "distance")[1]
    assert "b_query and b_key are the same and cancel" in out
    for biases in ({"b_query": BQ}, {"b_key": BQ}, {"b_query": BQ, "b_key": BK}):
        refused(capsys, "expected the same for distance", save(tmp_path, {**tied, **biases}), "--score", "distance")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({**PLAIN, "b_query": BQ[:2]}, "b_query: expected one number for every output"),
        ({**PLAIN, "b_key": BK[:, np.newaxis]}, "b_key: expected one number for every output"),
        ({**PLAIN, "b_value": np.full(D, np.nan)}, "b_value: expected finite"),
        ({**PLAIN, "w_qkv": np.vstack([Q, K, V])}, "expected w_qkv or w_query, w_key, w_value"),
        ({"w_qkv": np.vstack([Q, K])}, "w_qkv: expected shape (3 d, d) or (d, 3 d)"),
        ({"w_qkv": np.vstack([Q, K, V]), "b_qkv": BQ}, "b_qkv: expected shape (12,)"),
        ({**PLAIN, "b_qkv": BQ}, "expected b_qkv beside w_qkv only"),
        ({"w_qkv": np.vstack([Q, K, V]), "b_qkv": np.ones(12), "b_query": BQ}, "expected b_qkv or b_query"),
        ({"w_qkv": np.vstack([Q, K, V]), "b_query": np.ones(12)}, "b_query: expected one number for every output"),
    ],
)
def test_arrays_that_do_not_fit(capsys, tmp_path, arrays, words):
    refused(capsys, words, save(tmp_path, arrays))


def test_heads_that_are_interleaved_are_refused(capsys, tmp_path):
    path = save(tmp_path, {"attn.query_key_value.weight": np.vstack([Q, K, V])})
    refused(capsys, "head by head; split them", path, "--names", "w_qkv=attn.query_key_value.weight")


def test_many_names_are_not_all_listed(capsys, tmp_path):
    path = save(tmp_path, {f"layer.{k}": np.ones(1) for k in range(100)})
    refused(capsys, "and 88 more; --names NAME=KEY", path)


def test_safetensors_of_numpy_with_names(tmp_path):
    safetensors.numpy.save_file(TORCH, tmp_path / "weights.safetensors")
    found = read_weights(tmp_path / "weights.safetensors")
    for name, matrix in {**PLAIN, "b_query": BQ}.items():
        np.testing.assert_array_equal(found[name], matrix)
