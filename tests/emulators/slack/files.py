"""Files: the upload in three steps, and the private address that answers with a login page to who has no right to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.emulators.slack.faults import ApiError
from tests.emulators.slack.methods import Asked, Method

if TYPE_CHECKING:
    from tests.emulators.slack.members import Member
    from tests.emulators.slack.server import Slack
    from tests.emulators.slack.workspace import Workspace

Json = dict[str, Any]
LOGIN_PAGE = b"<!DOCTYPE html><html><head><title>Login | Slack</title></head><body>Sign in</body></html>"


@dataclass(slots=True, kw_only=True, eq=False)
class Kept:
    """A file: announced, uploaded, shared."""

    workspace: Workspace
    document: Json
    length: int
    content: bytes | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Files:
    slack: Slack
    kept: dict[str, Kept] = field(default_factory=dict)

    def keep(
        self,
        workspace: Workspace,
        name: str,
        content: bytes | None,
        *,
        by: Member,
        mimetype: str,
        length: int | None = None,
    ) -> Json:
        """Keep a file; return what messages carry of it. `content` None: it is still to be uploaded."""
        file_id = self.slack.ids.new("F")
        size = len(content) if content is not None else length or 0
        url = f"{self.slack.url}/files-pri/{workspace.id}-{file_id}/{name}"
        document = {
            "id": file_id,
            "created": int(self.slack.clock.now()),
            "timestamp": int(self.slack.clock.now()),
            "name": name,
            "title": name,
            "mimetype": mimetype,
            "filetype": name.rpartition(".")[2] or "text",
            "pretty_type": "Plain Text",
            "user": by.id,
            "user_team": workspace.id,
            "editable": False,
            "size": size,
            "mode": "hosted",
            "is_external": False,
            "external_type": "",
            "is_public": True,
            "public_url_shared": False,
            "display_as_bot": False,
            "username": "",
            "url_private": url,
            "url_private_download": url,
            "permalink": f"https://{workspace.domain}.slack.com/files/{by.id}/{file_id}/{name}",
            "file_access": "visible",
        }
        self.kept[file_id] = Kept(workspace=workspace, document=document, length=size, content=content)
        return document

    async def take(self, request: web.Request) -> web.Response:
        """Receive the bytes of an announced file."""
        kept = self.kept.get(request.match_info["id"])
        if kept is None or kept.content is not None:
            return web.Response(status=404, text="no such upload")
        content = await request.read()
        if request.content_type == "multipart/form-data":
            form = await request.post()
            parts = [part for part in form.values() if isinstance(part, web.FileField)]
            content = parts[0].file.read() if parts else b""
        if len(content) != kept.length:
            return web.Response(status=400, text=f"{len(content)} bytes, announced were {kept.length}")
        kept.content = content
        return web.Response(text=f"OK - {len(content)}")

    async def give(self, request: web.Request) -> web.Response:
        """Hand out a file to a bot of its workspace that may read files; to others a login page, with status 200."""
        team, _, file_id = request.match_info["id"].partition("-")
        kept = self.kept.get(file_id)
        if kept is None or kept.content is None:
            return web.Response(status=404)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        readers = {bot.token for bot in kept.workspace.bots if bot.scopes is None or "files:read" in bot.scopes}
        if team != kept.workspace.id or token not in readers:
            return web.Response(body=LOGIN_PAGE, content_type="text/html")
        return web.Response(body=kept.content, content_type=kept.document["mimetype"])


def upload_url(asked: Asked) -> Json:
    try:
        length = int(asked.args["length"])
    except ValueError:
        raise ApiError("invalid_arguments", "[ERROR] must be an integer [json-pointer:/length]") from None
    files = asked.platform.files
    document = files.keep(
        asked.workspace,
        asked.args["filename"],
        None,
        by=asked.me.user,
        mimetype="application/octet-stream",
        length=length,
    )
    return {"upload_url": f"{asked.platform.url}/upload/{document['id']}", "file_id": document["id"]}


def complete_upload(asked: Asked) -> Json:
    """Share uploaded files in a channel, by its id: a name is shared nowhere, without an error."""
    wanted = asked.args["files"]
    wanted = json.loads(wanted) if isinstance(wanted, str) else wanted
    kept = [asked.platform.files.kept.get(one.get("id", "")) for one in wanted]
    ready = [one for one in kept if one is not None and one.content is not None]
    if not wanted or len(ready) != len(wanted):
        raise ApiError("file_not_found")
    for one, named in zip(ready, wanted, strict=True):
        one.document["title"] = named.get("title") or one.document["name"]
    channel = asked.workspace.channels.get(str(asked.args.get("channel_id") or asked.args.get("channels") or ""))
    if channel is not None and asked.me.id in channel.members:
        message = channel.post(
            author=asked.me.user,
            text=asked.args.get("initial_comment") or "",
            thread=asked.thread(channel),
            subtype="file_share",
            files=[one.document for one in ready],
        )
        for one in ready:
            one.document["shares"] = {"public": {channel.id: [{"ts": message.ts}]}}
    return {"files": [{"id": one.document["id"], "title": one.document["title"]} for one in ready]}


def file_info(asked: Asked) -> Json:
    kept = asked.platform.files.kept.get(asked.args["file"])
    if kept is None or kept.workspace is not asked.workspace:
        raise ApiError("file_not_found")
    return {"file": {"shares": {}} | kept.document}


METHODS = (
    Method(
        name="files.getUploadURLExternal",
        answer=upload_url,
        required=("filename", "length"),
        optional=("alt_txt", "snippet_type"),
        scope="files:write",
        tier=4,
        form_only=True,
    ),
    Method(
        name="files.completeUploadExternal",
        answer=complete_upload,
        required=("files",),
        optional=("channel_id", "channels", "initial_comment", "thread_ts"),
        scope="files:write",
        tier=4,
    ),
    Method(
        name="files.info",
        answer=file_info,
        required=("file",),
        optional=("count", "cursor", "limit", "page"),
        scope="files:read",
        tier=4,
        form_only=True,
    ),
)
