"""The atlas of the whole repository, read back: every number against its record, every link, every formula."""

import csv
import hashlib
import html
import json
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from theory.evidence.interval import Interval
from theory.figures import _style as style
from theory.report.archive import read_all
from theory.report.digits import at_least, at_most, common
from theory.report.proofs import read_proofs
from theory.report.search import ranked
from theory.site.formulas import in_words, typeset

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "verify" / "evidence"
CLAIMS = sorted(path.stem for path in EVIDENCE.glob("*.json"))
NODE = shutil.which("node")
VOID = {"meta", "link", "input", "img", "br", "hr", "mspace"}
BLOCKS = {
    "p", "ul", "ol", "dl", "li", "dd", "dt", "td", "th", "tr", "div", "section", "article", "h1", "h2", "h3", "h4",
    "h5", "h6", "table", "pre", "details", "footer", "form", "figure", "nav",
}  # fmt: skip
ENDED = {  # by what begins a tag ends that need not be closed, as HTML has it; by the end of what is around it as well
    "p": BLOCKS, "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "td": {"td", "th", "tr", "tbody"},
    "th": {"td", "th", "tr", "tbody"}, "tr": {"tr", "tbody"}, "thead": {"tbody"}, "tbody": {"tbody"},
}  # fmt: skip


class Reader(HTMLParser):
    """Reads a page: its tags in order, checked to be closed, and pieces of text with the tags around them."""

    def __init__(self, path):
        super().__init__()
        self.path, self.around, self.texts, self.tags, self.ids = path, [], [], [], set()
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.around, (path, self.around)

    def handle_starttag(self, tag, attrs):
        """Note a tag that opens."""
        found = dict(attrs)
        while self.around and tag in ENDED.get(self.around[-1][0], ()):
            self.around.pop()
        self.tags.append((tag, found))
        if "id" in found:
            assert found["id"] not in self.ids, (self.path, found["id"])
            self.ids.add(found["id"])
        if tag not in VOID:
            self.around.append((tag, found))

    def handle_startendtag(self, tag, attrs):
        """Note a tag that is closed at once."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Close what is open, and nothing else."""
        if tag not in VOID:
            while self.around[-1][0] != tag and self.around[-1][0] in ENDED:
                self.around.pop()
            assert self.around.pop()[0] == tag, (self.path, tag)

    def handle_data(self, data):
        """Note a piece of text."""
        self.texts.append((data, list(self.around)))

    def numbers(self):
        """Return the attributes and the text of every number, a power of ten as ``10^-3``."""
        shown, found = {}, []
        for text, around in self.texts:
            for tag, attrs in around:
                if tag == "data":
                    if id(attrs) not in shown:
                        shown[id(attrs)] = ""
                        for at in [a["data-at"] for _, a in reversed(around) if "data-at" in a]:
                            attrs["data-src"] = (at if attrs["data-src"][0] == "/" else "") + attrs["data-src"]
                        found.append(attrs)
                    shown[id(attrs)] += f"^{text}" if around[-1][0] == "sup" else text
        return [(attrs, shown[id(attrs)].replace("\u2212", "-").replace("\u2026", "...")) for attrs in found]


@pytest.fixture(scope="module")
def read(atlas):
    return {path.relative_to(atlas).as_posix(): Reader(path) for path in sorted(atlas.rglob("*.html"))}


def at(whole, source):
    """Follow a JSON pointer."""
    keys = source.partition("#")[2].split("/")[1:]
    for key in keys:
        whole = whole[int(key)] if isinstance(whole, list) else whole[key.replace("~1", "/").replace("~0", "~")]
    return whole


def printed(value, source, given):
    """Return what must be printed of a value of a record: bounds of departures up, of gaps down, digits in common."""
    last = source.rpartition("/")[2]
    if isinstance(value, int):
        return str(value)
    if last == "tightness":
        return at_most(value, figures=7)
    if isinstance(value, float):
        return at_most(value) if source.endswith("/departure/1") else at_least(value)
    lo, hi = value
    if last in ("measured", "claimed"):
        return common(Interval(lo, hi))
    if len(given) == 1:  # a margin that every case keeps
        return at_least(-hi)
    return at_least(lo) if lo > 0.0 else at_most(hi)


