"""Secrets in an admin's hands: stored where they fit, by who may, and gone when nothing needs them; on both databases."""

from __future__ import annotations

import pytest

from config.problems import InvalidSettings
from gateway.admin.acts.settings import Edit
from gateway.admin.acts.vault import LIST, PUT, REMOVE, SecretNamed, SecretPut
from gateway.admin.keeping import SecretActs, left_behind
from gateway.admin.operations import Disagrees, Empty, Invalid, Missing, Refused, Service
from gateway.admin.rights import Actor
from tests.unit.admin.acting import OWNER, Log, actor
from tests.unit.admin.settings_world import HOOK, House, set_

OTHER = "whsec_" + "B" * 32


def service(house: House) -> Service:
    acts = SecretActs(
        vault=house.layers.vault,
        loader=house.layers.loader,
        revisions=house.layers.revisions,
        database=house.database,
        configuration=lambda: house.running,
    )
    return Service(acts.handlers(), audit=Log())


async def put(house: House, name: str, value: str, *, who: Actor = OWNER) -> None:
    await service(house).perform(who, PUT, SecretPut(name=name, value=value))


async def test_a_secret_that_settings_can_t_be_read_with_is_refused(house: House) -> None:
    """It would have kept every later change out, and brought the next start back to the file. One that fits, and one that nothing
    refers to yet, are stored."""
    await house.keep(await house.plan(set_("channels.hook.secrets", [HOOK])))
    with pytest.raises(Invalid, match=r"channels\.hook\.secrets\[0\]: does not begin with whsec_") as caught:
        await put(house, "channels.hook.secrets.0", "geheim")
    kept = await house.layers.vault.opened()
    await put(house, "channels.hook.secrets.0", OTHER)
    await put(house, "later", "anything")

    assert "geheim" not in repr(caught.value.problems)
    assert {"channels.hook.secrets.0": HOOK} == kept
    assert {"channels.hook.secrets.0": OTHER, "later": "anything"} == await house.layers.vault.opened()


async def test_what_is_missing_can_be_stored_one_after_the_other(house: House) -> None:
    """Where secrets are gone (their key was lost), each is taken though the settings can't be read until the last is there."""
    await house.keep(await house.plan(set_("channels.hook.secrets", [HOOK, OTHER])))
    for name in ("channels.hook.secrets.0", "channels.hook.secrets.1"):
        await house.layers.vault.remove(name)
    assert isinstance(await house.layers.loader.load(), InvalidSettings)

    await put(house, "channels.hook.secrets.0", HOOK)
    await put(house, "channels.hook.secrets.1", OTHER)

    assert not isinstance(await house.layers.loader.load(), InvalidSettings)


async def test_what_proves_who_speaks_is_the_gateway_s_to_store(house: House) -> None:
    """Whoever holds a signing secret speaks as anybody, so the admin of one channel does not choose it, though it bears the
    channel's name; nor what another channel refers to. What nothing refers to, or a bot signs in with, is theirs."""
    ada = actor(("admin", "hook"))
    house.file.write_text(house.file.read_text("utf-8") + "  chat: {kind: telegram, token: '12:abc'}\n", "utf-8")
    await house.keep(await house.plan(set_("channels.hook.secrets", [HOOK])))
    await house.keep(await house.plan(set_("channels.chat.token", "34:def")))

    with pytest.raises(Refused, match="the whole gateway"):
        await put(house, "channels.hook.secrets.0", OTHER, who=ada)
    with pytest.raises(Refused, match="'chat'"):
        await put(house, "channels.chat.token", "56:ghi", who=ada)
    await put(house, "channels.hook.mine", "s", who=ada)
    await put(house, "channels.chat.token", "56:ghi", who=actor(("admin", "chat")))

    assert "56:ghi" == (await house.layers.vault.opened())["channels.chat.token"]


async def test_a_secret_in_use_stays(house: House) -> None:
    """It is listed with the settings that refer to it; one that nothing refers to can be taken out, once."""
    acts = service(house)
    await house.keep(await house.plan(set_("channels.hook.secrets", [HOOK])))
    await put(house, "later", "anything")
    listed = await acts.perform(OWNER, LIST, Empty())

    assert [("channels.hook.secrets.0", ("channels.hook.secrets",)), ("later", ())] == [
        (one.name, one.used) for one in listed.secrets
    ]
    with pytest.raises(Disagrees, match=r"used by channels\.hook\.secrets; change that first"):
        await acts.perform(OWNER, REMOVE, SecretNamed(name="channels.hook.secrets.0"))
    await acts.perform(OWNER, REMOVE, SecretNamed(name="later"))
    with pytest.raises(Missing):
        await acts.perform(OWNER, REMOVE, SecretNamed(name="later"))


async def test_a_channel_s_secrets_go_with_it_where_nothing_needs_them(house: House) -> None:
    """What a revision refers to stays for the way back, unless it is to go, too; what another setting or the file refers to
    stays in any case, and so does another channel's."""
    for name in ("channels.third.unused", "channels.third.shared", "channels.hook.mine", "channels.third.file"):
        await house.layers.vault.put(name, OTHER, actor=OWNER)
    body = house.file.read_text("utf-8")
    house.file.write_text(body.replace('["${HOOK}"]', '["${HOOK}", "vault:channels.third.file"]'), "utf-8")
    await house.keep(await house.plan(set_("channels.third", {"kind": "webhook", "secrets": [HOOK]})))
    await house.keep(await house.plan(set_("agents.default.api_key", "vault:channels.third.shared")))
    plan = await house.plan(Edit(path="channels.third", act="remove"))
    vault, revisions = house.layers.vault, house.layers.revisions

    assert ["channels.third.unused"] == await left_behind("third", plan, vault=vault, revisions=revisions, kept=True)
    assert ["channels.third.secrets.0", "channels.third.unused"] == await left_behind(
        "third", plan, vault=vault, revisions=revisions, kept=False
    )
