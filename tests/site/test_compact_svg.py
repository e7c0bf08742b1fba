"""Pictures that are made smaller show the same: places of paths and of symbols, within a rounding."""

import re
from pathlib import Path

import pytest

from theory.site.compact_svg import compact

FIGURES = sorted((Path(__file__).parents[2] / "figures").glob("*.svg"))
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
TAKES = {"m": 2, "l": 2, "h": 1, "v": 1, "q": 4, "c": 6, "z": 0}


def places(path):
    """Return all points of a path, as they stand on the page."""
    found, x, y, x0, y0 = [], 0.0, 0.0, 0.0, 0.0
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*(?:e-?\d+[^A-Za-z]*)*)", path):
        values = [float(number) for number in NUMBER.findall(numbers)]
        kind, size = command.lower(), TAKES[command.lower()]
        if kind == "z":
            x, y = x0, y0
            continue
        assert len(values) % size == 0, (command, numbers)
        for k in range(0, len(values), size):
            part = values[k : k + size]
            if kind in "hv":  # the maker of small pictures writes them from point to point only
                assert command.islower()
                part = [part[0], 0.0] if kind == "h" else [0.0, part[0]]
            pairs = zip(part[::2], part[1::2], strict=True)
            moved = [(a + x, b + y) if command.islower() else (a, b) for a, b in pairs]
            found += moved
            x, y = moved[-1]
            if kind == "m":
                x0, y0 = x, y
    return found


def shapes(text):
    """Return the paths of a picture that are neither letters nor places of symbols, in their order."""
    tags = re.findall(r"<path [^>]*>", text)
    return [
        places(re.search(r'\bd="([^"]*)"', tag)[1])
        for tag in tags
        if "scale(" not in tag and "marker:" not in tag and " d=" in tag
    ]


def symbols(text):
    """Return where symbols stand: uses with two places, and points of lines that carry one at each."""
    uses = re.findall(r'<use [^>]*\bx="([^"]*)" y="([^"]*)"[^>]*style=', text)
    return [(float(x), float(y)) for x, y in uses]


@pytest.mark.parametrize("path", FIGURES[::6], ids=lambda path: path.stem)
def test_paths_keep_their_places(path):
    whole = path.read_text(encoding="utf-8")
    small = compact(whole)
    assert len(small) < 0.75 * len(whole)
    circles = re.findall(r"<circle ", small)
    before = [each for each in shapes(whole) if each]
    after = [each for each in shapes(small) if each]
    if circles:  # some paths became circles
        assert len(before) == len(after) + len(circles)
        return
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        assert len(one) == len(other)
        assert all(abs(a - c) <= 0.0501 and abs(b - d) <= 0.0501 for (a, b), (c, d) in zip(one, other, strict=True))


@pytest.mark.parametrize("path", FIGURES[3::9], ids=lambda path: path.stem)
def test_symbols_keep_their_places(path):
    whole = path.read_text(encoding="utf-8")
    small = compact(whole)
    before = symbols(whole)
    after = [(float(x), float(y)) for x, y in re.findall(r'<use [^>]*\bx="([^"]*)" y="([^"]*)"', small)]
    for tag in re.findall(r"<path [^>]*marker:[^>]*>", small):
        after += places(re.search(r'\bd="([^"]*)"', tag)[1])
    near = {(round(10 * x) + i, round(10 * y) + j) for x, y in after for i in (-1, 0, 1) for j in (-1, 0, 1)}
    assert {(round(10 * x), round(10 * y)) for x, y in before} <= near


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("M 0 0 L 10 0 L 10 5 L 0.04 5 z", "M0 0h10v5h-10z"),
        ("M 0.06 0 L 0.12 0.1 L 0.5 -0.5", "M.1 0v.1l.4-.6"),
        ("M 1 1 C 2 2 3 3 4 4 C 5 5 6 6 7 7", "M1 1c1 1 2 2 3 3 1 1 2 2 3 3"),
        ("M 0 0 A 1 1 0 0 1 2 2", "M 0 0 A 1 1 0 0 1 2 2"),
        ("M 0 0 L 0 0", "M0 0h0"),
        ("M 1e-7 0 L 1 1", "M0 0l1 1"),
        ("M 5 5 L 6 6 L 7 5 z L 5 4", "M5 5l1 1 1-1zv-1"),  # what follows an end begins where the path began
    ],
)
def test_a_path_is_written_from_point_to_point(path, made):
    assert compact(f'<svg><path d="{path}"/></svg>') == f'<svg><path d="{made}"/></svg>'


def test_roundings_do_not_add_up():
    path = "M 0 0 " + " ".join(f"L {0.04 * k:.2f} 0" for k in range(1, 1001))
    made = re.search(r'd="([^"]*)"', compact(f'<svg><path d="{path}"/></svg>'))[1]
    assert max(abs(places(made)[-1][0] - 40.0), abs(places(made)[-1][1])) < 1e-9


def test_groups_that_say_something_stay_closed():
    text = '<svg><g id="a"><g transform="scale(2)"><path d="M 0 0 L 1 1"/></g></g></svg>'
    assert compact(text) == '<svg><g transform="scale(2)"><path d="M0 0l1 1"/></g></svg>'


def test_what_is_seen_through_is_not_put_into_one_group():
    use = '<use href="#d" x="{0}" y="{0}" style="fill: red; opacity: 0.5"/>'
    uses = "".join(use.format(k) for k in range(1, 7))
    text = f'<svg><style>*{{a: b}}</style><path id="d" d="M 0 0 L 1 1"/>{uses}</svg>'
    assert compact(text).count("<use ") == 6
    assert "<marker" in compact(text.replace("; opacity: 0.5", ""))


def test_what_is_cut_off_alike_is_cut_off_once():
    shape = '<path d="M 0 0 L 1 {0}" clip-path="url(#c)" style="fill: #00000{0}"/>'
    moved = '<path d="M 0 0 L 1 1" clip-path="url(#c)" transform="scale(2)"/>'
    text = "<svg>" + "".join(shape.format(k) for k in range(1, 5)) + moved + '<clipPath id="c"/></svg>'
    made = compact(text)
    assert re.findall(r"<g[^>]*>", made) == ['<g clip-path="url(#a)">']
    assert made.count("clip-path") == 2  # what is moved is cut off by itself
    assert re.search(r"<g[^>]*>(<path [^>]*/>){4}</g>", made)
