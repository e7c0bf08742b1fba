"""Formulas as MathML, made by the converter of the atlas, so that a page needs no script and no network for them."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from theory.site.formulas import formula


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(formula(" ".join(node.astext().split())))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    made = formula(" ".join(node.astext().split()), display=True)
    self.body.append(f'<div class="formula" tabindex="0">{made}</div>\n')  # it may scroll
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
