"""Every formula of the site by a second converter: Temml shows the same letters in fractions, roots, indices, powers.

Needs Node and Temml: ``npm install --no-save temml@0.13``, or ``TEMML`` names its ``temml.cjs``.
"""

import html
import json
import os
import re
import shutil
import subprocess
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from theory.site import formulas
from theory.site.material import read_material
from theory.site.pages import pages

ROOT = Path(__file__).parents[2]
TEMML = Path(os.environ.get("TEMML", ROOT / "node_modules" / "temml" / "dist" / "temml.cjs"))
NODE = shutil.which("node")
PROGRAM = """
const temml = require(process.argv[1]);
const made = JSON.parse(require("fs").readFileSync(0)).map(([source, display]) => {
  try { return temml.renderToString(source, {displayMode: display, throwOnError: true}); }
  catch (error) { return `fault: ${error.message}`; }
});
console.log(JSON.stringify(made));
"""
ALIKE = str.maketrans(
    {
        "\u2212": "-",
        "\u2223": "|",
        "\u2225": "\u2016",
        "\u22ef": "\u00b7\u00b7\u00b7",
        "\u22c5": "\u00b7",
        "*": "\u2217",
    }
)
ACCENTS = (
    "^~_\u02c6\u02dc\u00af\u203e\u02c9\u2192"  # which the two take from different places; arrows with that of vectors
)
PARTS = {
    "low": "msub|msubsup|munder|munderover", "high": "msup|msubsup|mover|munderover",
    **{name: name for name in ("mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd")},
}  # fmt: skip


def converted(monkeypatch):
    """Return every formula that is converted for the site, whether it is displayed, and what it becomes."""
    real, found = formulas._CONVERTER, {}

    class Noting:
        def convert_with_local_state(self, source, *, displaystyle):
            made = real.convert_with_local_state(source, displaystyle=displaystyle)
            found[source, displaystyle] = made
            return made

    monkeypatch.setattr(formulas, "_CONVERTER", Noting())
    formulas.formula.cache_clear()
    for _ in pages(read_material(ROOT / "verify" / "evidence", ROOT / "paper_notes.md")):
        pass
    return found


def letters(made):
    """Return what a formula shows, in one alphabet and without blanks and accents."""
    plain = html.unescape(re.sub(r"<annotation.*?</annotation>|<[^>]*>", "", made, flags=re.DOTALL))
    plain = unicodedata.normalize("NFKD", plain.translate(ALIKE)).translate(ALIKE)
    kept = (sign for sign in plain if unicodedata.category(sign) not in ("Cf", "Mn", "Zs") and sign not in ACCENTS)
    return "".join(kept)


def shape(source, made):
    """Return how many fractions, roots, indices and powers there are; lines above are drawn in different ways."""
    counts = {part: len(re.findall(rf"<(?:{names})\b", made)) for part, names in PARTS.items()}
    return {part: n for part, n in counts.items() if part != "high" or "\\overline" not in source}


@pytest.mark.skipif(NODE is None or not TEMML.is_file(), reason="a second converter needs Node and Temml (TEMML)")
def test_a_second_converter_shows_the_same(monkeypatch):
    found = converted(monkeypatch)
    done = subprocess.run(  # noqa: S603
        [NODE, "-e", PROGRAM, str(TEMML)], input=json.dumps(list(found)), capture_output=True, text=True, check=True
    )
    others = json.loads(done.stdout)
    assert len(found) == len(others) > 5000
    assert [(key, other) for key, other in zip(found, others, strict=True) if other.startswith("fault")] == []
    assert not [other for other in others if "temml-error" in other or "<merror" in other]
    pairs = [(source, made, other) for ((source, _), made), other in zip(found.items(), others, strict=True)]
    assert [pair for pair in pairs if letters(pair[1]) != letters(pair[2])] == []
    assert [source for source, made, other in pairs if shape(source, made) != shape(source, other)] == []
    assert Counter(part for source, made, _ in pairs for part, n in shape(source, made).items() if n)["low"] > 3000
