"""Files laid out as Multi30K's are read line by line; a missing or damaged one is named."""

import gzip

import pytest

from theory.experiments.data.corpus import Pairs
from theory.experiments.data.multi30k import read_multi30k

TEXTS = {
    "train.en": "Two young men.\nA dog\u2028runs .\n",  # a line separator of Unicode ends no line
    "train.de": "Zwei junge Männer.\nEin Hund läuft .\n",
    "val.en": "A man.\n",
    "val.de": "Ein Mann.\n",
    "test_2016_flickr.en": "A  woman.\n",
    "test_2016_flickr.de": "Eine Frau.\n",
}


def laid_out(folder, texts=TEXTS, packed=False):
    for name, text in texts.items():
        data = text.encode("utf-8")
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_pairs(tmp_path, packed):
    corpus = read_multi30k(laid_out(tmp_path, packed=packed))
    assert corpus.train == Pairs(
        ("", ""), ("Two young men.", "A dog runs ."), ("Zwei junge Männer.", "Ein Hund läuft .")
    )
    assert corpus.validation.sources == ("A man.",)
    assert (corpus.test.sources, corpus.test.targets) == (("A woman.",), ("Eine Frau.",))


def test_tokenised_text_and_older_names(tmp_path):
    texts = {}
    for name, text in TEXTS.items():
        part, language = name.split(".")
        texts[f"{part.replace('test_2016_flickr', 'test2016')}.lc.norm.tok.{language}"] = text.lower()
    assert read_multi30k(laid_out(tmp_path, texts)).train.targets[1] == "ein hund läuft ."


def test_raw_text_goes_before_tokenised(tmp_path):
    laid_out(tmp_path, {name.replace(".", ".lc.norm.tok."): "other\n" for name in TEXTS})
    assert len(read_multi30k(laid_out(tmp_path)).train) == 2


def test_carriage_returns_and_a_last_empty_line(tmp_path):
    texts = {name: text.replace("\n", "\r\n") + "\n" * name.endswith("en") for name, text in TEXTS.items()}
    assert read_multi30k(laid_out(tmp_path, texts)).train.sources[0] == "Two young men."


@pytest.mark.parametrize("name", TEXTS)
def test_a_missing_file_is_named(tmp_path, name):
    laid_out(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name}: expected Multi30K's file"):
        read_multi30k(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(NotADirectoryError, match="nowhere"):
        read_multi30k(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train.de", b"Zwei\n", r"train\.de: expected 2 lines as in train\.en, got 1"),
        ("val.de", b"M\xe4nner\n", r"val\.de: expected UTF-8, got byte 0xe4 at 1"),
        ("test_2016_flickr.en", b"\n\n", r"test_2016_flickr\.en: expected sentences, got an empty file"),
        ("train.en", b"Two\n\nmen\n", r"train\.en: expected a sentence on every line, got an empty line 2"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, data, message):
    laid_out(tmp_path)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_multi30k(tmp_path)


@pytest.mark.parametrize(
    "cut", [lambda data: data[:-9], lambda data: b"PK" + data, lambda data: data[:12] + b"\xff" * 9]
)
def test_a_damaged_archive_is_named(tmp_path, cut):
    laid_out(tmp_path, packed=True)
    path = tmp_path / "val.en.gz"
    path.write_bytes(cut(path.read_bytes()))
    with pytest.raises(ValueError, match=r"val\.en\.gz: expected a gzip file, got a damaged one"):
        read_multi30k(tmp_path)


def test_pairs_are_equally_many():
    with pytest.raises(ValueError, match="targets: expected 1 of them, got 2"):
        Pairs(("",), ("a",), ("b", "c"))
    with pytest.raises(ValueError, match="sources: expected at least one sentence"):
        Pairs((), (), ())
