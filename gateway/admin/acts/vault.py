"""What can be done about secrets, as data: put in, list, take out; never look at. Done in `gateway/admin/keeping.py`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gateway.admin.operations import Empty, Operation

Name = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9_.-]{1,200}$",
        description="A secret's name. One that begins with channels.NAME. is that channel's.",
    ),
]


class SecretPut(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    value: Annotated[str, msgspec.Meta(min_length=1, max_length=65_536)]

    def __repr__(self) -> str:
        return f"SecretPut(name={self.name!r})"


class SecretNamed(msgspec.Struct, frozen=True, kw_only=True):
    name: Name


class SecretTold(msgspec.Struct, frozen=True, kw_only=True):
    """A secret by name. `reference` is what settings say; `used` are the paths where they do. `readable` False: its key is not
    here. `ms`: when it was put in, in milliseconds since 1970."""

    name: str
    reference: str
    ms: int
    author: str
    author_name: str
    readable: bool
    used: tuple[str, ...]


class SecretsTold(msgspec.Struct, frozen=True, kw_only=True):
    """By name. `problem`: why none can be put in; null: they can."""

    secrets: tuple[SecretTold, ...]
    problem: str | None


LIST = Operation(
    name="secrets.list",
    told="List the secrets by name: when they were put in, by whom, and which settings refer to them.",
    method="GET",
    path="/secrets",
    right="configure",
    where="any",
    result=SecretsTold,
    audited="no",
)
PUT = Operation(
    name="secrets.put",
    told="Store a secret, in the place of one of the same name.",
    method="PUT",
    path="/secrets/{name}",
    right="configure",
    where="any",
    request=SecretPut,
    result=Empty,
)
REMOVE = Operation(
    name="secrets.remove",
    told="Take out a secret that no setting refers to.",
    method="DELETE",
    path="/secrets/{name}",
    right="configure",
    where="any",
    request=SecretNamed,
    result=Empty,
)
OPERATIONS: tuple[Operation, ...] = (LIST, PUT, REMOVE)
