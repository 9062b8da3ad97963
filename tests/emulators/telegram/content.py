"""What a message can be made of beside text: the smallest objects that a strict parser takes, made by hand (synthetic)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.emulators.telegram.world import World


def _file(world: World, content: bytes = b"\x89PNG synthetic", **more: Any) -> dict[str, Any]:
    number = next(world.numbers)
    world.files[f"file-{number}"] = content
    return {"file_id": f"file-{number}", "file_unique_id": f"u{number}", "file_size": len(content)} | more


def _photo(world: World) -> Any:
    return [_file(world, width=90, height=90), _file(world, width=800, height=800)]


KINDS: dict[str, Callable[[World], Any]] = {
    "photo": _photo,
    "document": lambda world: _file(world, file_name="报告.pdf", mime_type="application/pdf"),
    "voice": lambda world: _file(world, duration=3, mime_type="audio/ogg"),
    "audio": lambda world: _file(world, duration=200, title="Song", performer="Band", mime_type="audio/mpeg"),
    "video": lambda world: _file(world, width=640, height=480, duration=9, mime_type="video/mp4"),
    "video_note": lambda world: _file(world, length=240, duration=5),
    "animation": lambda world: _file(world, width=320, height=240, duration=2, mime_type="video/mp4"),
    "sticker": lambda world: _file(
        world, width=512, height=512, is_animated=False, is_video=False, type="regular", emoji="👍"
    ),
    "location": lambda world: {"latitude": 31.2304, "longitude": 121.4737},
    "contact": lambda world: {"phone_number": "+8613800000000", "first_name": "李雷"},
    "dice": lambda world: {"emoji": "🎲", "value": 6},
    # Bot API 10.1: text, but not in `text`
    "rich_message": lambda world: {"blocks": [{"type": "paragraph", "text": "A rich message 富文本"}]},
}


def of(kind: str, world: World) -> dict[str, Any]:
    """Return the part of a `Message` that holds something of this kind."""
    return {kind: KINDS[kind](world)}
