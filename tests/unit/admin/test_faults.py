"""What goes wrong is told in both languages: every refusal of an act that a page may ask for, every problem of the settings."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import validation
from gateway.admin.console.faults import Piece, told

ROOT = Path(__file__).parents[3]
DOORS = {"admin_cli.py", "api.py"}  # what they say themselves is met at no page
RAISED = {
    "Refused",
    "Missing",
    "Disagrees",
    "Invalid",
    "BadRequest",
    "ProviderFault",
    "BadReference",
    "Unreadable",
    "Flaw",
}
HELPERS = {"_invalid", "invalid", "_at", "_needs", "report"}
COMPOSED = "there is no record of a prompt for turn #1: no agent was asked, or its message is gone, or its time is over"
SAID = json.loads((ROOT / "gateway" / "admin" / "console" / "faults.json").read_text("utf-8"))


def texts(node: ast.AST | None) -> list[str]:
    """What an expression says: a number or a name in the place of each value."""
    match node:
        case ast.Constant(value=str() as text):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(part.value if isinstance(part, ast.Constant) else "7" for part in values)]
        case ast.IfExp(body=body, orelse=orelse):
            return texts(body) + texts(orelse)
        case ast.Tuple(elts=elts):
            return [text for each in elts for text in texts(each)]
    return []


def written(path: Path) -> Iterator[tuple[str, int]]:
    """Every sentence about a fault, with its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        found: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
                if name in RAISED:
                    found = list(args)
                elif name in HELPERS:
                    found = list(args[-2:])
                found += [each.value for each in keywords if each.arg in ("problem", "remedy")]
            case ast.Yield(value=ast.Tuple(elts=[_, problem, remedy])):
                found = [problem, remedy]
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id="problem"), *_])], value=value):
                found = [value]
            case ast.Assign(targets=[ast.Name(id="problem" | "remedy" | "elsewhere")], value=value):
                found = [value]
        for each in found:
            yield from ((text, node.lineno) for text in texts(each))  # type: ignore[attr-defined]


SOURCES = [
    *(path for path in sorted((ROOT / "gateway" / "admin").rglob("*.py")) if path.name not in DOORS),
    ROOT / "gateway" / "humans.py",
    *sorted((ROOT / "config").glob("*.py")),
]
SENTENCES = sorted(
    {
        (f"{path.relative_to(ROOT)}:{line}", text)
        for path in SOURCES
        for text, line in written(path)
        if re.search(r"[a-z]{2} [a-z]{2}", text) and not path.name.endswith("_words.py")
    }
)


def english_in(pieces: tuple[Piece, ...]) -> list[str]:
    return [piece.text for piece in pieces if not piece.known]


def test_every_refusal_and_every_problem_is_told_in_chinese() -> None:
    """A sentence that is new, or says it otherwise than before, needs its Chinese in faults.json."""
    untold = [f"{place}: {text}" for place, text in SENTENCES if english_in(told(text, "zh"))]

    assert 150 < len(SENTENCES)
    assert [] == untold


def test_what_the_models_of_settings_refuse_is_told_in_chinese() -> None:
    said = [
        text for problem, remedy, _ in validation._LIMITS.values() for text in (problem.format(7), remedy.format(7))
    ]
    said += [text for pair in validation._PLAIN.values() for text in pair]

    assert [] == [text for text in said if english_in(told(text, "zh"))]


def test_no_chinese_answers_what_nobody_says() -> None:
    """Every sentence that has its Chinese is still written somewhere."""
    sources = [path for folder in ("gateway", "adapters", "config", "memory") for path in (ROOT / folder).rglob("*.py")]
    everything = "\n".join(
        "".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
        if isinstance(node, ast.JoinedStr)
        else node.value
        for path in sources
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    )
    stale = [
        english
        for english, said in SAID.items()
        if isinstance(said, str)
        and english != COMPOSED
        and max(re.split(r"[%#]\d", english), key=len).strip() not in everything
    ]

    assert [] == stale


def test_chinese_names_what_the_english_names() -> None:
    def named(text: str) -> set[str]:
        return set(re.findall(r"[%#]\d", text))

    wrong = [english for english, said in SAID.items() if isinstance(said, str) and named(said) != named(english)]

    assert [] == wrong


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        (
            "users.add needs the right 'access' for channel '客服'; ask an owner for a role that has it",
            "users.add 需要渠道 '客服'的 'access' 权限；请让所有者授予相应角色",
        ),
        ("there is no turn 5, or its time is over", "没有轮次 5，或其保留期已过"),
        ("name: it has 3 characters; take at most 2", "name：长度为 3 个字符；最多 2 个字符"),
        ("is not a whole number (my.yaml:3); write digits only", "不是整数（my.yaml:3）；请只填写数字"),
        ("a.yaml:1: x: is empty; set it\nb.yaml: is empty", "a.yaml:1：x：为空；请填写\nb.yaml：为空"),
        ("it holds a password", "it holds a password"),
        ("The value holds no letter and no digit.", "内容里没有任何文字或数字。"),
        ("things: Expected `array` of length >= 1; see /api/v1/openapi.json", "things：请至少选择 1 项；请修改后再提交"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_fault_is_told_piece_by_piece(text: str, chinese: str) -> None:
    """The whole as one sentence, else its pieces; names and values as they are."""
    assert chinese == "".join(piece.text for piece in told(text, "zh"))


def test_what_is_not_known_stays_and_is_marked() -> None:
    """A platform's own words; a name, a value or Chinese is in no need of a mark."""
    assert (Piece("the dog ate it", False), Piece("；", True), Piece("请填写", True)) == told(
        "the dog ate it; set it", "zh"
    )
    assert (Piece("U0A1B2", True),) == told("U0A1B2", "zh")
    assert (Piece("设置已更改", True),) == told("设置已更改", "zh")


def test_english_readers_get_it_as_it_is_but_for_a_librarys_words() -> None:
    assert "name: 'x' is taken; choose another" == "".join(
        p.text for p in told("name: 'x' is taken; choose another", "en")
    )
    assert "text: is longer than 5 characters" == "".join(
        p.text for p in told("text: Expected `str` of length <= 5", "en")
    )


def test_hostile_text_costs_little() -> None:
    """However long, and however many pieces it seems to have."""
    for text in ("a; " * 50_000, "use " * 50_000, "'" * 50_000, "channel '" * 9_000):
        assert text.replace("; ", "") == "".join(p.text for p in told(text, "zh")).replace("；", "").replace("; ", "")
