"""Every recorded payload goes through Bolt and the parser to an outcome that has a name: the whole table, to be read.

`recorded` are production bodies, `bolt-python` the literals of the SDK's own tests; sources and licences beside them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.slack.parse import Ignored
from tests.unit.slack.payloads import installation, outcome, recorded
from tests.unit.slack.samples import dispatched

RECORDED = {
    "actions-reactions-slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: Test",
    "actions-reactions-slack/action": "ignored: interaction",
    "actions-reactions-slack/reaction": "ignored: unused",
    "actions-reactions-slack/staticSelectAction": "ignored: interaction",
    "actions-reactions-slack/radioButtonsAction": "ignored: interaction",
    "channel-mention-slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: Can you see the name of ",
    "channel-slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: Hey",
    "channel-slack/channel_post_action": "ignored: interaction",
    "dm-slack-direct/directDM": "message dm T0ADGE2G4EM.U0ADXQT6CRW: hello hello",
    "dm-slack-direct/followUp": "message dm T0ADGE2G4EM.U0ADXQT6CRW: cool!!",
    "dm-slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: Hey",
    "dm-slack/dmRequest": "message group thread T00FAKE00AA.U00FAKEUSER1: DM me",
    "dm-slack/dmMessage": "message dm T00FAKE00AA.U00FAKEUSER1: Hey!",
    "member-joined-channel-slack/memberJoinedChannel": "presence come, by T00FAKE00AA.U00FAKEUSER1",
    "member-joined-channel-slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: test",
    "modals-slack-private-metadata/mention": "message group thread mention T0A8YAUUGMU.U0A8WUV28QM: test",
    "modals-slack-private-metadata/action": "ignored: interaction",
    "modals-slack-private-metadata/viewSubmission": "ignored: interaction",
    "modals-slack-private-metadata/modalContext": "ignored: unused",
    "modals-slack/mention": "message group thread mention T00FAKE00BB.U00FAKEUSER2: Hello",
    "modals-slack/action": "ignored: interaction",
    "modals-slack/viewSubmission": "ignored: interaction",
    "modals-slack/modalContext": "ignored: unused",
    "modals-slack/ephemeralAction": "ignored: interaction",
    "modals-slack/ephemeralViewSubmission": "ignored: interaction",
    "modals-slack/ephemeralModalContext": "ignored: unused",
    "native-table-slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: Hey",
    "native-table-slack/action": "ignored: interaction",
    "slack-multi-workspace-team1/mention": "message group thread mention T0A8YAUUGMU.U0A8WUV28QM: testing",
    "slack-multi-workspace-team2/mention": "message group thread mention T0B3ZCXXNRV.U0B1JRWK4YP: hello from team 2",
    "slack/mention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: Hey",
    "slack/followUp": "message group thread T00FAKE00AA.U00FAKEUSER1: Hi",
    "slash-commands-slack/slashCommand": "command group mention T00FAKE00BB.U00FAKEUSER2: /test-feedback",
    "slash-commands-slack/slashCommandWithArgs": "command group mention T00FAKE00BB.U00FAKEUSER2: /test-feedback some argu",
    "slash-commands-slack/viewSubmission": "ignored: interaction",
    "slash-commands-slack/slashCommandModalContext": "ignored: unused",
    "streaming-slack/aiMention": "message group thread mention T00FAKE00AA.U00FAKEUSER1: AI What is love?",
    "streaming-slack/followUp": "message group thread T00FAKE00AA.U00FAKEUSER1: Who are you?",
    "streaming-slack/aiMentionWithFile": "message group thread mention T00FAKE00BB.U00FAKEUSER2: [AI] I don't really unde",
    "streaming-slack/promptMessage": "ignored: own",
    "streaming-slack/buttonAction": "ignored: interaction",
    "streaming-slack/threadFollowUp": "message group thread T08REALTEAM1.U08REALUSER1: ping?",
    "webhook-bodies/0": "message group thread mention T00FAKE00AA.U00FAKEUSER1: 1",
    "webhook-bodies/1": "message group thread mention T00FAKE00AA.U00FAKEUSER1: 1",
    "webhook-bodies/2": "ignored: own",
    "webhook-bodies/3": "message group thread T00FAKE00AA.U00FAKEUSER1: 2",
    "webhook-bodies/4": "ignored: own",
    "webhook-bodies/5": "ignored: own",
    "webhook-bodies/6": "ignored: own",
    "webhook-bodies/7": "ignored: unused",
    "webhook-bodies/8": "message dm T00FAKE00AA.U00FAKEUSER1: summarize this",
    "webhook-bodies/9": "ignored: unused",
    "webhook-bodies/10": "ignored: system",
    "webhook-bodies/11": "message group T00FAKE00AA.U00FAKEUSER1: Which devices support re",
}

BOLT_PYTHON = {
    "assistant/thread_started_event_body": "ignored: unused",
    "assistant/thread_context_changed_event_body": "ignored: unused",
    "assistant/user_message_event_body": "message dm thread T111.W222: When Slack was released?",
    "assistant/user_message_event_body_with_assistant_thread": "message dm thread T111.W222: When Slack was released?",
    "assistant/user_message_event_body_with_action_token": "message dm thread T111.W222: When Slack was released?",
    "assistant/message_changed_event_body": "ignored: phantom_edit",
    "assistant/channel_user_message_event_body": "message group thread T111.W222: When Slack was released?",
    "assistant/channel_message_changed_event_body": "ignored: phantom_edit",
    "assistant/thread_ts_event_requests[9]": "ignored: unused",
    "assistant/thread_ts_event_requests[10]": "ignored: unused",
    "events/app_mention_event_body": "message group thread mention T111.W222: <@W111> Hi there!",
    "events/app_mention_request_body": "message group thread mention T111.W222: <@W111> Hi there!",
    "events/valid_reaction_added_body": "ignored: unused",
    "events/test_self_member_join_left_events.join_event_body": "ignored: membership",
    "events/test_self_member_join_left_events.left_event_body": "ignored: membership",
    "events/test_member_join_left_events.join_event_body": "ignored: membership",
    "events/test_member_join_left_events.left_event_body": "ignored: membership",
    "events/test_uninstallation_and_revokes.app_uninstalled_body": "ignored: unused",
    "events/test_uninstallation_and_revokes.tokens_revoked_body": "ignored: unused",
    "events/message_file_share_body": "ignored: own",
    "events/test_context_generation.body": "ignored: membership",
    "events/event_body": "ignored: unused",
    "events/response_url_message_event": "message group bot T111.BZYBOTHED: Hi there! This is a repl",
    "events/different_app_response_url_message_event": "message group bot T111.B_DIFFERENT_ONE: Hi there! This is a repl",
    "events/test_team_access_granted.event_payload": "ignored: unused",
    "events/test_team_access_revoked.event_payload": "ignored: unused",
    "events/test_app_home_opened.event_payload": "ignored: unused",
    "events/test_message.event_payload": "message group thread mention T111.W111: ",
    "events/org_app_mention_event_body": "message group thread mention T111.W222: Hi there!",
    "events/valid_event_body": "message group thread mention T_INSTALLED.W222: Hi there!",
    "events/valid_reaction_added_body#2": "ignored: unused",
    "events/test_self_events.event_body": "ignored: unused",
    "events/test_self_member_join_left_events.join_event_body#2": "ignored: membership",
    "events/test_self_member_join_left_events.left_event_body#2": "ignored: membership",
    "events/test_member_join_left_events.join_event_body#2": "ignored: membership",
    "events/test_member_join_left_events.left_event_body#2": "ignored: membership",
    "events/test_uninstallation_and_revokes.app_uninstalled_body#2": "ignored: unused",
    "events/test_uninstallation_and_revokes.tokens_revoked_body#2": "ignored: unused",
    "events/test_self_events.event_body#2": "ignored: unused",
    "events/test_tokens_revoked.event_payload": "ignored: unused",
    "events/test_app_uninstalled.event_payload": "ignored: unused",
    "events/event_body#2": "answered: challenge",
    "events/function_body": "ignored: unused",
    "events/wrong_id_function_body": "ignored: unused",
    "events/message_body": "message group T111.W111: Hello World!",
    "events/message_body2": "message group T111.W111: We've received 103 messa",
    "events/message_body3": "message group T111.W111: Please fix JIRA-1234, SC",
    "events/user_message_event_payload": "ignored: own",
    "events/bot_message_event_payload": "ignored: own",
    "events/classic_bot_message_event_payload": "message group bot T111.B888: Hi there! Thanks for sha",
    "events/event_payload": "edit group T111.U111: updated message",
    "events/event_payload#2": "deletion group T111.U111",
    "events/event_payload#3": "message group T111.U111: Hi there!\n[file: file.pn",
    "events/event_payload#4": "message group thread T111.U111: Hi there!",
    "events/execute_payload": "ignored: unused",
    "events/test_workflow_step_execute.payload": "ignored: unused",
    "events/event_payload#5": "refused: event.channel: not an id",
    "interactivity/run_app_and_verify.payload": "ignored: interaction",
    "interactivity/body": "ignored: interaction",
    "interactivity/block_actions_body": "ignored: interaction",
    "interactivity/body#2": "ignored: interaction",
    "interactivity/body#3": "ignored: interaction",
    "interactivity/build_valid_request.body": "ignored: interaction",
    "interactivity/body#4": "ignored: interaction",
    "interactivity/body#5": "ignored: interaction",
    "interactivity/body#6": "ignored: interaction",
    "interactivity/response_url_payload_body": "ignored: interaction",
    "interactivity/connect_channel_payload": "ignored: interaction",
    "interactivity/save_payload": "ignored: interaction",
    "interactivity/test_block_action.body": "ignored: interaction",
    "interactivity/slash_command_body": "command group mention T111.U111: /test hello",
    "interactivity/enterprise_no_channel_requests[0]": "ignored: interaction",
    "interactivity/no_enterprise_no_channel_requests[0]": "ignored: interaction",
    "interactivity/function_event_requests[1]": "ignored: unused",
    "interactivity/function_event_requests[2]": "ignored: unused",
    "slack_connect/no_actor_team_requests[0]": "message group thread mention ENTERPRISE_ID_ACTOR.USER_ID_ACTOR: hey",
    "slack_connect/no_actor_enterprise_team_requests[0]": "ignored: unused",
    "slack_connect/no_actor_enterprise_team_requests[1]": "ignored: unused",
    "slack_connect/no_actor_enterprise_team_requests[2]": "ignored: unused",
    "slack_connect/no_actor_enterprise_team_requests[3]": "ignored: unused",
    "slack_connect/requests[0]": "message group thread mention TEAM_ID_ACTOR.USER_ID_ACTOR: Hey!",
    "slack_connect/requests[1]": "message group TEAM_ID_ACTOR.USER_ID_ACTOR: Hey!",
    "slack_connect/requests[2]": "ignored: service",
    "socket_mode_envelopes/literal": "ignored: interaction",
    "socket_mode_envelopes/literal#2": "command group mention T111.U111: /hello-socket-mode",
    "socket_mode_envelopes/literal#3": "ignored: own",
}

SKELETONS = recorded("field-skeletons/events")


@pytest.mark.parametrize(("folder", "expected"), [("recorded", RECORDED), ("bolt-python", BOLT_PYTHON)])
async def test_every_recorded_payload_has_a_named_outcome(folder: str, expected: dict[str, str]) -> None:
    """None is missing from the table, none of the table is missing here."""
    found = {name: await _outcome(payload) for name, payload in recorded(folder).items()}

    assert expected == found


@pytest.mark.parametrize("name", SKELETONS)
async def test_every_known_event_is_read_field_by_field(name: str) -> None:
    """Slack's list of all fields an event may have, with blanks for values: nothing in it trips the parser."""
    payload = {**SKELETONS[name], "type": "event_callback", "authorizations": []}

    assert (await _outcome(payload)).startswith(("ignored: ", "refused: "))


