"""What services and models say in the place of what they were asked for, and what they put around it. Pure.

A summary is about people, by their names, and may well be about errors ("Error E11 of the printer: open"); what speaks of itself,
of the conversation or of the assistant is none.
"""

from __future__ import annotations

import re

import msgspec

_ERROR_LIKE = re.compile(
    r"^\W*(?:(?:an? |the )?(?:\w+ ){0,2}(?:error|exception)(?:\s*[:：]|\s+\d{3}\b|\s+occurred|\W*$)|traceback\b"
    r"|http\S*\s+[45]\d\d\b|[45]\d\d (?:bad|unauthori[sz]ed|forbidden|not found|request|too many|internal|service|gateway)"
    r"|(?:the )?(?:request|connection) (?:timed out|failed|refused)|\{\s*[\"']?error|<(?:!doctype|html)"
    r"|i(?:'m| am) sorry|sorry,|i (?:can(?:'|no)t|am unable)|as an ai\b|抱歉|对不起|很遗憾|无法(?:完成|生成|提供)"
    r"|作为(?:一个|一名)?(?:ai|人工智能)|错误(?:[:：]|\W*$)|(?:发生|出现)了?\w{0,4}(?:错误|异常)"
    r"|(?:请求|连接|网络|服务器?)\w{0,4}(?:失败|错误|超时|异常)\W*$)",
    re.I,
)
_EXCUSE = re.compile(
    r"^\W*(?:(?:n/?a|none|null|nil|nothing|empty|无|暂无|没有|空)\W*$"
    r"|(?:(?:unfortunately|regrettably|apologies|my apologies|however|currently)\W+)?(?:i|we)(?:'m| am|'re| are)?"
    r" (?:not (?:able|allowed|permitted)|unable|can(?:no|')t|can not|won't|will not|don't|do not|couldn't|could not|didn't)\b"
    r"|(?:unfortunately|regrettably|apologies|my apologies)\b"
    r"|there(?:'s| is) nothing\b|(?:there(?:'s| is| are| was| were) (?:no|not)|there (?:isn't|aren't) any|no)(?: \w+){0,2}"
    r" (?:conversations?|summary|summaries|messages?|content|chat|text|information|history|context|to summari[sz]e)\b"
    r"|(?:please|kindly|could you|can you)\b[^.!?]{0,40}\b(?:provide|share|paste|send|give|supply|clarify)\b"
    r"|[^.?]{0,60}\b(?:how (?:can|may) i (?:help|assist)|what can i do for you|how i can (?:help|assist))\b"
    r"|(?:the|this|your) (?:content|request|prompt|conversation|input|message|response)"
    r" (?:was|is|has been|were|violates?|contains?|may|can(?:no|')t|could)\b[^.!?]{0,40}"
    r"\b(?:filter\w*|block\w*|flag\w*|violat\w*|polic(?:y|ies)|too long|not (?:allowed|supported|available))\b"
    r"|(?:非常|十分|很|实在)?(?:遗憾|抱歉|对不起|不好意思)"
    r"|(?:目前|暂时)?(?:我|本助手)?(?:目前|暂时)?(?:无法|不能|没法|没有办法|不便)(?:为您?|给您?|对)?[^,，。]{0,8}"
    r"(?:总结|摘要|概括|提供|完成|生成|回答|处理|协助|帮助|满足)"
    r"|(?:目前|这里|暂时)?(?:没有|暂无|无)(?:任何|可以?|需要|足够的?)*(?:供)?(?:总结|摘要|概括|内容|对话|消息|信息)"
    r"|请(?:您|你)?(?:先|再)?(?:提供|发送|粘贴|输入|给出|告诉我|补充)"
    r"|(?:你好|您好|嗨|哈喽)[^。]{0,24}[?？!！]|[^。]{0,16}(?:有什么(?:可以|能)(?:帮|为)|很高兴(?:为|能))"
    r"|(?:该|此|这段?|您的)(?:内容|请求|对话|输入)[^。]{0,10}(?:违反|违规|被(?:过滤|拦截|屏蔽)|无法|不符合))",
    re.I,
)
_PREAMBLE = re.compile(
    r"^\W*(?:(?:(?:sure|ok(?:ay)?|certainly|of course|absolutely)\b|好的?|当然|没问题)[!,.，。！: ]*)?"
    r"(?:(?:here(?:'s| is)|this is|below is|以下是|下面是|这是)[^:：\n]{0,60}[:：]"
    r"|(?:\w+ ){0,2}(?:summary|摘要|总结|概要)(?: of [^:：\n]{0,40})?[^\S\n]*[:：])\s*",
    re.I,
)
_TAG = re.compile(r"</?(?:summary|message|answer|output|think)>|^\s*```\w*\s*$", re.I | re.M)


def unwrapped(answer: str) -> str:
    """Return an answer without what models like to put around it: a fence, tags, "Here is the summary:", an object of JSON with
    one text in it."""
    text = _TAG.sub(" ", answer).strip()
    if text.startswith("{"):
        text = _only_text(text)
    return _PREAMBLE.sub("", text, count=1)


def _only_text(document: str) -> str:
    try:
        held = msgspec.json.decode(document, type=dict[str, str])
    except msgspec.MsgspecError:
        return document
    return next(iter(held.values())) if len(held) == 1 else document


def is_excuse(text: str) -> bool:
    """Say whether a text is an error, a refusal, a question back or a greeting, and no answer to what was asked for."""
    return _ERROR_LIKE.match(text) is not None or _EXCUSE.match(text) is not None or text.startswith("{")
