"""Byte-pair encoding against a slow one that counts everything anew, and there and back again."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from theory.experiments.data.vocabulary import END, PADDING, START, UNKNOWN, Vocabulary, learn_vocabulary

TEXTS = ["low lower lowest", "new newer newest, wide", "quatre-vingt-dix", "a a a a", "aaaa aaab"]


def slow_merges(texts, count):
    """Choose pairs of neighbours by counting all words after every merge."""
    words = []
    for text in texts:
        word = []
        for sign in "\u2581" + text.replace(" ", "\u2581"):
            inside = word and sign != "\u2581" and (word[-1] == "\u2581" or (word[-1].isalnum() and sign.isalnum()))
            if word and not inside:
                words.append(word)
                word = []
            word.append(sign)
        words.append(word)
    merges = []
    while len(merges) < count:
        counts = Counter(pair for word in words for pair in itertools.pairwise(word))
        if not counts or max(counts.values()) < 2:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        for number, word in enumerate(words):
            new, k = [], 0
            while k < len(word):
                step = 2 if tuple(word[k : k + 2]) == best else 1
                new.append("".join(word[k : k + step]))
                k += step
            words[number] = new
    return tuple(merges)


def test_merges_are_those_of_the_slow_count():
    vocabulary = learn_vocabulary(TEXTS, 60)
    assert vocabulary.merges == slow_merges(TEXTS, len(vocabulary.merges))
    assert len(vocabulary.merges) > 10


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("ab c-", min_size=1, max_size=12), min_size=1, max_size=8), st.integers(0, 12))
def test_merges_of_any_text(texts, extra):
    texts = [" ".join(text.split()) or "a" for text in texts]
    size = len(learn_vocabulary(texts, 40).characters) + 4 + extra
    vocabulary = learn_vocabulary(texts, size)
    assert len(vocabulary) <= size
    assert vocabulary.merges == slow_merges(texts, len(vocabulary.merges))
    for text in texts:
        assert vocabulary.decode(vocabulary.encode(text)) == text


@settings(deadline=None, max_examples=100)
@given(st.text("adelnoqrstuvwx-, é", max_size=30))
def test_there_and_back(text):
    vocabulary = learn_vocabulary(["adelnoqrstuvwx-, é", "quatre-vingt-dix-neuf", "neuf cent neuf"], 60)
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert max(vocabulary.encode(text), default=0) < len(vocabulary)


def test_marks_are_numbers_of_their_own():
    vocabulary = learn_vocabulary(["a b"], 20, ("<de>", "<fr>"))
    assert vocabulary.symbols[:6] == ("<pad>", "<start>", "<end>", "<unk>", "<de>", "<fr>")
    assert (PADDING, START, END, UNKNOWN) == (0, 1, 2, 3)
    assert vocabulary.mark("<fr>") == 5
    assert vocabulary.decode((START, 4, *vocabulary.encode("b a"), END, *vocabulary.encode("b"))) == "b a"


def test_what_was_never_seen_is_unknown():
    vocabulary = learn_vocabulary(["abc"], 20)
    assert vocabulary.encode("axc").count(UNKNOWN) == 1
    assert vocabulary.decode(vocabulary.encode("axc")) == "a\ufffdc"
    assert vocabulary.encode("") == ()


def test_frequent_words_become_one_symbol():
    vocabulary = learn_vocabulary(["tausend tausend und tausend"] * 3 + ["und"], 30)
    assert len(vocabulary.encode("tausend")) == 1
    assert len(vocabulary.encode("tausend und")) == 2
    assert len(vocabulary) <= 30


def test_two_ways_to_one_symbol_take_one_number():
    vocabulary = Vocabulary((), ("a", "b"), (("a", "b"), ("ab", "a"), ("b", "a"), ("a", "ba")))
    assert len(vocabulary.symbols) == len(set(vocabulary.symbols)) == len(vocabulary) == 4 + 2 + 3


def test_bad_input():
    with pytest.raises(ValueError, match="size: expected at least 7 for the marks and characters, got 6"):
        learn_vocabulary(["ab"], 6)
    with pytest.raises(ValueError, match="texts: expected at least one word"):
        learn_vocabulary([""], 20)
    with pytest.raises(ValueError, match="marks: expected distinct ones"):
        learn_vocabulary(["a"], 20, ("<end>",))
    with pytest.raises(ValueError, match="name: expected one of the marks"):
        learn_vocabulary(["a"], 20, ("<de>",)).mark("<fr>")
    with pytest.raises(ValueError, match=r"text: expected none of the sign U\+2581"):
        learn_vocabulary(["a"], 20).encode("a\u2581b")
