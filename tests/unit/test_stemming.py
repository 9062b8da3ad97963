"""Stems of English words: Porter's own examples, and what he leaves alone."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.stemming import stem

# From the steps of the paper (Program 14/3, 1980), each word run through all of them.
PAPER = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat",
    "feed": "feed", "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall",
    "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky",
    "relational": "relat", "conditional": "condit", "rational": "ration", "valenci": "valenc", "digitizer": "digit",
    "conformabli": "conform", "radicalli": "radic", "differentli": "differ", "vileli": "vile", "analogousli": "analog",
    "vietnamization": "vietnam", "predication": "predic", "operator": "oper", "feudalism": "feudal",
    "decisiveness": "decis", "hopefulness": "hope", "callousness": "callous", "formaliti": "formal",
    "sensitiviti": "sensit", "sensibiliti": "sensibl", "triplicate": "triplic", "formative": "form",
    "formalize": "formal", "electriciti": "electr", "electrical": "electr", "goodness": "good", "revival": "reviv",
    "allowance": "allow", "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust",
    "irritant": "irrit", "replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
    "communism": "commun", "activate": "activ", "effective": "effect", "probate": "probat", "rate": "rate",
    "cease": "ceas", "controlling": "control", "rolling": "roll",
}  # fmt: skip


@pytest.mark.parametrize("word", PAPER)
def test_words_of_the_paper_have_its_stems(word: str) -> None:
    """Every example of the paper comes out as printed there."""
    assert PAPER[word] == stem(word)


@pytest.mark.parametrize(
    "words",
    [
        ("volunteer", "volunteers", "volunteered", "volunteering"),
        ("ship", "shipped", "shipping", "ships"),
        ("allergy", "allergies"),
        ("paint", "painted", "painting", "paintings"),
        ("adopt", "adoption", "adopting"),
    ],
)
def test_forms_of_a_word_share_its_stem(words: tuple[str, ...]) -> None:
    """A question finds what was said in another form of its words."""
    assert 1 == len({stem(word) for word in words})


@pytest.mark.parametrize("word", ["", "a", "is", "8821", "v12", "naïve", "猫", "x" * 33])
def test_what_is_no_english_word_stays(word: str) -> None:
    """Short words, codes, other alphabets and what is too long to be a word are left as they are."""
    assert word == stem(word)


@given(st.text(string.ascii_lowercase, max_size=40))
def test_a_stem_is_never_longer_by_more_than_a_letter(word: str) -> None:
    """Endings go; at most the "e" that an ending had taken comes back, and nothing ever becomes empty."""
    stemmed = stem(word)

    assert len(stemmed) <= len(word)
    assert bool(stemmed) == bool(word)
