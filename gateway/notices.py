"""What the gateway itself says to people, in English and Chinese. Data; every text has both languages."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]

NOTICES: dict[str, dict[Language, str]] = {
    "agent_unavailable": {
        "en": "I can't reach what answers here right now. Your message is kept; please send it again in a moment.",
        "zh": "现在连不上负责回答的服务。您的消息已经保存，请稍后再发一次。",
    },
    "agent_timeout": {
        "en": "The answer took too long and was given up. Please try again, perhaps with a shorter question.",
        "zh": "回答用时过长，已经放弃。请再试一次，问题短一些也许更快。",
    },
    "agent_refused": {
        "en": "The service that answers here refused this request. An administrator has to look at it.",
        "zh": "负责回答的服务拒绝了这次请求，需要管理员处理。",
    },
    "agent_broken": {
        "en": "The answer broke off before it was complete. Please try again.",
        "zh": "回答还没完成就中断了，请再试一次。",
    },
    "context_too_long": {
        "en": "This is more than the model can take at once. Please send a shorter message, or start anew with /new.",
        "zh": "内容超出了模型一次能处理的长度。请发短一些，或用 /new 开始新的对话。",
    },
    "agent_failed": {
        "en": "Something went wrong while answering. Please try again.",
        "zh": "回答时出了问题，请再试一次。",
    },
    "agent_missing": {
        "en": "The agent {agent} is not configured any more. An administrator has to look at it.",
        "zh": "智能体 {agent} 已不在配置里，需要管理员处理。",
    },
    "channel_removed": {
        "en": "This channel is not configured any more, so your message was not answered.",
        "zh": "这个渠道已不在配置里，您的消息没有得到回答。",
    },
    "gave_up": {
        "en": "Your message could not be answered after several tries. It is kept, and an administrator can see it.",
        "zh": "多次尝试后仍无法回答您的消息。消息已保存，管理员可以看到。",
    },
    "undeliverable": {
        "en": "The answer could not be delivered. It is kept, and an administrator can see why.",
        "zh": "回答未能送达。回答已保存，管理员可以看到原因。",
    },
    "unreadable": {
        "en": "Your message was stored by another release and can't be read any more. An administrator can see it.",
        "zh": "您的消息由其他版本保存，现在无法读取。管理员可以看到。",
    },
    "not_applied": {
        "en": "This could not be carried out. An administrator can see why.",
        "zh": "这个操作没能完成，管理员可以看到原因。",
    },
    "too_long": {
        "en": "Your message has {chars} characters; at most {limit} can be taken. Please send it in parts.",
        "zh": "您的消息有 {chars} 个字符，最多只能接收 {limit} 个。请分几次发送。",
    },
    "rate_limited": {
        "en": "That was more than {limit} messages in a minute. Please wait a little and send it again.",
        "zh": "一分钟内超过了 {limit} 条消息。请稍等片刻再发。",
    },
    "quota_person": {
        "en": "You have used up what I may do for you {span}. From {when} ({zone}) on I can answer you again.",
        "zh": "您{span}的用量已经用完。{when}（{zone}）起我可以继续回答您。",
    },
    "quota_room": {
        "en": "This group has used up what I may do here {span}. From {when} ({zone}) on I can answer again.",
        "zh": "本群{span}的用量已经用完。{when}（{zone}）起我可以继续回答。",
    },
    "quota_channel": {
        "en": "What I may do on this channel {span} is used up. From {when} ({zone}) on I can answer again.",
        "zh": "这个渠道{span}的用量已经用完。{when}（{zone}）起我可以继续回答。",
    },
    "quota_agent": {
        "en": "What may be asked here {span} is used up. From {when} ({zone}) on I can answer again.",
        "zh": "这里{span}的用量已经用完。{when}（{zone}）起我可以继续回答。",
    },
    "quota_person_minute": {
        "en": "You have used up what I may do for you in a minute. Please write again a minute from now.",
        "zh": "您这一分钟的用量已经用完，请一分钟后再发。",
    },
    "quota_room_minute": {
        "en": "This group has used up what I may do here in a minute. Please write again a minute from now.",
        "zh": "本群这一分钟的用量已经用完，请一分钟后再发。",
    },
    "quota_channel_minute": {
        "en": "What I may do on this channel in a minute is used up. Please write again a minute from now.",
        "zh": "这个渠道这一分钟的用量已经用完，请一分钟后再发。",
    },
    "quota_agent_minute": {
        "en": "What may be asked here in a minute is used up. Please write again a minute from now.",
        "zh": "这里这一分钟的用量已经用完，请一分钟后再发。",
    },
    "quota_near": {
        "en": "(You have used up {share} % of what I may do for you {span}.)",
        "zh": "（您{span}的用量已用去 {share}%。）",
    },
    "quota_day": {"en": "today", "zh": "今天"},
    "quota_month": {"en": "this month", "zh": "本月"},
    "stopped": {"en": "Stopped.", "zh": "已停止。"},
    "stopped_mark": {"en": "(stopped)", "zh": "（已停止）"},
    "help": {
        "en": (
            "What you can write:\n"
            "/{prefix}new – start a new conversation; what was said before stays stored but is not used\n"
            "/{prefix}stop – stop the answer that is being written for you\n"
            "/{prefix}memory – what I know of you\n"
            "/{prefix}forget – have me forget it\n"
            "/{prefix}link – be known as the same person on another channel\n"
            "/{prefix}unlink – no longer be known so\n"
            "{human_line}"
            "{agent_line}"
            "/{prefix}help – this list"
        ),
        "zh": (
            "可以使用的命令：\n"
            "/{prefix}new – 开始新的对话；之前的内容仍会保存，但不再使用\n"
            "/{prefix}stop – 停止正在为您写的回答\n"
            "/{prefix}memory – 查看我记得的关于您的内容\n"
            "/{prefix}forget – 让我忘掉\n"
            "/{prefix}link – 与您在另一个渠道的账号关联\n"
            "/{prefix}unlink – 解除关联\n"
            "{human_line}"
            "{agent_line}"
            "/{prefix}help – 显示这个列表"
        ),
    },
    "help_human": {"en": "/{prefix}human – ask for a human\n", "zh": "/{prefix}human – 请求人工服务\n"},
    "help_agent": {
        "en": "/{prefix}agent NAME – let another agent answer you here: {agents}\n",
        "zh": "/{prefix}agent 名称 – 换一个智能体回答您：{agents}\n",
    },
    "help_heard": {"en": "Here I answer {ways}.", "zh": "在这里，以下情况我会回答：{ways}。"},
    "heard_mention": {"en": "when I am mentioned", "zh": "有人提到我"},
    "heard_reply": {"en": "when somebody replies to me", "zh": "有人回复我"},
    "heard_command": {"en": "to these commands", "zh": "有人发送这些命令"},
    "heard_prefix": {"en": "to messages that begin with {prefixes}", "zh": "消息以 {prefixes} 开头"},
    "heard_thread": {"en": "in threads in which I have answered before", "zh": "在我回答过的话题里发言"},
    "heard_always": {"en": "to every message", "zh": "每一条消息"},
    "help_observed": {
        "en": "The latest of what else is said here I keep as background.",
        "zh": "这里最近的其他发言，我会留作背景。",
    },
    "first_use_kept": {
        "en": "Hello. I keep what I am asked here and what I answer, so that I can follow the conversation.",
        "zh": "大家好。在这里向我提的问题和我的回答，我会保存下来，以便接上之后的对话。",
    },
    "first_use_observed": {
        "en": "The latest of what else is said here I keep too, as background.",
        "zh": "这里最近的其他发言，我也会留作背景。",
    },
    "first_use_see": {
        "en": "/{prefix}memory shows what I know of you, /{prefix}new begins anew, /{prefix}help lists the rest.",
        "zh": "发送 /{prefix}memory 可以查看我记得的关于您的内容，/{prefix}new 开始新的对话，/{prefix}help 列出其他命令。",
    },
    "first_use_erase": {
        "en": "To have something erased, ask whoever runs me here.",
        "zh": "如需删除内容，请联系我的管理员。",
    },
    "first_use_erase_by_hand": {
        "en": "To have something erased, delete your message here; for the rest ask whoever runs me.",
        "zh": "如需删除内容，删除您在这里的消息即可，其余请联系我的管理员。",
    },
    "unknown_sender": {
        "en": "I can't tell who you are here, so I can't do that for you. Please write it under your own name.",
        "zh": "我无法确认您在这里的身份，不能这样做。请用您自己的名义发送。",
    },
    "new": {
        "en": "A new conversation begins here.",
        "zh": "新的对话从这里开始。",
    },
    "agent_set": {"en": "From now on {agent} answers you here.", "zh": "从现在起由 {agent} 回答您。"},
    "agent_is": {
        "en": "{agent} answers you here. You can choose: {agents}. Write /agent NAME.",
        "zh": "现在由 {agent} 回答您。可选：{agents}。请写 /agent 名称。",
    },
    "agent_unknown": {
        "en": "There is no agent {asked!r} to choose here. You can choose: {agents}.",
        "zh": "这里没有可选的智能体 {asked!r}。可选：{agents}。",
    },
    "agent_fixed": {
        "en": "{agent} answers here; no other agent can be chosen.",
        "zh": "这里由 {agent} 回答，不能另选智能体。",
    },
    "memory_window": {
        "en": "Of this conversation the next answer can use the last {count} messages.",
        "zh": "这次对话里，下一次回答可以用到最近的 {count} 条消息。",
    },
    "memory_empty": {
        "en": "Nothing of this conversation is in use: it is new.",
        "zh": "这是新的对话，还没有可用的内容。",
    },
    "known_head": {"en": "What I know of you:", "zh": "我记得关于您的内容："},
    "known_entry": {"en": "{number}. {text} (said on {day}, {where})", "zh": "{number}. {text}（{day}，{where}）"},
    "known_pinned": {
        "en": "{number}. {text} – always minded (said on {day}, {where})",
        "zh": "{number}. {text}——始终留意（{day}，{where}）",
    },
    "known_private": {"en": "in private", "zh": "私聊"},
    "known_private_at": {"en": "in private on {channel}", "zh": "在 {channel} 私聊"},
    "known_here": {"en": "in this group", "zh": "在本群"},
    "known_group": {"en": "in the group {room} on {channel}", "zh": "在 {channel} 的群 {room}"},
    "known_entered": {"en": "entered for you", "zh": "为您录入"},
    "known_unsaid": {"en": "in a conversation that is gone", "zh": "原对话已不在"},
    "known_foot": {
        "en": "/{prefix}forget NUMBER forgets one of these, /{prefix}forget all everything.",
        "zh": "发送 /{prefix}forget 编号 忘掉其中一条，/{prefix}forget all 忘掉全部。",
    },
    "known_more": {
        "en": "There is more that you said elsewhere ({count}); ask me in private.",
        "zh": "还有 {count} 条是您在别处说的，请私聊我查看。",
    },
    "known_count": {
        "en": "Things I know of you: {count}. What they are I say in private only: write /{prefix}memory to me there.",
        "zh": "我记得关于您的 {count} 条内容。具体内容只在私聊里说：请私聊我发送 /{prefix}memory。",
    },
    "known_nothing": {"en": "I know nothing of you yet.", "zh": "我还没有记住关于您的任何内容。"},
    "known_waiting": {
        "en": "What you said last ({count} messages) I have not looked through yet.",
        "zh": "您最近说的（{count} 条）我还没有整理。",
    },
    "forget_help": {
        "en": (
            "/{prefix}memory lists what I know of you.\n"
            "/{prefix}forget 2 – forget number 2 of that list\n"
            "/{prefix}forget my address – forget what I know of that kind\n"
            "/{prefix}forget all – forget all of it\n"
            "/{prefix}forget me – ask to have everything erased, what was written too\n"
            "“Forget that” – forget what you said last"
        ),
        "zh": (
            "/{prefix}memory 列出我记得的关于您的内容。\n"
            "/{prefix}forget 2 – 忘掉其中第 2 条\n"
            "/{prefix}forget 我的地址 – 忘掉这一类内容\n"
            "/{prefix}forget all – 全部忘掉\n"
            "/{prefix}forget 我的数据 – 请求删除全部数据，包括聊天记录\n"
            "“忘了这个” – 忘掉您刚才说的"
        ),
    },
    "forget_list_first": {
        "en": "I no longer know what that number stood for. Write /{prefix}memory for a new list.",
        "zh": "这个编号已经过期。请发送 /{prefix}memory 查看新的列表。",
    },
    "forget_no_such": {
        "en": "There is no number {number}: the last list had {count}. Write /{prefix}memory for a new one.",
        "zh": "没有第 {number} 条：上次的列表共 {count} 条。请发送 /{prefix}memory 查看新的列表。",
    },
    "forget_gone": {"en": "That was forgotten already.", "zh": "这一条已经忘掉了。"},
    "forget_unknown": {
        "en": "I know nothing of that kind of you. /{prefix}memory lists what I know.",
        "zh": "我没有记住您的这类内容。发送 /{prefix}memory 可以查看我记得的。",
    },
    "forgotten": {"en": "Forgotten:", "zh": "已忘掉："},
    "forgotten_count": {"en": "Forgotten: {count}.", "zh": "已忘掉 {count} 条。"},
    "forgotten_before": {"en": "Forgotten. I know nothing of it any more.", "zh": "已忘掉，我不再记得这些内容。"},
    "forget_all_ask": {
        "en": (
            "Shall I forget everything that I have learned of you ({count}), on all channels where I know you? "
            "Write /{prefix}forget all yes within 10 minutes. It can't be undone."
        ),
        "zh": (
            "要忘掉我记住的关于您的全部内容（{count} 条，包括我认识您的所有渠道）吗？"
            "请在 10 分钟内发送 /{prefix}forget all yes 确认。此操作无法撤销。"
        ),
    },
    "forgotten_all_before": {
        "en": (
            "Forgotten: all that I had learned of you, and earlier conversations are not searched any more. "
            "What was written stays stored until whoever runs me erases it."
        ),
        "zh": "已忘掉我记住的关于您的全部内容，以前的对话也不再检索。聊天记录仍会保存，删除请联系我的管理员。",
    },
    "forget_all_done": {
        "en": (
            "Forgotten: all that I had learned of you ({count}), and earlier conversations are not searched any more. "
            "What was written stays stored until whoever runs me erases it."
        ),
        "zh": "已忘掉我记住的关于您的全部内容（{count} 条），以前的对话也不再检索。聊天记录仍会保存，删除请联系我的管理员。",
    },
    "erasure_asked": {
        "en": (
            "Noted on {asked}, as number {id}: everything that is stored of you is to be erased, what was written too, on all "
            "channels where I know you. Whoever runs me does that by {due}; I can't take it back for you."
        ),
        "zh": (
            "已于 {asked} 登记（编号 {id}）：删除关于您的全部数据，包括聊天记录和我认识您的所有渠道。"
            "管理员将在 {due} 之前处理；如要撤回，请联系管理员。"
        ),
    },
    "link_code": {
        "en": (
            "Write this to me in private on your other channel, within 10 minutes:\n"
            "/link {code}\n"
            "What I know of you there and here is then one. Give the code to nobody: who uses it shares your memory. "
            "/{prefix}unlink takes it back."
        ),
        "zh": (
            "请在 10 分钟内，在您的另一个渠道私聊我发送：\n"
            "/link {code}\n"
            "之后我在两边记得的内容就合在一起。不要把这个码给别人：使用它的人会共享您的记忆。发送 /{prefix}unlink 可以撤销。"
        ),
    },
    "link_private": {
        "en": "Only in private: write /{prefix}link to me there. A code written here is worth nothing any more.",
        "zh": "只能在私聊中使用：请私聊我发送 /{prefix}link。在这里发过的码已经作废。",
    },
    "link_limited": {
        "en": "That was tried too often. Please wait ten minutes.",
        "zh": "尝试次数过多，请十分钟后再试。",
    },
    "link_wrong": {
        "en": "This code is not valid, or not any more. Write /link on the other channel for a new one.",
        "zh": "这个码无效或已过期。请在另一个渠道发送 /link 获取新的码。",
    },
    "link_same": {"en": "These accounts are linked already.", "zh": "这两个账号已经关联。"},
    "link_done": {
        "en": "Done: you are one person to me on both channels. /{prefix}memory lists what I know; /{prefix}unlink undoes it.",
        "zh": "已关联：我在两个渠道都认得您是同一个人。/{prefix}memory 查看我记得的内容，/{prefix}unlink 撤销关联。",
    },
    "unlink_none": {"en": "This account is not linked to another one.", "zh": "这个账号没有关联其他账号。"},
    "unlink_done": {
        "en": "Done: the accounts are apart again, each with what I knew of it before. What I learned in between stays where the "
        "accounts were joined.",
        "zh": "已解除关联：各账号恢复到关联之前我记得的内容；关联期间记住的内容留在合并后的一方。",
    },
    "unlink_fresh": {
        "en": "Done: this account is apart. The link was older than 30 days, so I know nothing of you here; the rest stays "
        "with the other accounts.",
        "zh": "已解除关联。关联已超过 30 天，所以我在这里不再记得关于您的内容；其余内容留在其他账号。",
    },
    "unlearn_nothing": {
        "en": "You have said nothing in this conversation yet that I could forget.",
        "zh": "这次对话里还没有可以忘掉的内容。",
    },
    "unlearn_unknown": {
        "en": "I have learned nothing from what you said last, and I won't.",
        "zh": "您刚才说的我没有记下，以后也不会记。",
    },
    "unlearn_stays": {
        "en": "It stands in this conversation until you write /{prefix}new.",
        "zh": "它还留在这次对话里，发送 /{prefix}new 开始新对话后就不再使用。",
    },
}


def notice(name: str, language: Language, /, **values: object) -> str:
    """Return the notice in the language, with its values filled in. Raises KeyError for a name that does not exist."""
    return NOTICES[name][language].format(**values)