@pytest.mark.parametrize("name", SKELETONS)
async def test_every_known_event_may_have_real_ids(name: str) -> None:
    """With ids where ids stand: messages are read, everything else is ignored a rule."""
    payload = _with_ids({**SKELETONS[name], "type": "event_callback", "authorizations": []})

    assert (await _outcome(payload)).startswith(
        ("ignored: ", "message ", "edit ", "deletion ", "presence ", "move ")
    ), name


def _with_ids(value: Any) -> Any:
    ids = {"channel": "C1", "user": "U2", "ts": "1700000000.000100", "team_id": "T1", "deleted_ts": "1700000000.000100"}
    ids |= {"old_channel_id": "C1", "new_channel_id": "C2"}
    if isinstance(value, dict):
        return {key: ids.get(key, "") if one == "" else _with_ids(one) for key, one in value.items()}
    return [_with_ids(one) for one in value] if isinstance(value, list) else value


async def _outcome(payload: dict[str, Any]) -> str:
    taken, answer = await dispatched(payload, me=installation(payload))
    if answer.status != 200:
        assert not taken
        return f"refused: {json.loads(answer.text or '')['detail']}"
    if payload.get("type") == "url_verification":
        assert not taken
        return f"answered: {', '.join(json.loads(answer.text or ''))}"
    (event,) = taken
    assert isinstance(event, Ignored) or event.channel == "acme"
    return outcome(event)
