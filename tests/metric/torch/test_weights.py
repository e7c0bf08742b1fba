"""Weights that are read of modules of PyTorch give the outputs of these modules."""

import numpy as np
import pytest

from theory.figures.portrait import look
from theory.lipschitz import certify
from theory.lipschitz.certificate import tangents
from theory.lipschitz.portrait import portray

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.metric.torch import Transformer, attention_module, module_weights  # noqa: E402  it imports PyTorch
from theory.metric.torch.parametrised import Parametrised  # noqa: E402

X = np.random.default_rng(0).normal(size=(5, 8))


def filled(module):
    """Give a module drawn parameters."""
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.data = torch.from_numpy(0.5 * rng.normal(size=tuple(parameter.shape)))
    return module


def outputs(module, **options):
    return tangents.outputs(portray(**module_weights(module), tokens=X, **options).layer, X)


@pytest.mark.parametrize("bias", [False, True])
def test_multihead_attention(bias):
    module = filled(torch.nn.MultiheadAttention(8, 2, bias=bias, batch_first=True).double())
    x = torch.from_numpy(X)[None]
    mask = ~torch.ones(5, 5, dtype=torch.bool).tril()
    for causal in (False, True):
        theirs = module(x, x, x, attn_mask=mask if causal else None, need_weights=False)[0][0].detach().numpy()
        ours = outputs(module, causal=causal)
        if bias:  # values and outputs are moved, all alike
            theirs, ours = theirs - theirs[0], ours - ours[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)
    assert ("b_query" in module_weights(module)) is bias
    assert certify(**module_weights(module), radius=1.0, search=False).row("max").constant > 0.0


def test_modules_of_the_suite(tmp_path):
    module = filled(attention_module("self", 8, 6, heads=2))
    x = torch.from_numpy(X)
    np.testing.assert_allclose(outputs(module), module(x, x, x).detach().numpy(), rtol=1e-11, atol=1e-12)
    transformer = filled(Transformer(9, 9, dim=8, heads=2, layers=1, hidden=4, width=6).double())
    mixing = transformer.encoder[0].mixings[0]
    with torch.no_grad():
        mixing.value.bias.zero_()
        mixing.output.bias.zero_()
    theirs = mixing(x, x, torch.ones(5, 5, dtype=torch.bool)).detach().numpy()
    np.testing.assert_allclose(outputs(mixing), theirs, rtol=1e-11, atol=1e-12)
    found = look(mixing, X, out=tmp_path, causal=True)
    assert found.layer.causal
    assert (tmp_path / "ellipses.svg").exists()


def test_modules_that_are_something_else_are_refused():
    for kind in ("l2", "metric", "entmax"):
        with pytest.raises(ValueError, match="module: expected scores of dot products and a softmax, got"):
            module_weights(filled(attention_module(kind, 8, 8)))
    for options in ({"add_bias_kv": True}, {"add_zero_attn": True}):
        with pytest.raises(ValueError, match="module: expected attention to tokens alone"):
            module_weights(torch.nn.MultiheadAttention(8, 2, **options))
    with pytest.raises(ValueError, match="module: expected keys and values of dimension 8"):
        module_weights(torch.nn.MultiheadAttention(8, 2, kdim=4))
    with pytest.raises(TypeError, match=r"module: expected torch\.nn\.MultiheadAttention, .* got Linear"):
        module_weights(torch.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="got Parametrised"):
        module_weights(Parametrised({"matrix": (2, 2)}))
    odd = filled(attention_module("self", 8, 6, heads=3))
    with pytest.raises(ValueError, match="module: expected a multiple of 3 heads"):
        module_weights(odd)
    broken = filled(attention_module("self", 8, 6))
    with torch.no_grad():
        broken.key[0, 0] = float("nan")
    with pytest.raises(ValueError, match="module: expected finite weights"):
        module_weights(broken)


def test_a_block_is_not_drawn(tmp_path):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12)
    for weights in (layer, module_weights(layer)):
        with pytest.raises(ValueError, match="weights: expected a layer of attention, got a block around one"):
            look(weights, X, out=tmp_path / "pictures")
    assert not (tmp_path / "pictures").exists()
