"""Layer after layer of a network: the certificate of each, at its tokens as well, beside what a search finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from theory.lipschitz.certificate.certify import Certificate, certify
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.portrait.portrait import Portrait, portray


class Step(NamedTuple):
    """One layer."""

    name: str
    certificate: Certificate
    """On the ball of its radius, with what the search found there."""
    portrait: Portrait
    """At its tokens."""


def walk(layers: Mapping[str, Mapping[str, Any]], **options: Any) -> tuple[Step, ...]:
    """Certify and portray the layers of a network.

    Parameters
    ----------
    layers : mapping
        By name: weights as :func:`~theory.lipschitz.certify` takes them, ``tokens`` that reach the layer and perhaps
        the ``radius`` of a ball that holds all that may; that of the longest of the tokens unless given.
    options
        ``heads``, ``causal``, ``residual``, ``score``, ``scale``, ``base`` and ``pairs``, of all layers alike; with a
        base, certificates hold for rotary positions.

    Raises
    ------
    ValueError, TypeError
        As :func:`~theory.lipschitz.certify` and :func:`~theory.lipschitz.portrait.portray` do.
    """
    if not isinstance(layers, Mapping) or not layers:
        raise ValueError(f"layers: expected weights by the names of layers, got {layers!r}")
    plain = {key: option for key, option in options.items() if key not in ("base", "pairs")}
    plain["rotary"] = options.get("base") is not None
    steps = []
    for name, given in layers.items():
        tell(name)
        weights = {key: array for key, array in given.items() if key not in ("tokens", "radius")}
        if "tokens" not in given:
            raise ValueError(f"layers: expected tokens of {name}, got {', '.join(given)}")
        portrait = portray(**weights, tokens=given["tokens"], **options)
        longest = float(np.nextafter(np.linalg.norm(portrait.tokens, axis=1).max() * (1.0 + 1e-12), np.inf))
        radius = given.get("radius", longest)
        if radius < longest * (1.0 - 1e-9):
            raise ValueError(f"layers: expected tokens of {name} no longer than {radius}, got one of {longest}")
        certificate = certify(**weights, radius=radius, n=len(portrait.tokens), **plain)
        steps.append(Step(name, certificate, portrait))
    return tuple(steps)