def wrong_numbers(page, whole):
    """Return the numbers of a page that are not those of its record, and how many there are in all."""
    numbers = page.numbers()
    wrong = []
    for attrs, shown in numbers:
        value = at(whole, attrs["data-src"])
        ends = [value] if isinstance(value, (int, float)) else value
        given = [json.loads(end) for end in attrs["value"].split(",")]
        kept = given == ends or (given == [-ends[-1]] and ends[-1] < 0.0)
        if not kept or plain(shown) != printed(value, attrs["data-src"], given):
            wrong.append((attrs, shown))
    return wrong, len(numbers)


def plain(shown):
    """Write a number as the formatter does."""
    return re.sub(r"\u00d710\^(-?)(\d+)", lambda e: f"e{e[1] or '+'}{int(e[2]):02d}", shown)


def test_every_claim_has_a_small_page_and_the_site_is_small(atlas):
    assert sorted(path.stem for path in (atlas / "c").iterdir()) == CLAIMS
    assert max(path.stat().st_size for path in (atlas / "c").iterdir()) <= 15_000
    assert sum(path.stat().st_size for path in atlas.rglob("*") if path.is_file()) <= 25_000_000


def test_every_number_of_a_claim_is_that_of_its_record(read):
    tied = 0
    for claim in CLAIMS:
        whole = json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8"))
        page = read[f"c/{claim}.html"]
        assert ("main", f"{claim}.json") in [(tag, attrs.get("data-record")) for tag, attrs in page.tags]
        wrong, number = wrong_numbers(page, whole)
        assert wrong == [], claim
        tied += number
    assert tied > 10 * len(CLAIMS)


def test_the_nearest_twin_of_the_text_is_the_first_of_the_table(read):
    for claim in CLAIMS:
        gaps = [
            (a["data-src"], shown) for a, shown in read[f"c/{claim}.html"].numbers() if "/refuted/" in a["data-src"]
        ]
        texts = re.findall(
            r"wrong version fails by at least", "".join(text for text, _ in read[f"c/{claim}.html"].texts)
        )
        assert gaps[0] == gaps[len(texts)], claim  # after one in the text of each scale, that of the table


def other(digit):
    return str((int(digit[0]) + 1) % 10)


def test_any_wrong_digit_is_noticed(atlas, tmp_path):
    claim = "lipschitz.sharp-w1"
    whole = json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8"))
    text = (atlas / "c" / f"{claim}.html").read_text(encoding="utf-8")
    places = [found.span() for found in re.finditer(r"<data .*?</data>", text)]
    assert len(places) > 12
    for start, end in places:
        number = text[start:end]
        value = number.index("value=") + len("value=")
        shown = number.index(">")
        for begin in (value, shown):
            altered = number[:begin] + re.sub(r"[0-9]", other, number[begin:], count=1)
            (tmp_path / "page.html").write_text(text[:start] + altered + text[end:], encoding="utf-8")
            assert len(wrong_numbers(Reader(tmp_path / "page.html"), whole)[0]) == 1, altered


def test_a_loose_digit_is_noticed(atlas, tmp_path):
    text = (atlas / "c" / "lipschitz.sharp-w1.html").read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text(text.replace("</strong> over", "</strong> at 95 per cent over", 1), "utf-8")
    whole = json.loads((EVIDENCE / "lipschitz.sharp-w1.json").read_text(encoding="utf-8"))
    words = [json.loads(p.read_text("utf-8"))["words"] for p in EVIDENCE.glob("lipschitz.*.json")]
    texts = [*strings(whole), *(piece for each in words for piece in shown_words(each))]
    assert loose_digits(Reader(tmp_path / "page.html"), texts) == ["at 95 per cent over"]


def strings(whole):
    """Yield every text of a record."""
    if isinstance(whole, str):
        yield whole
    elif isinstance(whole, (list, dict)):
        for key in whole:
            yield from [key] if isinstance(whole, dict) else []
            yield from strings(whole[key] if isinstance(whole, dict) else key)


