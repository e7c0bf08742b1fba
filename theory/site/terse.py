"""Pages in fewer bytes: without end tags, quotes and blanks around blocks that HTML does not ask for."""

from __future__ import annotations

import re

_BLOCKS = r"p|[uod]l|li|d[dt]|t[dhr]|div|section|article|h[1-6]|table|details|footer|form|figure|nav"
_ENDS = re.compile(
    rf"</p>(?=\s*(?:<(?:{_BLOCKS})\b|</(?:li|d[dt]|t[dh]|div|section|article|details|main|footer)>))"
    r"|</li>(?=\s*(?:<li\b|</[uo]l>))"
    r"|</d[dt]>(?=\s*(?:<d[dt]\b|</dl>))"
    r"|</t[dh]>(?=\s*(?:<t[dh]\b|</tr>))"
    r"|</tr>(?=\s*(?:<tr\b|</t(?:head|body|able)>))"
    r"|</thead>(?=\s*<tbody)|</tbody>(?=\s*</table>)"
)
_OTHERS = r"thead|tbody|caption|summary|main|header|head|body|title|meta|link|script"
_GAPS = re.compile(rf">\s+(?=</?(?:{_BLOCKS}|{_OTHERS})\b)")
_TAG = re.compile(r"<[a-z][^>]*>")
_QUOTED = re.compile(r'="([^\s"\'=<>`]+)"(?=[\s>])')


def terse(text: str) -> str:
    r"""Return a page, or a piece of one, that a browser reads as the same in fewer bytes.

    Examples
    --------
    >>> terse('<ul class="ids"> <li><p>a</p></li> <li>b</li></ul>')
    '<ul class=ids><li><p>a<li>b</ul>'
    >>> terse('<p title="a b">c</p> d')
    '<p title="a b">c</p> d'
    """
    return _TAG.sub(lambda tag: _QUOTED.sub(r"=\1", tag[0]), _ENDS.sub("", _GAPS.sub(">", text)))
