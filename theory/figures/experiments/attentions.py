"""Attentions and tasks as the figures of the reported experiments name and colour them."""

from __future__ import annotations

from theory.figures import _style as style

ATTENTIONS = {
    "self": "dot product", "wide": "dot product, wide start", "l2": "distance", "metric": "metric", "entmax": "entmax",
}  # fmt: skip
HUES = {
    "self": style.BLACK, "wide": style.BLUE, "l2": style.SKY, "metric": style.ORANGE, "entmax": style.GREEN,
    "again": style.PURPLE,
}  # fmt: skip
TASKS = {
    "moons": "two moons", "digits": "digits", "segmentation": "segmentation", "translation": "translation",
}  # fmt: skip
RULES = {"published": "published rate", "tuned": "chosen rate"}
