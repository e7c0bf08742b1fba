"""What a page leaves out is what HTML implies, and nothing else."""

import pytest

from theory.site.formulas import formula
from theory.site.terse import terse


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("<p>a</p>\n<p>b</p></div>", "<p>a<p>b</div>"),
        ("<ul>\n<li><p>a</p></li>\n<li>b</li>\n</ul>", "<ul><li><p>a<li>b</ul>"),
        ("<dl><dt>a</dt><dd>b</dd></dl>", "<dl><dt>a<dd>b</dl>"),
        (
            "<table><thead><tr><th>a</th></tr></thead>\n<tbody><tr><td>b</td><td>c</td></tr>\n</tbody></table>",
            "<table><thead><tr><th>a<tbody><tr><td>b<td>c</table>",
        ),
        ('<a class="go" title="a b" href="c=d">e</a>', '<a class=go title="a b" href="c=d">e</a>'),
    ],
)
def test_what_html_implies_is_left_out(text, made):
    assert terse(text) == made
    assert terse(made) == made


@pytest.mark.parametrize(
    "text",
    [
        "<p>a</p> b",  # which would become part of the paragraph
        "<p>a</p><b>c</b>",
        "<noscript><p>a</p></noscript>",  # of these the end does not end a paragraph
        "<a href=b><p>a</p></a>",
        "<b>a</b> <i>b</i>\n<a>c</a>",  # blanks between words
        "<pre>a\n  b\n<b>c</b>\n</pre>",
        "<div>a</div>b</li> c",
    ],
)
def test_what_says_something_stays(text):
    assert terse(text) == text


def test_fences_that_do_not_grow_are_letters():
    assert formula("f(x)/|y|") == "<math>" + "".join(f"<mi>{sign}</mi>" for sign in "f(x)/|y|") + "</math>"


@pytest.mark.parametrize("source", [r"\left(\frac{a}{b}\right)", r"\bigl(a\bigr)", r"\left\|\frac{a}{b}\right\|"])
def test_fences_that_grow_are_operators(source):
    made = str(formula(source))
    assert made.count("(</mo>") + made.count(")</mo>") + made.count("\u2016</mo>") == 2
    assert "<mi>(" not in made
    assert "<mi>\u2016" not in made
