"""What is deposited under a DOI, as one archive: records, tables, figures, proofs, notes, the lock, and results.

Names are sorted, times are the first that a zip can tell, and nothing of the machine is in it: whoever makes it of the
same files finds the same contents, listed with their hashes in ``SHA256SUMS``, and with the same zlib the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import theory
from theory.evidence.files import write_whole
from theory.report import citing
from theory.report.archive import ArchiveError, Record, read_all, record_paths
from theory.report.citation import SUITE, entries
from theory.report.drawn import LIST
from theory.report.freshness import changes
from theory.report.proofs import read_proofs

SUMS = "SHA256SUMS"
_BEGIN = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can tell
_PLAIN = 0o100644 << 16  # a file that its owner may write and all may read
_UNIX = 3
_NEEDED = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "requirements.lock")
_ALSO = ("docs/notes/*.md", "proofs/*.md", "proofs/*.csv", *(f"proofs/formal/*.{kind}" for kind in ("json", "md", "v")))


def write_zip(out: Path, folder: Path, notes: Path) -> str:
    """Write the archive and say what is in it.

    Parameters
    ----------
    out : Path
        The file, whose name ends in ``.zip``.
    folder, notes : Path
        Records, and notes with the sources; all else lies beside the notes.

    Raises
    ------
    ArchiveError
        If something is missing, a picture is not the one that the list of figures names, or ``out`` cannot be written.
    """
    if out.suffix != ".zip":
        raise ArchiveError(f"--zip: expected a file whose name ends in .zip, got {out}")
    records = read_all(folder)
    contents = collect(records, folder, notes)
    packed = pack(contents)
    try:
        write_whole(out, packed)
    except OSError as error:
        raise ArchiveError(f"--zip: expected a file that can be written, got {out}: {error}") from error
    old = len({claim for claim, _ in changes(records, folder)})
    return (
        f"{out}: {len(contents) + 1} files, {len(records)} claims, sha256 {hashlib.sha256(packed).hexdigest()}\n"
        + f"recorded before its code changed: {old} of {len(records)} claims\n" * bool(old)
    )


def collect(records: Sequence[Record], folder: Path, notes: Path) -> dict[str, bytes]:
    """Return the contents of the archive by name; arguments and errors as those of :func:`write_zip`."""
    root, folder = notes.resolve().parent, folder.resolve()
    if not folder.is_relative_to(root):
        raise ArchiveError(f"--evidence: expected a folder beside {notes}, got {folder}")
    paths = [*record_paths(folder), notes.resolve(), *(root / name for name in _NEEDED)]
    paths += [path for name in ("merged.csv", "locators.csv") if (path := folder.parent / name).is_file()]
    paths += [path for pattern in _ALSO for path in root.glob(pattern)]
    try:
        contents = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
        contents |= {f"figures/{name}": content for name, content in _figures(root / "figures")}
    except OSError as error:
        raise ArchiveError(f"bundle: expected a whole repository around {folder}: {error}") from error
    proofs = read_proofs(folder, [record.claim.id for record in records])
    made = {
        "results.json": citing.as_results(records, proofs, theory.__version__),
        "results.schema.json": citing.schema(),
        "all.bib": "\n\n".join(entries(records, notes, whole=True)) + "\n",
    }
    return contents | {name: text.encode() for name, text in made.items()}


def _figures(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the list of figures, and the tables and pictures that it names, as it knows them."""
    listed = (folder / LIST).read_bytes()
    yield LIST, listed
    try:
        prints = {
            name: print_
            for figure, entry in json.loads(listed).items()
            for name, print_ in {f"{figure}.csv": entry["csv"], **entry["files"]}.items()
        }
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{folder / LIST}: expected the list of figures: {error!r}") from error
    for name, print_ in prints.items():
        content = (folder / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != print_:
            raise ArchiveError(f"{folder / name}: expected the file that {LIST} names, got another one")
        yield name, content


def pack(contents: dict[str, bytes]) -> bytes:
    """Return a zip of contents by name, with their hashes, in one folder that is called after suite and version."""
    sums = "".join(f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in sorted({**contents, SUMS: sums.encode()}.items()):
            about = zipfile.ZipInfo(f"{SUITE}-{theory.__version__}/{name}", _BEGIN)
            about.compress_type, about.create_system, about.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _PLAIN
            archive.writestr(about, content, compresslevel=9)
    return packed.getvalue()
