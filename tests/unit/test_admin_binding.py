"""What no database takes never reaches one: it is refused at the door, by its field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.admin.binding import request_of
from gateway.admin.operations import Invalid, Operation


class Deep(msgspec.Struct, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    number: int = 0
    text: str = ""
    deep: Deep = Deep()
    any: Any = None


ACT = Operation(
    name="things.do", told="Do", method="POST", path="/things", right="see", where="any", request=Asked
)  # fmt: skip


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"number": 2**63}, "number", "64 bits"),
        ({"number": -(2**63)}, "number", "64 bits"),
        ({"any": {"a": [1, 2**70]}}, "any", "64 bits"),
        ({"text": "a\0b"}, "text", "NUL"),
        ({"text": "\ud800"}, "text", "half a character"),
        ({"deep": {"names": ["fine", "x\0"]}}, "deep", "NUL"),
        ({"any": {"\0": 1}}, "any", "NUL"),
    ],
)
def test_what_no_database_takes_is_refused(values: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        request_of(ACT, values, path={}, strict=True)

    (problem,) = caught.value.problems
    assert field == problem.path
    assert said in problem.problem


def test_all_else_passes() -> None:
    asked = {
        "number": 2**63 - 1,
        "text": "你好 👩‍👩‍👧\n",
        "deep": {"names": ["a"]},
        "any": [True, None, 1.5, {"b": -1}],
    }

    assert msgspec.convert(asked, Asked) == request_of(ACT, asked, path={}, strict=True)
