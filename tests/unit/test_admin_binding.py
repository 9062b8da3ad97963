"""What no database takes never reaches one: it is refused at the door, by its field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.admin.acts import access, channels, settings
from gateway.admin.acts import vault as secrets
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


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        (secrets.PUT, {"name": "a", "value": "geheim" + "x" * 70_000}),
        (secrets.PUT, {"name": "a", "value": "geheim\0"}),
        (secrets.PUT, {"name": "a", "value": ["geheim"]}),
        (access.USERS_ADD, {"name": "a", "grants": [], "password": "geheim\0"}),
        (channels.ADD, {"channel": "a", "kind": "webhook", "settings": {"secrets": ["geheim\0"]}}),
        (settings.CHANGE, {"changes": [{"path": "channels.a.secrets", "value": ["geheim\0"]}]}),
    ],
    ids=["too long", "nul", "a list", "a password", "a channel's", "a setting's"],
)
def test_no_secret_stands_in_an_error(operation: Operation, values: dict[str, Any]) -> None:
    """Whoever sends one to be stored may do so from where others look on."""
    with pytest.raises(Invalid) as caught:
        request_of(operation, values, path={}, strict=True)

    assert [""] == [problem.value for problem in caught.value.problems]
    assert "geheim" not in f"{caught.value}{caught.value.problems}"
