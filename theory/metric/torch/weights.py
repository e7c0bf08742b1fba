"""Weights of a PyTorch module of self-attention, as arrays that certificates and portraits take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from theory._extra import extra
from theory.metric.torch.modules import Attention, SelfAttention
from theory.metric.torch.transformer import Mixing

if TYPE_CHECKING:
    import torch
else:
    torch = extra("torch")

_KNOWN = (
    "torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer, or SelfAttention or Mixing of theory.metric.torch"
)


def module_weights(module: torch.nn.Module) -> dict[str, Any]:
    """Return the weights of a module of softmax attention of tokens to themselves, or of a block around one.

    Parameters
    ----------
    module : torch.nn.Module
        ``torch.nn.MultiheadAttention``, or ``SelfAttention`` of :mod:`theory.metric.torch`, whose values are the tokens
        themselves, or ``Mixing`` of its transformer; or ``torch.nn.TransformerEncoderLayer``.

    Returns
    -------
    dict
        For ``certify`` and ``portray``: ``w_query``, ``w_key``, ``w_value``, perhaps ``w_out`` and ``b_query``, in
        float64, and ``heads``. Biases of keys, values and outputs are left out: they change no derivative, and the last
        two move all outputs alike. Of a block, for ``certify_blocks``: all its arrays and options.

    Raises
    ------
    TypeError
        If it is another module.
    ValueError
        If its weights are no softmax of dot products of tokens, tokens of keys have another dimension, or a block has
        an activation that is not known or norms of two kinds.
    """
    if isinstance(module, torch.nn.TransformerEncoderLayer):
        return _encoder_layer(module)
    if isinstance(module, torch.nn.MultiheadAttention):
        return _multihead(module)
    if isinstance(module, Mixing):
        found = _own(module.attention)
        return {**found, "w_value": _array(module.value.matrix).T, "w_out": _array(module.output.matrix).T}
    if isinstance(module, Attention):
        return _own(module)
    raise TypeError(f"module: expected {_KNOWN}, got {type(module).__name__}")


def _own(attention: Attention) -> dict[str, Any]:
    """Return the weights of a module whose values are the tokens."""
    probe = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    if not isinstance(attention, SelfAttention) or not torch.allclose(attention.rows(probe), probe.softmax(dim=-1)):
        raise ValueError(
            f"module: expected scores of dot products and a softmax, got {type(attention).__name__} with others, for "
            "which no theorem here holds"
        )
    query, key = _array(attention.query).T, _array(attention.key).T
    if attention.dim % attention.heads:
        raise ValueError(f"module: expected a multiple of {attention.heads} heads as dimension, got {attention.dim}")
    return {"w_query": query, "w_key": key, "w_value": np.eye(attention.dim), "heads": attention.heads}


def _multihead(module: torch.nn.MultiheadAttention) -> dict[str, Any]:
    if module.bias_k is not None or module.bias_v is not None or module.add_zero_attn:
        raise ValueError("module: expected attention to tokens alone, got add_bias_kv or add_zero_attn")
    if module.in_proj_weight is None:
        raise ValueError(
            f"module: expected keys and values of dimension {module.embed_dim}, as the tokens have, got kdim "
            f"{module.kdim} and vdim {module.vdim}"
        )
    query, key, value = np.split(_array(module.in_proj_weight), 3)
    found = {"w_query": query, "w_key": key, "w_value": value, "w_out": _array(module.out_proj.weight)}
    if module.in_proj_bias is not None:
        found["b_query"] = np.split(_array(module.in_proj_bias), 3)[0]
    return {**found, "heads": module.num_heads}


def _encoder_layer(module: torch.nn.TransformerEncoderLayer) -> dict[str, Any]:
    found = _multihead(module.self_attn)
    if module.self_attn.in_proj_bias is not None:
        found["b_value"] = np.split(_array(module.self_attn.in_proj_bias), 3)[2]
        found["b_out"] = _array(module.self_attn.out_proj.bias)
    for norm in (module.norm1, module.norm2):
        if not isinstance(norm, torch.nn.LayerNorm):
            raise ValueError(f"module: expected norms torch.nn.LayerNorm, got {type(norm).__name__}")
    if module.norm1.eps != module.norm2.eps:
        raise ValueError(f"module: expected norms of one eps, got {module.norm1.eps} and {module.norm2.eps}")
    for at, norm in (("_1", module.norm1), ("_2", module.norm2)):
        parts = {"gain": norm.weight, "shift": norm.bias}
        found |= {f"{name}{at}": _array(part) for name, part in parts.items() if part is not None}
    for name, linear in (("up", module.linear1), ("down", module.linear2)):
        found[f"w_{name}"] = _array(linear.weight)
        if linear.bias is not None:
            found[f"b_{name}"] = _array(linear.bias)
    order = "pre" if module.norm_first else "post"
    return {**found, "norm": order, "kind": "layer", "eps": module.norm1.eps, "activation": _activation(module)}


def _activation(module: torch.nn.TransformerEncoderLayer) -> str:
    """Return the name of an activation, as ``certify_blocks`` has it, by its values."""
    probe = torch.linspace(-16.0, 16.0, 129, dtype=torch.float64)
    known = {
        "relu": torch.relu(probe),
        "gelu": torch.nn.functional.gelu(probe),
        "gelu-tanh": torch.nn.functional.gelu(probe, approximate="tanh"),
        "silu": torch.nn.functional.silu(probe),
    }
    with torch.no_grad():
        values = module.activation(probe)
    for name, truth in known.items():
        if torch.allclose(values, truth, rtol=0.0, atol=1e-12):
            return name
    raise ValueError(f"module: expected an activation of {', '.join(known)}, got {module.activation}")


def _array(parameter: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    array = np.asarray(parameter.detach().cpu().double().numpy())
    if not all(math.isfinite(edge) for edge in (array.min(), array.max())):
        raise ValueError("module: expected finite weights, got others")
    return array