def loose_digits(page, texts):
    """Return the pieces of text with digits that are no tied number, formula or code, and stand in no given text."""
    own = {"data", "math", "code", "pre", "title", "sub"}
    loose = []
    for text, around in page.texts:
        tags = {tag for tag, _ in around}
        quoted = any("data-src" in attrs for _, attrs in around) or bool(tags & {"a", "nav", "footer"})
        stands = any(text.strip(" .\n") in one for one in texts)
        if re.search(r"\d", text) and not tags & own and not quoted and not stands:
            loose.append(text.strip())
    return loose


def shown_words(words):
    """Return the pieces of the words of a claim between tags, with its signs."""
    return html.unescape(re.sub(r"<[^>]*>", "\0", in_words(words))).split("\0")


def test_no_digit_of_a_claim_is_loose(read):
    wholes = {claim: json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8")) for claim in CLAIMS}
    words = [piece for whole in wholes.values() for piece in shown_words(whole["words"])]  # of claims nearby
    for claim, whole in wholes.items():
        own = [piece for said in whole["assumptions"] for piece in shown_words(said)]
        assert loose_digits(read[f"c/{claim}.html"], [*strings(whole), *words, *own]) == [], claim


def squares_of(read):
    """Return the squares of the board."""
    return [a for tag, a in read["index.html"].tags if tag == "a" and "sq" in a.get("class", "").split()]


def test_the_numbers_of_the_front_are_counted(read):
    total, supported, *rest = [int(text) for _, text in read["index.html"].numbers()]
    assert total == len(CLAIMS)
    assert supported == sum(not {"stated", "fault"} & set(square["class"].split()) for square in squares_of(read))
    assert supported in rest
    assert sum(rest) == 2 * total  # by kind and by verdict
    squares = [square["href"] for square in squares_of(read)]
    assert sorted(squares) == sorted(f"c/{claim}.html" for claim in CLAIMS)
    assert loose_digits(read["index.html"], []) == []


def test_the_numbers_of_sources_and_uses_are_counted(read):
    wholes = [json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8")) for claim in CLAIMS]
    cited = Counter(key for whole in wholes for key in whole["cites"])
    proofs = read_proofs(EVIDENCE, CLAIMS)
    used = Counter(name for proof in proofs.values() for name in (*proof.uses, *proof.lemmas))
    seen = Counter()
    for place in ("sources.html", "uses.html"):
        for attrs, shown in read[place].numbers():
            what, _, name = attrs["data-src"].rpartition("/")[2].partition("=")
            drawn = (
                sum(tag == "path" for tag, _ in read[f"u/{name}.html"].tags) - 1 if what == "subject" else 0
            )  # the tip
            assert int(shown) == {"source": cited[name], "used": used[name], "subject": drawn}[what], name
            seen[what] += 1
    assert seen["source"] == len(cited)
    assert seen["used"] == 20
    assert seen["subject"] == sum(place.startswith("u/") for place in read)


def test_open_questions_are_what_is_not_decided_and_what_proofs_leave(read):
    wholes = [json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8")) for claim in CLAIMS]
    best = {whole["id"]: (whole["scales"].get("paper") or whole["scales"]["quick"])["verdict"] for whole in wholes}
    asked = {f"c/{claim}.html" for claim, verdict in best.items() if verdict not in ("supported", "refuted")}
    hrefs = [(tag, attrs.get("class"), attrs.get("href", "")) for tag, attrs in read["open.html"].tags]
    rows = hrefs.index(("ul", "rows", "")) if ("ul", "rows", "") in hrefs else len(hrefs)
    left = [k + 1 for k, (tag, _, _) in enumerate(hrefs[:-1]) if tag == "article" and hrefs[k + 1][2].startswith("p/")]
    assert {href for tag, _, href in hrefs[rows : left[0]] if tag == "a" and href.startswith("c/")} == asked
    sections = re.compile(r"^## (\S+)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
    printed = {
        f"p/{path.stem}.html#{heading}"
        for path in (ROOT / "proofs").glob("*.md")
        for heading, body in sections.findall(path.read_text(encoding="utf-8"))
        if "**Open.**" in body and heading in CLAIMS
    }
    assert {hrefs[k][2] for k in left} == printed
    assert len(printed) > 30
    asked_of = {}
    for href in printed:
        for key in next(whole["cites"] for whole in wholes if whole["id"] == href.partition("#")[2]):
            asked_of.setdefault(f"s/{key}.html", set()).add(f"../{href}")
    for place, page in read.items():  # a source says what is open of its claims
        if place.startswith("s/"):
            found = {attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs["href"].startswith("../p/")}
            assert found >= asked_of.get(place, set()), place


def test_places_in_sources_are_those_of_the_index(read):
    with (EVIDENCE.parent / "locators.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 15
    for row in rows:
        link = ("a", {"href": f"../s/{row['source']}.html"})
        shown = "".join(text for text, around in read[f"c/{row['id']}.html"].texts if link in around)
        assert shown.endswith(f", {row['place']}"), row
        told = [
            (text, attrs.get("data-src"))
            for text, around in read[f"s/{row['source']}.html"].texts
            for _, attrs in around[-1:]
        ]
        assert (row["place"], f"locators.csv#/{row['id']}/{row['source']}") in told, row


def rows_of(page):
    """Return the links of every row of the first list of a graph's page: the claim, then what its proof uses."""
    lists, rows = 0, []
    for tag, attrs in page.tags:
        lists += attrs.get("class") == "words"
        if lists == 1 and tag == "li":
            rows.append([])
        if lists == 1 and tag == "a":
            rows[-1].append(attrs["href"])
    return rows


def test_a_graph_says_in_words_what_proofs_use(read):
    proofs = read_proofs(EVIDENCE, CLAIMS)
    told = {row[0]: sorted(row[1:]) for place in read if place.startswith("u/") for row in rows_of(read[place])}
    using = {name: (proof.uses, proof.lemmas) for name, proof in proofs.items() if proof.uses or proof.lemmas}
    assert told == {
        f"../c/{name}.html": sorted([*(f"../c/{u}.html" for u in uses), *(f"../p/lemmas.html#{u}" for u in lemmas)])
        for name, (uses, lemmas) in using.items()
    }


def test_no_command_of_tex_is_left_over(read):
    formulas = 0
    for place, page in read.items():
        for text, around in page.texts:
            tags = {tag for tag, _ in around}
            formulas += "math" in tags
            assert "\\" not in text or tags & {"pre", "code"}, (place, text)
            assert not re.search(r"\$[^$]*\$", text) or tags & {"pre", "code"}, (place, text)
    assert formulas > 100_000


def signs_of(sheet):
    """Return the signs that the font of formulas is asked for."""
    told = re.search(r"@font-face \{.*?unicode-range: (.*?);", sheet, re.DOTALL)[1]
    ends = [each.strip().removeprefix("U+").split("-") for each in told.split(",")]
    return {sign for each in ends for sign in range(int(each[0], 16), int(each[-1], 16) + 1)}


def test_formulas_have_a_font_of_their_own_with_every_sign(atlas, read):
    font = (atlas / "stix-two-math.woff2").read_bytes()
    assert font[:4] == b"wOF2"
    assert len(font) <= 200_000
    assert "SIL Open Font License" in (atlas / "stix-two-math.LICENSE.txt").read_text(encoding="utf-8")
    sheet = (atlas / "style.css").read_text(encoding="utf-8")
    assert re.search(r'math \{ font-family: "STIX Two Math"', sheet)
    known = signs_of(sheet) | {0xFE00}  # which only chooses between two forms
    for place, page in read.items():
        for text, around in page.texts:
            if any(tag == "math" for tag, _ in around):
                assert {ord(sign) for sign in text} <= known, (place, text)


def test_every_link_leads_somewhere(atlas, read):
    ids = {place: page.ids for place, page in read.items()}
    for place, page in read.items():
        for tag, attrs in page.tags:
            for name in ("href", "src", "action"):
                if name not in attrs or tag == "math" or urlsplit(attrs[name]).scheme:
                    continue
                parts = urlsplit(attrs[name])
                target = (atlas / place).parent.joinpath(unquote(parts.path)).resolve() if parts.path else atlas / place
                assert target.is_file(), (place, attrs[name])
                if parts.fragment and target.suffix == ".html":
                    there = target.relative_to(atlas.resolve()).as_posix() if parts.path else place
                    assert unquote(parts.fragment) in ids[there], (place, attrs)


def test_every_page_can_be_read_aloud(read):
    for place, page in read.items():
        tags = [tag for tag, _ in page.tags]
        assert dict(page.tags)["html"] == {"lang": "en"}
        assert tags.count("h1") == 1, place
        assert {"title", "main", "nav", "header", "footer"} <= set(tags)
        assert all("alt" in attrs for tag, attrs in page.tags if tag == "img"), place


def test_what_a_proof_and_a_claim_say_of_each_other(read):
    hrefs = {place: {attrs.get("href") for tag, attrs in page.tags if tag == "a"} for place, page in read.items()}
    assert "../p/lipschitz.html#lipschitz.sharp-w1" in hrefs["c/lipschitz.sharp-w1.html"]
    assert "../c/lipschitz.sharp-w1.html" in hrefs["p/lipschitz.html"]
    assert "../s/castin2024.html" in hrefs["c/lipschitz.sharp-w1.html"]
    assert "../f/tightness.html" in hrefs["c/lipschitz.sharp-w1.html"]
    assert "lipschitz.joint-witness.html" in hrefs["c/lipschitz.sharp-w1.html"]  # its proof uses it
    assert "certificate.valid.html" in hrefs["c/lipschitz.sharp-w1.html"]  # which uses it
    assert "../u/lipschitz.html" in hrefs["c/lipschitz.sharp-w1.html"]
    assert "../c/lipschitz.sharp-w1.html" in hrefs["u/lipschitz.html"]
    assert "p/chaos.html#chaos.tagged" in hrefs["open.html"]
    assert "c/markov.printed-lookup.html" in hrefs["errata.html"]
    assert "../c/distance-attention.heads.html" in hrefs["s/kim2021.html"]


def found(atlas, query):
    """Search as the page does, in Node."""
    program = (
        "const fs = require('fs'), vm = require('vm');"
        "for (const name of ['index.js', 'search.js'])"
        " vm.runInThisContext(fs.readFileSync(`${process.argv[1]}/${name}`, 'utf8'));"
        "const MiniSearch = require(`${process.argv[1]}/minisearch.js`);"
        "console.log(makeSearch(MiniSearch, ATLAS.claims)(process.argv[2]).join(' '))"
    )
    done = subprocess.run(  # noqa: S603
        [NODE, "-e", program, str(atlas), query], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(NODE is None, reason="searching as a page does needs Node")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("wasserstein sharp lipshitz", "lipschitz.sharp-w1"),
        ("entmax support", "entmax.support"),
        ("total variation softmax", "softmax.total-variation"),
        ("consensus almost every", "consensus.almost-every"),
        ("maxent.gibbs", "maxent.gibbs"),
        ("rope base", "rotary.least-base"),
        ("layernorm", "depth.layer-norm"),
        ("attention layernorm", "depth.layer-norm"),
        ("quantization", "quantised.bias"),
    ],
)
def test_a_search_with_a_slip_finds_the_claim(atlas, query, first):
    on_the_page = found(atlas, query)
    assert on_the_page[0] == first
    in_the_terminal = ranked(read_all(EVIDENCE), query)
    assert on_the_page[: len(in_the_terminal)] == in_the_terminal  # below stands what has some of the words


def test_the_index_holds_what_facets_ask_for(atlas):
    text = (atlas / "index.js").read_text(encoding="utf-8")
    whole = json.loads(text.removeprefix("globalThis.ATLAS = ").removesuffix(";\n"))
    assert sorted(claim["id"] for claim in whole["claims"]) == CLAIMS
    assert {"subject", "kind", "verdict", "labels", "sources", "figures"} <= set(whole["claims"][0])
    cited = {key for claim in whole["claims"] for key in claim["sources"]}
    text = (atlas / "bib.js").read_text(encoding="utf-8")
    entries = json.loads(text.removeprefix("globalThis.BIB = ").removesuffix(";\n"))
    assert cited | {"attention-theory"} <= set(entries)
    assert (atlas / "all.bib").read_text(encoding="utf-8") == "\n\n".join(entries[k] for k in in_order(atlas)) + "\n"


def in_order(atlas):
    return re.findall(r"^@\w+\{([^,]+),$", (atlas / "all.bib").read_text(encoding="utf-8"), re.MULTILINE)


def test_records_on_the_site_are_those_of_the_repository(atlas):
    for claim in CLAIMS[::20]:
        with zipfile.ZipFile(atlas / "r" / f"{claim}.json.zip") as archive:
            assert archive.namelist() == [f"{claim}.json"]
            whole = archive.read(f"{claim}.json")
        assert whole == (EVIDENCE / f"{claim}.json").read_bytes()
        page = (atlas / "c" / f"{claim}.html").read_text(encoding="utf-8")
        assert f"<code>{hashlib.sha256(whole).hexdigest()[:16]}</code> (SHA-256)" in page


def contrast(one, other):
    """Contrast of two colours, as WCAG 2 defines it."""

    def light(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return sum(weight * v for weight, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05

    a, b = light(one), light(other)
    return max(a, b) / min(a, b)


def test_texts_stand_out_in_both_schemes(atlas):
    sheet = (atlas / "style.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[:2]
    )
    texts = ("ink", "soft", "accent", "supported", "refuted", "inconclusive", "vacuous")
    for scheme in (light, dark):
        for ground in ("paper", "sheet", "mark"):
            for text in texts[:3] if ground == "mark" else texts:
                assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground)
    assert round(contrast("#000000", "#ffffff"), 6) == 21.0


def test_squares_have_the_colours_of_the_figures(atlas, read):
    sheet = (atlas / "style.css").read_text(encoding="utf-8")
    for kind, colour in style.OF_KIND.items():
        name = kind.name.lower()
        assert re.findall(rf"--{name}: (#\w+)", sheet) == [colour.lower()]  # the same in both schemes
        assert f".sq.{name} {{ background: var(--{name}); }}" in sheet
    asked = {square["href"][2:-5] for square in squares_of(read) if "stated" in square["class"].split()}
    wholes = {claim: json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8")) for claim in CLAIMS}
    assert asked == {claim for claim, whole in wholes.items() if best_of(whole) in whole.get("finds", ())}
    assert len(asked) > 5


def best_of(whole):
    return (whole["scales"].get("paper") or whole["scales"]["quick"])["verdict"]


def text_of(page):
    return " ".join("".join(text for text, _ in page.texts).split())


def test_what_is_recalled_is_not_said_to_be_stated(read):
    said = Counter()
    for claim in CLAIMS:
        whole = json.loads((EVIDENCE / f"{claim}.json").read_text(encoding="utf-8"))
        text, marks = text_of(read[f"c/{claim}.html"]), whole["source_status"]
        if whole["cites"]:
            word = "Stated in" if "seen" in marks else "Attributed to" if "recalled" in marks else "Compare"
            assert f"{word} " in text, claim
            assert ("Stated in " in text) == (word == "Stated in"), claim
            said[word] += 1
    assert min(said[word] for word in ("Stated in", "Attributed to", "Compare")) > 50


def test_a_number_that_moved_says_from_where_to_where(read):
    moved = {
        claim: re.findall(r"\d\d, [a-z ]+ \[[^]]*\] \u2192 \[[^]]*\]", text_of(read[f"c/{claim}.html"]))
        for claim in CLAIMS
    }
    assert sum(map(bool, moved.values())) > 5
    assert moved["noisy.bifurcation"] == ["22, quick and paper [0, 7.2536e-05] \u2192 [0, 7.2245e-05]"]


def test_words_of_claims_have_signs_for_spelled_letters(read):
    title = "on a ball exp(2\u03b1)(1 + 2\u03b1), with no further term, is a Lipschitz constant in W"
    assert title in text_of(read["c/lipschitz.sharp-w1.html"])
    loose = [text for text, around in read["moved.html"].texts if not {"code", "pre"} & {tag for tag, _ in around}]
    assert not [text for text in loose if "W_" in text]


def test_names_of_code_may_have_an_underscore():
    assert typeset(r"as \texttt{certify\_blocks} computes") == "as <code>certify_blocks</code> computes"
