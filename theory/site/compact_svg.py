"""A picture as a browser needs it: places in tenths of a point, no white space, styles as classes, short names.

What is seen is the same; the file in the repository, of which the manifest holds the fingerprint, stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter

_OFTEN = 4  # chosen: a style is worth a class from so many places on


def compact(text: str) -> str:
    r"""Return a picture that looks the same and is a quarter smaller.

    Examples
    --------
    >>> compact('<svg> <g id="line_1"> <path d="M 1.23456 2 \n L 3 4.5001 z"/> </g> </svg>')
    '<svg><g><path d="M1.2 2L3 4.5z"/></g></svg>'
    """
    text = re.sub(r"<metadata>.*?</metadata>|<!DOCTYPE[^>]*>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r">\s+<", "><", re.sub(r"\s+", " ", text))
    text = re.sub(r'\b(d|points|x|y|transform)="([^"]*)"', _shorter, text)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    text = re.sub(r'<g id="([^"]*)"', lambda g: g[0] if g[1] in used else "<g", text)
    short = {name: f"i{k}" for k, name in enumerate(sorted(used))}
    text = re.sub(r'(\bid="|href="#|url\(#)([^")]+)', lambda at: at[1] + short.get(at[2], at[2]), text)
    return _with_classes(text).replace(" xlink:href=", " href=")


def _shorter(attribute: re.Match[str]) -> str:
    name, value = attribute[1], attribute[2]
    places = r"translate\([^)]*\)" if name == "transform" else ".+"  # a scale or a turn keeps its digits
    digits = 2 if name == "transform" else 1
    value = re.sub(places, lambda found: _rounded(found[0], digits), value, flags=re.DOTALL)
    if name == "d":
        value = re.sub(r" ?([A-Za-z]) ?", r"\1", value)
    return f'{name}="{value.strip()}"'


def _rounded(text: str, digits: int) -> str:
    def short(number: re.Match[str]) -> str:
        return f"{float(number[0]):.{digits}f}".rstrip("0").rstrip(".")

    return re.sub(r"-?\d+\.\d+", short, text)


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
