"""The kinds of values that requests of several parts take."""

from __future__ import annotations

from typing import Annotated

import msgspec

Channel = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,63}$", description="A channel's name.")]
Limit = Annotated[int, msgspec.Meta(ge=1, le=200, description="Entries in one answer.")]
Number = Annotated[str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}$", description="A number, as text.")]
Turn = Annotated[str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}$", description="A turn's number, as text.")]
