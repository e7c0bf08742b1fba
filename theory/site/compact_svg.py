"""A picture as a browser needs it: places in tenths of a point, each from the one before, short names, few groups.

What is seen is the same; the file in the repository, of which the manifest holds the fingerprint, stays as it is.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from io import BytesIO
from itertools import count, groupby, product

from PIL import Image

_OFTEN = 4  # chosen: a style is worth a class from so many places on
_RUN = 3  # chosen: so many shapes in a row that look alike are worth a group
_ROUND = 1e-3  # chosen: no eye sees that a circle is rounder by this share of its radius
_NEAR = ("0", "1", "-1")  # chosen: a hundredth of the height of a letter, which no eye sees
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PAIRS = {"M": 1, "L": 1, "Q": 2, "C": 3, "Z": 0, "z": 0}  # points that a command of a path takes
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
_GLYPH = (
    'transform="scale(0.015625)"',
    'transform="scale(.15625)"',
)  # outlines of letters: finer than any eye, and fine
_PLACE = re.compile(r'transform="translate\((-?[\d.]+)[ ,]+(-?[\d.]+)\)"')


def compact(text: str) -> str:
    r"""Return a picture that looks the same and is half as large.

    Examples
    --------
    >>> compact('<svg> <g id="line_1"> <path d="M 1.23456 2 \n L 3 4.5001 z"/> </g> </svg>')
    '<svg><path d="M1.2 2l1.8 2.5z"/></svg>'
    """
    text = re.sub(r"<\?xml.*?\?>|<metadata>.*?</metadata>|<!DOCTYPE[^>]*>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r">\s+<", "><", re.sub(r"\s+", " ", text)).strip()
    text = text.replace(" xlink:href=", " href=").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    text = _images_once(re.sub(r"<image [^>]*>", _lighter, text))
    text = re.sub(r"<path [^>]*>", _path, text)
    text = re.sub(r"<use [^>]*>", _use, text)
    text = re.sub(r'\b(points|x|y|transform)="([^"]*)"', _shorter, text)
    text = re.sub(r'style="([^"]*)"', lambda found: re.sub(r"([:;]) ", r"\1", found[0]), text)
    return _gathered(_without_groups(_with_classes(_renamed(text))))


def _path(tag: re.Match[str]) -> str:
    digits = -1 if _GLYPH[0] in tag[0] else 1
    if (disc := _disc(tag[0])) is not None:
        return disc
    made = re.sub(r'\bd="([^"]*)"', lambda found: f'd="{_relative(found[1], digits)}"', tag[0])
    return made.replace(*_GLYPH)


def _disc(tag: str) -> str | None:
    """Write eight arcs that close around a centre as a circle."""
    path = re.search(r'\bd="([^"]*)"', tag)
    if path is None or re.sub(r"[^A-Za-z]", "", path[1].replace("e-", "")).upper() != "MCCCCCCCCZ":
        return None
    places = [float(number) for number in _NUMBER.findall(path[1])]
    ends = [places[:2], *(places[k + 4 : k + 6] for k in range(2, 50, 6))]
    (left, right), (top, bottom) = ((min(side), max(side)) for side in zip(*ends, strict=True))
    x, y, r = (left + right) / 2, (top + bottom) / 2, (right - left) / 2
    if any(abs((px - x) ** 2 + (py - y) ** 2 - r * r) > _ROUND * r * r for px, py in ends):
        return None
    circle = f'cx="{_rounded(f"{x:f}", 1)}" cy="{_rounded(f"{y:f}", 1)}" r="{_rounded(f"{r:f}", 2)}"'
    return tag.replace("<path", "<circle", 1).replace(path[0], circle, 1)


def _relative(path: str, digits: int) -> str:
    """Write a path from point to point; every place is rounded by itself, so that roundings do not add up."""
    made, last = [], ""
    x = y = x0 = y0 = 0
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path.replace("e-", "\x00")):
        places = [round(float(number.replace("\x00", "e-")) * 10**digits) for number in numbers.split()]
        if command not in _PAIRS or len(places) != 2 * _PAIRS[command]:
            return path.strip()  # of another maker: left as it is
        if command in "Zz":
            made.append("z")
            x, y = x0, y0
        elif command == "M":
            x0, y0 = x, y = places[0], places[1]
            made.append(f"M{_joined(places, digits)}")
        else:
            moved = [place - (y if k % 2 else x) for k, place in enumerate(places)]
            x, y = places[-2:]
            name = command.lower()
            if name == "l" and 0 in moved:
                name, moved = ("h", moved[:1]) if moved[1] == 0 else ("v", moved[1:])
            shown = _joined(moved, digits)
            made.append(f"{'' if shown[0] == '-' else ' '}{shown}" if name == last else f"{name}{shown}")
            last = name
            continue
        last = ""
    return "".join(made)


def _joined(places: list[int], digits: int) -> str:
    """Write numbers with no more between them than is needed: a minus parts them, and a point if one stood before."""
    text = ""
    for place in places:
        number = _short(place, digits)
        parted = not text or number[0] == "-" or (number[0] == "." and "." in re.split(r"[ -]", text)[-1])
        text += number if parted else f" {number}"
    return text


def _short(place: int, digits: int) -> str:
    if digits <= 0:
        return str(place)
    number = f"{place / 10**digits:.{digits}f}"
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return re.sub(r"^(-?)0\.", r"\1.", number) if number != "-0" else "0"


def _use(tag: re.Match[str]) -> str:
    """Write where a letter stands in a line of text as its coordinates, in hundredths of its height."""

    def place(found: re.Match[str]) -> str:
        shown = [(name, _rounded(found[k], 0)) for k, name in ((1, "x"), (2, "y"))]
        return " ".join(f'{name}="{value}"' for name, value in shown if value not in _NEAR)

    return re.sub(r" +(?=/?>)", "", _PLACE.sub(place, tag[0]))


def _lighter(tag: re.Match[str]) -> str:
    """Write an image without loss in fewer bytes, if it gets them."""

    def smaller(found: re.Match[str]) -> str:
        made = BytesIO()
        Image.open(BytesIO(base64.b64decode(found[1]))).save(made, "webp", lossless=True, quality=100, exact=True)
        text = base64.b64encode(made.getvalue()).decode()
        return f"data:image/webp;base64,{text}" if len(text) < len(found[1]) else found[0]

    return re.sub(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)", smaller, tag[0])


def _images_once(text: str) -> str:
    """Write an image that occurs several times once, and use it at each of its places."""
    counted = Counter(re.findall(r'<image [^>]*\bid="([^"]*)"', text))
    defined: set[str] = set()

    def once(tag: re.Match[str]) -> str:
        name, place = re.search(r' id="([^"]*)"', tag[0]), re.search(r' transform="[^"]*"', tag[0])
        if name is None or place is None or counted[name[1]] == 1:
            return tag[0]
        first = "" if name[1] in defined else f"<defs>{tag[0].replace(place[0], '')}</defs>"
        defined.add(name[1])
        return f'{first}<use href="#{name[1]}"{place[0]}/>'

    return re.sub(r"<image [^>]*>", once, text)


def _shorter(attribute: re.Match[str]) -> str:
    name, value = attribute[1], attribute[2]
    places = r"translate\([^)]*\)" if name == "transform" else ".+"  # a scale or a turn keeps its digits
    digits = 2 if name == "transform" else 1
    value = re.sub(places, lambda found: _rounded(found[0], digits), value, flags=re.DOTALL)
    return f'{name}="{value.strip()}"'


def _rounded(text: str, digits: int) -> str:
    def short(number: re.Match[str]) -> str:
        shown = f"{float(number[0]):.{digits}f}"
        return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-0", "0", shown == "-0")

    return re.sub(r"-?\d+(?:\.\d+)?", short, text)


def _renamed(text: str) -> str:
    """Give what is used elsewhere a short name, the shortest to what is used most, and drop all other names."""
    used = Counter(re.findall(r'(?:href="|url\()#([^")]+)', text))
    names = ("".join(letters) for k in count(1) for letters in product(_LETTERS, repeat=k))
    short = dict(zip((name for name, _ in used.most_common()), names, strict=False))
    text = re.sub(r' id="([^"]*)"', lambda at: f' id="{short[at[1]]}"' if at[1] in short else "", text)
    return re.sub(r'(href="|url\()#([^")]+)', lambda at: f"{at[1]}#{short[at[2]]}", text)


def _with_classes(text: str) -> str:
    """Write every style that recurs once, in a sheet of the picture's own."""
    counted = Counter(re.findall(r' style="([^"]*)"', text))
    often = {style: f"s{k}" for k, (style, number) in enumerate(counted.items()) if number >= _OFTEN and style}
    if not often or "</style>" not in text:
        return text
    text = re.sub(
        r' style="([^"]*)"', lambda found: f' class="{often[found[1]]}"' if found[1] in often else found[0], text
    )
    sheet = "".join(f".{name}{{{style}}}" for style, name in often.items())
    return text.replace("</style>", f"{sheet}</style>", 1)


