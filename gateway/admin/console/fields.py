"""A form's fields as data, for the macro `ui.field`. What they mean is the part's business."""

from __future__ import annotations

from typing import Literal

import msgspec


class Choice(msgspec.Struct, frozen=True):
    """One of several; `told` is what people read, None: the value itself."""

    value: str
    told: str | None = None


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field. `value` is what stands in it now; texts are shown as they are, so they come translated.

    `help` says what it means, `unit` stands behind the field, `default` is what applies if it is left empty, `origin` says
    where the value comes from, `error` what is wrong with what was sent, with its remedy; `checked`: that is also told while one
    types, by the form's own page. `kind`: `check` sends `on` or
    nothing; `lines` holds one entry a line; `secret` never shows a value. `attributes` go into the tag as they are (`min`,
    `autocomplete`, `hx-get`): names are constants of ours.
    """

    name: str
    label: str
    kind: Literal["text", "secret", "number", "check", "choice", "area", "lines", "date", "search"] = "text"
    value: str = ""
    help: str = ""
    unit: str = ""
    default: str = ""
    origin: str = ""
    error: str = ""
    checked: bool = False
    choices: tuple[Choice, ...] = ()
    required: bool = False
    attributes: dict[str, str] = {}
