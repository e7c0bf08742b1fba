"""Every page of the site, as its place and its text; what depends on JavaScript stands in plain lists as well."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import theory
from theory.evidence.interval import Kind
from theory.evidence.judge import Verdict
from theory.evidence.provenance import commit
from theory.report.archive import Record
from theory.report.formatting import BY_RIGHT
from theory.report.proofs import NONE, Proof
from theory.site import tied_numbers as tied
from theory.site.claim_page import claim_context, origin
from theory.site.formulas import as_code, in_words, typeset
from theory.site.graph import arrows_of, draw_graph
from theory.site.material import Figure, Material, code_page
from theory.site.notation import symbols
from theory.site.notes import Section
from theory.site.prose import render, slug
from theory.site.sources import Source
from theory.site.terse import terse

FAMOUS = (  # chosen: what readers outside of this suite ask about
    "lipschitz.sharp-w1", "lipschitz.refined-w2", "softmax.norms", "softmax.total-variation", "maxent.gibbs",
    "entmax.support", "consensus.almost-every", "metastable.lifetime", "limit.order", "score.first-order",
)  # fmt: skip
NAMES = {
    "errata": "Errata",
    "decided-against": "Misconceptions",
    "open": "Open questions",
    "prior-art": "Prior art",
    "moved": "Moved numbers",
}
IN_HEAD = ("errata", "decided-against")  # pages of notes that every page leads to
MOST = 15_000  # chosen: bytes of the page of a claim, without pictures
_SIZES = (  # chosen: rows of its tables that are tried in turn, and whether formulas say what their symbols mean
    (8, True),
    (5, True),
    *((rows, False) for rows in (5, 3, 2, 1, 0)),
)

_MOST_USED = 20  # chosen: what somebody who adds a theorem looks through

Page = tuple[str, str]


def pages(material: Material, *, guide: bool = False) -> Iterator[Page]:
    """Yield the place of every page, as seen from the root of the site, and its text; they may lead to the guide."""
    draw = _drawer(material, guide)
    yield from _front(material, draw, guide)
    for record in material.records.values():
        yield _claim(material, record, draw)
    for source in material.sources.values():
        yield draw(f"s/{source.key}.html", "source.html", **_source(material, source))
    for figure in material.figures:
        yield draw(f"f/{figure.name}.html", "figure.html", **_figure(material, figure))
    for section in material.sections:
        if section.page != "open":  # which has what proofs leave as well
            yield draw(f"{section.page}.html", "notes.html", **_notes(material, section))
    yield from _proofs(material, draw)
    yield draw("notation.html", "notation.html", **_notation(material))
    yield draw("open.html", "open.html", **_open(material))
    yield from _uses(material, draw)
    for name, text in material.guides.items():
        body = render(text, material.links, f"docs/{name}.md", "../")
        yield draw(f"g/{name}.html", "prose.html", name=name, body=body, crumb="")
    for test, text in material.code.items():
        yield draw(code_page(test), "code.html", **_code(material, test, text))


def _drawer(material: Material, guide: bool) -> Callable[..., Page]:
    """Return what fills a template: the way up to the root of the site depends on the place of the page."""
    environment = Environment(
        loader=PackageLoader("theory.site"), autoescape=True, undefined=StrictUndefined, finalize=only_text,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "slug": slug,
        "typeset": typeset,
        "words": in_words,
        "as_code": as_code,
        "capital": lambda text: text[:1].upper() + text[1:],
    }
    written = {section.page for section in material.sections}
    environment.globals["has"] = {
        "proofs": bool(material.proofs), "figures": bool(material.figures), "glossary": "glossary" in material.guides,
        "guide": guide,
        "notes": [(page, NAMES[page]) for page in IN_HEAD if page in written],
    }  # fmt: skip
    environment.globals["names"] = NAMES
    environment.globals["stamp"] = _stamp(material)

    def draw(place: str, template: str, **context: Any) -> Page:
        text = environment.get_template(template).render(up="../" * place.count("/"), **context)
        return place, terse(text)

    return draw


def only_text(value: object) -> object:
    """Refuse what a template would print and nobody formatted: a number must come with its digits and its record.

    Raises
    ------
    TypeError
        If it is not text.
    """
    if not isinstance(value, str):
        raise TypeError(f"template: expected text, or a number that is tied to its record, got {value!r}")
    return value


def _stamp(material: Material) -> Markup:
    at = commit(material.root, ())
    return Markup('attention-theory <span data-src="site#/version">{}</span>{}').format(
        theory.__version__, Markup(', commit <code data-src="site#/commit">{}</code>').format(at) if at else ""
    )


def _claim(material: Material, record: Record, draw: Callable[..., Page]) -> Page:
    """Return the page of a claim, with as many rows of its tables as a page can hold."""
    for rows, titled in _SIZES:
        context = claim_context(material, record, rows, titled=titled)
        page = draw(f"c/{record.claim.id}.html", "claim.html", c=context)
        if len(page[1].encode()) <= MOST:
            break
    return page


def _row(record: Record) -> dict[str, Any]:
    """Return what a list says of a claim."""
    return {
        "id": record.claim.id,
        "words": in_words(record.claim.words),
        "verdict": record.best.verdict.value,
        "described": record.describe(record.best),
        "kind": record.best.kind.name.lower(),
    }


def _placed(record: Record, source: str) -> dict[str, Any]:
    """Return what the page of a source says of a claim: also where in the source it stands, if that was read."""
    return _row(record) | {"place": record.locators.get(source, "")}


def _count(value: int, *keys: str) -> Markup:
    """Show how many claims there are of some sort; the index has them."""
    return tied.count(value, "index.js#/" + "/".join(keys))


def _front(material: Material, draw: Callable[..., Page], guide: bool) -> Iterator[Page]:
    records = list(material.records.values())
    kinds = Counter(record.best.kind for record in records)
    verdicts = Counter(record.describe(record.best) for record in records)
    sorts = {record.describe(record.best): _sort(record) for record in records}
    ways = [("g/glossary.html", "Words of this suite")] * ("glossary" in material.guides)
    ways += [("uses.html", "What proofs use")] * bool(material.used_by)
    there = ("open", *IN_HEAD)  # every page leads to these
    ways += [
        (f"{section.page}.html", NAMES[section.page]) for section in material.sections if section.page not in there
    ]
    if not guide:  # which has them
        others = {name: text for name, text in material.guides.items() if name != "glossary"}
        ways += [(f"g/{name}.html", _first_heading(text)) for name, text in others.items()]
    yield draw(
        "index.html",
        "home.html",
        total=_count(len(records), "claims"),
        supported=_count(verdicts["supported"], "claims", "verdict=supported"),
        famous=[material.records[name].claim for name in FAMOUS if name in material.records],
        kinds=[
            (kind.name.lower(), BY_RIGHT[kind], _count(kinds[kind], "claims", f"kind={kind.name.lower()}"))
            for kind in Kind
        ],
        verdicts=[
            (name, _count(verdicts[name], "claims", f"verdict={name}"), sorts[name])
            for name in sorted(verdicts, reverse=True)
        ],
        board=[(subject, [_square(r) for r in group]) for subject, group in material.subjects.items()],
        ways=ways,
    )
    by_subject = [(subject, [_row(record) for record in group]) for subject, group in material.subjects.items()]
    yield draw("browse.html", "browse.html", subjects=by_subject)
    yield draw("facets.html", "facets.html", groups=_facets(records, material.printed))
    cited = Counter(key for record in records for key in record.claim.cites)
    listed = [
        (s, _cited(s.key, cited[s.key])) for s in sorted(material.sources.values(), key=lambda s: s.short.casefold())
    ]
    yield draw("sources.html", "sources.html", sources=listed)
    if material.figures:
        yield draw("figures.html", "figures.html", figures=material.figures)


def _cited(key: str, number: int) -> Markup:
    if not number:
        return Markup("the source of a method")
    return Markup("{} {}").format(_count(number, "claims", f"source={key}"), "claim" if number == 1 else "claims")


def _first_heading(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _square(record: Record) -> dict[str, Any]:
    return {"id": record.claim.id, "kind": _sort(record) or record.best.kind.name.lower()}


def _sort(record: Record) -> str:
    """Return how a claim that is not supported is drawn: an open question that was decided, or a fault."""
    if record.best.verdict is Verdict.SUPPORTED:
        return ""
    return "stated" if record.best.verdict in record.claim.finds else "fault"


def _facets(records: Iterable[Record], printed: Mapping[str, Proof]) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the claims by kind, verdict, what is behind their proofs, and label."""
    found: dict[str, dict[str, list[str]]] = {"Kind": {}, "Verdict": {}, "Proof": {}, "Label": {}}
    by_kind: dict[Kind, list[str]] = defaultdict(list)
    for record in records:
        name = record.claim.id
        by_kind[record.best.kind].append(name)
        found["Verdict"].setdefault(record.describe(record.best), []).append(name)
        found["Proof"].setdefault(f"proof: {printed.get(name, NONE).level}", []).append(name)
        for label in record.claim.spec:
            found["Label"].setdefault(label, []).append(name)
    found["Kind"] = {kind.name.lower(): by_kind[kind] for kind in sorted(by_kind)}
    found["Label"] = {label: found["Label"][label] for label in sorted(found["Label"], key=_natural)}
    return [(group, list(lists.items())) for group, lists in found.items() if lists]