def _without_groups(text: str) -> str:
    """Take away groups that say nothing of what is in them."""
    kept: list[bool] = []

    def tag(found: re.Match[str]) -> str:
        if found[0] != "</g>":
            kept.append(found[0] != "<g>")
        return found[0] if (kept.pop() if found[0] == "</g>" else kept[-1]) else ""

    return re.sub(r"<g(?: [^>]*[^/>])?>|</g>", tag, text)


def _gathered(text: str) -> str:
    """Write once what a run of shapes has in common: how it looks, and where it is cut off."""
    alone = {name for name, style in re.findall(r"\.(s\d+)\{([^}]*)\}", text) if re.search(r"(?<!-)opacity", style)}

    markers: dict[str, str] = {}

    def run(found: re.Match[str]) -> str:
        made = ""
        for cut, tags in groupby(re.findall(r"<[^>]*>", found[0]), key=_cut):
            shapes = list(tags)
            if not cut or len(shapes) < _RUN or len({_common(shape, alone) for shape in shapes}) == 1:
                made += alike(shapes)
            else:
                made += f"<g{cut}>{alike([shape.replace(cut, '', 1) for shape in shapes])}</g>"
        return made

    def alike(run: list[str]) -> str:
        made = ""
        for common, tags in groupby(run, key=lambda tag: _common(tag, alone)):
            shapes = list(tags)
            if not common or len(shapes) < _RUN:
                made += "".join(shapes)
                continue
            for attribute in common:
                shapes = [shape.replace(attribute, "", 1) for shape in shapes]
            marked = _marked(shapes, common, markers)
            made += marked or f"<g{''.join(common)}>{''.join(shapes)}</g>"
        return made

    return re.sub(r"(?:<(?:path|use|circle) [^>]*/>)+", run, text.replace(">*{", ">svg{", 1))


