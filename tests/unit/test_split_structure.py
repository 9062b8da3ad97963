"""What a piece is made of after a cut: the same lists, quotes, fences, tables and emphasis as before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it.tree import SyntaxTreeNode

from adapters.markdown import tree
from adapters.text import plain, split

Lines = list[str]


def sentence(*forms: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(forms), min_size=1, max_size=12).map(" ".join)


TEXT = (
    "W",
    "W",
    "W，W。",
    "W!",
    "👩‍👩‍👧‍👦W",
    "**W W，W**",
    "*W W*",
    "***W** W*",
    "~~W W~~",
    "`W W`",
    "[W W](http://x/y)",
    "[W][r]",
    "**W *W W***",
    "\\*W\\*",
    "&amp;W",
    "**注意：**W",
)


def block() -> st.SearchStrategy[Lines]:
    text = sentence(*TEXT)
    return st.one_of(
        st.lists(text, min_size=1, max_size=4),
        text.map(lambda line: [f"## {line}"]),
        text.map(lambda line: [line, "---"]),
        st.lists(st.sampled_from(["W = W", "    W", "", "```W", "# W"]), max_size=12).map(
            lambda code: ["````py", *code, "````"]
        ),
        st.lists(st.just("| W | `W` W |"), max_size=8).map(lambda rows: ["| W | W |", "|:--|---|", *rows]),
        st.just(["***"]),
    )


def nested(inner: st.SearchStrategy[Lines]) -> st.SearchStrategy[Lines]:
    items = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        inner.map(lambda lines: ["> " + line for line in lines]),
        st.tuples(items, st.booleans()).map(lambda case: listed(case[0], lambda _: "- ", loose=case[1])),
        st.tuples(items, st.integers(0, 120), st.booleans()).map(
            lambda case: listed(case[0], lambda at: f"{case[1] + at}. ", loose=case[2])
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in (*part, "")]),
    )


def listed(items: list[Lines], mark: Callable[[int], str], *, loose: bool) -> Lines:
    lines = []
    for at, item in enumerate(items):
        sign = mark(at)
        lines += [sign + item[0], *((" " * len(sign) + line) for line in item[1:]), *([""] if loose else [])]
    return lines


def numbered(lines: Lines) -> str:
    """The text, each of its words told from all others."""
    parts = re.split("W", "\n".join(lines) + "\n\n[r]: http://ref/x\n")
    return "".join(f"{part}w{at}w" for at, part in enumerate(parts[:-1])) + parts[-1]


documents = st.recursive(block(), nested, max_leaves=12).map(numbered)


def places(markdown: str) -> dict[str, tuple[str, ...]]:
    """Every word with all it stands in; of a word met again (a repeated head) the first place."""
    return dict(reversed(list(_places(tree(markdown), ()))))


def _places(node: SyntaxTreeNode, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for at, child in enumerate(node.children):
        if node.type == "ordered_list":
            within = (*path, f"item {int(node.attrs.get('start', 1)) + at}")
        elif node.type == "bullet_list":
            within = (*path, "item")
        elif child.type in ("text", "code_inline", "fence", "code_block"):
            for word in re.findall(r"w\d+w", child.content):
                yield word, (*path, child.type.replace("code_block", "fence"))
            continue
        else:
            named = {"link": str(child.attrs.get("href")), "heading": child.tag}
            ignored = ("ordered_list", "bullet_list", "paragraph", "inline", "thead", "tbody", "tr")
            within = path if child.type in ignored else (*path, named.get(child.type, child.type))
            if within[-2:] == ("strong", "em"):  # in no order: Markdown reads `***x***` in one way only
                within = (*within[:-2], "em", "strong")
        yield from _places(child, within)


def _beginnings(markdown: str) -> set[str]:
    """The words that list items begin with (not those that begin with a rule or empty code)."""
    items = [node for node in tree(markdown).walk() if node.type == "list_item"]
    blocks = [next((node for node in item.walk() if node.type in ("inline", "fence", "hr")), item) for item in items]
    texts = [block.content if block.type in ("inline", "fence") else "" for block in blocks]
    return {found[0] for text in texts if (found := re.search(r"w\d+w", text))}


@pytest.mark.parametrize("measure", [len, lambda text: len(text.encode()), lambda text: len(plain(text))])
@given(text=documents, limit=st.integers(160, 400))
@settings(deadline=None, max_examples=60)
def test_everything_stands_where_it_stood(measure: Callable[[str], int], text: str, limit: int) -> None:
    """Every word keeps its quotes, emphasis, link, language, cell and item with its number; only the rest of an item's own
    text stands outside of the item."""
    before = places(text)

    pieces = split(text, limit=limit, measure=measure)

    assert [] == [piece for piece in pieces if measure(piece) > limit]
    seen: dict[str, tuple[str, ...]] = {}
    for piece in pieces:
        here = places(piece)
        seen = here | seen
    assert before.keys() == seen.keys()
    moved = {word for word in before if before[word] != seen[word]}
    told = {word: seen[word] for word in moved}
    assert told == {word: tuple(part for part in before[word] if not part.startswith("item")) for word in moved}, (
        text,
        pieces,
    )
    assert set() == moved & _beginnings(text), (text, pieces)