def _natural(label: str) -> list[Any]:
    """Return what to sort labels by, so that 10 comes after 9."""
    return [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", label)]


def _source(material: Material, source: Source) -> dict[str, Any]:
    citing = [record for record in material.records.values() if source.key in record.claim.cites]
    known = {"seen": "Stated in it", "recalled": "Attributed to it", "derived": "Derived here, to compare"}
    groups = [(said, [record for record in citing if origin(record) == mark]) for mark, said in known.items()]
    items = [item for section in material.sections for item in section.items if source.key in item.sources]
    named = {record.claim.id for record in citing}
    return {
        "s": source,
        "groups": [(name, [_placed(record, source.key) for record in rows]) for name, rows in groups if rows],
        "left": [(name, f"../{href}", said) for name, href, said in _left(material, "../") if name in named],
        "items": [(item, render(item.text, material.links, "paper_notes.md", "../")) for item in items],
    }


def _figure(material: Material, figure: Figure) -> dict[str, Any]:
    return {
        "f": figure,
        "caption": [
            tied.verbatim(line, f"manifest.json#/{figure.name}/caption", typeset(line)) for line in figure.caption
        ],
        "table": figure.table.is_file(),
        "rows": [_row(material.records[name]) for name in figure.claims if len(figure.claims) < len(material.records)],
        "every": len(figure.claims) == len(material.records),
    }


def _notes(material: Material, section: Section) -> dict[str, Any]:
    groups = [
        (heading, [(item, render(item.text, material.links, "paper_notes.md")) for item in items])
        for heading, items in groupby(section.items, key=lambda item: item.heading)
    ]
    return {
        "name": NAMES[section.page],
        "lead": render(section.lead, material.links, "paper_notes.md"),
        "headings": [heading for heading, _ in groups if heading],
        "groups": groups,
    }


def _proofs(material: Material, draw: Callable[..., Page]) -> Iterator[Page]:
    if not material.proofs:
        return
    inside: dict[str, list[str]] = defaultdict(list)
    for claim, proof in material.printed.items():
        if proof.file:
            inside[proof.file].append(claim)
    files = [(name, inside[name]) for name in material.proofs if name != "README"]
    body = render(material.proofs.get("README", "# Proofs\n"), material.links, "proofs/README.md")
    yield draw("proofs.html", "proofs.html", body=body, files=files)
    for name, text in material.proofs.items():
        if name != "README":
            body = _headings_lead_to_claims(render(text, material.links, f"proofs/{name}.md", "../"), material)
            yield draw(f"p/{name}.html", "prose.html", name=name, body=body, crumb="proofs")


def _notation(material: Material) -> dict[str, Any]:
    """Return the symbols that mean the same everywhere, and for each subject its own and the head of its proofs."""
    subjects = []
    for subject in material.subjects:
        head = re.split(r"^(?:## |\([\w-]+\)=)", material.proofs.get(subject, ""), maxsplit=1, flags=re.MULTILINE)[0]
        said = render(head.partition("\n")[2], material.links, f"proofs/{subject}.md")
        subjects.append((subject, [symbol for symbol in symbols() if subject in symbol.subjects], said))
    return {"everywhere": [symbol for symbol in symbols() if not symbol.subjects], "subjects": subjects}


def _open(material: Material) -> dict[str, Any]:
    """Return the questions that the notes ask, the claims that evidence does not decide, and what proofs leave open."""
    notes = [_notes(material, section) for section in material.sections if section.page == "open"]
    asked = [r for r in material.records.values() if r.best.verdict not in (Verdict.SUPPORTED, Verdict.REFUTED)]
    return {"notes": notes, "stated": [_row(record) for record in asked], "left": _left(material)}


def _left(material: Material, up: str = "") -> list[tuple[str, str, Markup]]:
    """Return what proofs of claims leave open: the claim, the place of the proof, and what is asked there."""
    return [
        (heading, f"p/{name}.html#{heading}", render(told.strip(), material.links, f"proofs/{name}.md", up))
        for name, text in material.proofs.items()
        for heading, body in re.findall(r"^## (\S+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
        for told in re.findall(r"\*\*Open\.\*\*((?:(?!\*\*|\n\n)[\s\S])*)", body)
        if heading in material.records
    ]


def _uses(material: Material, draw: Callable[..., Page]) -> Iterator[Page]:
    """Yield what the proofs of every subject use, as a picture and in words."""
    if not material.used_by:
        return
    counted = Counter(name for proof in material.printed.values() for name in (*proof.uses, *proof.lemmas))
    subjects = []
    for subject, group in material.subjects.items():
        names = [record.claim.id for record in group]
        arrows = arrows_of(names, material.printed)
        if not arrows:
            continue
        hrefs = {name: _place_of(name) for arrow in arrows for name in arrow}
        using = {name: [used for used, user in arrows if user == name] for name in names}
        users = {name: [u for u in material.used_by.get(name, ()) if not u.startswith(f"{subject}.")] for name in names}
        rows = [(name, [(used, hrefs[used]) for used in uses]) for name, uses in using.items() if uses]
        subjects.append((subject, _count(len(arrows), "uses", f"subject={subject}")))
        yield draw(
            f"u/{subject}.html", "graph.html", subject=subject, picture=draw_graph(subject, arrows, hrefs), rows=rows,
            users=[(name, others) for name, others in users.items() if others],
        )  # fmt: skip
    most = [
        (name, _place_of(name).removeprefix("../"), _words_of(material, name), _count(number, "uses", f"used={name}"))
        for name, number in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:_MOST_USED]
    ]
    yield draw("uses.html", "uses.html", subjects=subjects, most=most)


def _place_of(name: str) -> str:
    return f"../p/lemmas.html#{name}" if name.startswith("lemma-") else f"../c/{name}.html"


def _words_of(material: Material, name: str) -> Markup:
    """Return what a claim says, or the name of a lemma in words."""
    if name in material.records:
        return in_words(material.records[name].claim.words)
    return Markup("the lemma on {}").format(name.removeprefix("lemma-").replace("-", " "))


def _headings_lead_to_claims(body: Markup, material: Material) -> Markup:
    def heading(found: re.Match[str]) -> str:
        name = found[1]
        return f'<h2 id="{name}"><a href="../c/{name}.html">{name}</a></h2>' if name in material.records else found[0]

    return Markup(re.sub(r'<h2 id="([^"]+)">\1</h2>', heading, body))  # noqa: S704  names of claims, which are checked


def _code(material: Material, test: str, text: str) -> dict[str, Any]:
    """Cut the code of checks where a claim is stated, so that its page can lead there."""
    ids = [record.claim.id for record in material.records.values() if record.test == test]
    places = sorted((text.find(f'"{name}"'), name) for name in ids if f'"{name}"' in text)
    pieces = [("", text[: places[0][0]] if places else text)]
    for k, (start, name) in enumerate(places):
        mark = start + len(name) + 2
        end = places[k + 1][0] if k + 1 < len(places) else len(text)
        pieces += [(name, text[start:mark]), ("", text[mark:end])]
    missing = [(name, "") for name in ids if name not in {name for _, name in places}]  # made in a loop
    return {"name": test, "ids": ids, "pieces": [*missing, *pieces], "several": len(ids) > 1}