def _marked(shapes: list[str], common: tuple[str, ...], markers: dict[str, str]) -> str:
    """Write one symbol at many places as a line that is not seen, with the symbol at each of its points."""
    found = [re.fullmatch(r'<use( href="[^"]*") x="([^"]*)" y="([^"]*)"/>', shape) for shape in shapes]
    places = [each.group(2, 3) for each in found if each is not None]
    if len(places) < len(shapes) or len({each[1] for each in found if each is not None}) > 1:
        return ""
    look = "".join(attribute for attribute in common if "class=" in attribute)
    symbol = f"<use{found[0][1] if found[0] is not None else ''}{look}/>"
    defined = ""
    if symbol not in markers:
        markers[symbol] = f"m{len(markers)}"
        settings = 'markerUnits="userSpaceOnUse" overflow="visible"'
        defined = f'<marker id="{markers[symbol]}" {settings}>{symbol}</marker>'
    line = _relative(" L ".join(f"{x} {y}" for x, y in places).join(("M ", "")), 1)
    cut = "".join(attribute for attribute in common if "clip-path=" in attribute)
    return f'{defined}<path{cut} fill="none" style="marker:url(#{markers[symbol]})" d="{line}"/>'


def _cut(tag: str) -> str:
    """Return the attribute that says where a shape is cut off; what is moved has a place of its own."""
    found = re.search(r' clip-path="[^"]*"', tag)
    return found[0] if found is not None and not re.search(r" (?:id|transform)=", tag) else ""


def _common(tag: str, alone: set[str]) -> tuple[str, ...]:
    """Return the attributes that a shape may share; what is seen through is seen through shape by shape."""
    if re.search(r" (?:id|transform)=", tag):
        return ()
    found = re.findall(r' (?:clip-path|class)="[^"]*"', tag)
    return () if any(f' class="{name}"' in found for name in alone) else tuple(found)
