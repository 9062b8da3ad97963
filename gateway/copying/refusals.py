"""Why a copy is not made, or not believed."""

from __future__ import annotations


class CannotCopy(Exception):
    """What has to be otherwise, and what to do."""


class Differs(Exception):
    """The copy is not what the file is; the message names tables and numbers."""
