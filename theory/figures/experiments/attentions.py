"""Arms and tasks as the figures of the experiments name and colour them."""

from __future__ import annotations

from theory.figures import _style as style

SIMILARITIES = {
    "dot": "dot product", "features": "dot product of features", "distance": "distance", "metric": "metric",
    "entmax": "entmax",
}  # fmt: skip
HUES = {
    "dot": style.BLACK, "features": style.BLUE, "distance": style.SKY, "metric": style.ORANGE, "entmax": style.GREEN,
    "none": style.GREY,
}  # fmt: skip
ARCHITECTURES = {"published": "weighted means alone", "residual": "with residual", "block": "transformer block"}
TASKS = {
    "moons": "two moons", "digits": "digits", "meshes": "meshes",
    "numerals": "numerals", "digits-long": "digits, longer", "meshes-long": "meshes, longer",
}  # fmt: skip
COLUMNS = 3  # tasks beside each other; the longer runs stand below those that they prolong
