"""Finds what must not be remembered, whoever says it: numbers of persons, secrets, passwords said in words, e-mail addresses.
Pure; one look at the text per kind. Disguises (widths, invisible characters, separators, Chinese numerals) do not help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.bar_words import BANK_CARD, EMAIL, ID_CARD, PHONE, SECRET
from memory.folding import folded, original_spans, with_digits
from memory.personal_numbers import Finding, numbers

_MARK = "[…]"


def sensitive(text: str, *, emails: bool = False) -> str | None:
    """Return the rule that the first sensitive stretch of `text` breaks; None: there is none. `emails`: they may be kept."""
    return min(findings(folded(text), emails=emails), default=(0, 0, None))[2]


def redacted(text: str, *, emails: bool = False) -> str:
    """Return `text` with every sensitive stretch replaced by `[…]`, and nothing else changed."""
    spans = sorted({(start, end) for start, end, _ in findings(folded(text), emails=emails)})
    if not spans:
        return text
    kept, reached = [], 0
    for start, end in original_spans(text, spans):
        if start >= reached:
            kept += [text[reached:start], _MARK]
        reached = max(reached, end)
    return "".join(kept) + text[reached:]


def findings(plain: str, *, emails: bool = False) -> Iterator[Finding]:
    """Yield every sensitive stretch of folded text as (start, end, rule), in no order; stretches may overlap."""
    lower = plain.lower()
    yield from _secrets(plain)
    if _MAY_NAME_SECRET.search(lower):
        yield from _spans(_SAID, lower, SECRET)
    if _MAY_NAME_SECRET_CHINESE.search(lower):
        yield from _spans(_SAID_CHINESE, lower, SECRET)
    if not emails and _MAY_BE_EMAIL.search(lower):
        yield from _spans(_EMAIL, lower, EMAIL)
    digits = with_digits(plain)
    for start, end in _clusters(digits):
        near = digits[start:end]
        yield from ((start + first, start + last, rule) for first, last, rule in numbers(near))
        for shape, rule in _LABELLED:
            yield from (
                (start + first, start + last, rule) for first, last, rule in _spans(shape, near.lower(), rule, group=1)
            )


def _spans(shape: re.Pattern[str], text: str, rule: str, *, group: int = 0) -> Iterator[Finding]:
    return ((match.start(group), match.end(group), rule) for match in shape.finditer(text))


def _secrets(plain: str) -> Iterator[Finding]:
    yield from _spans(_KEY_BLOCK, plain, SECRET)
    for run in _RUN.finditer(plain):
        yield from (
            (run.start() + start, run.start() + end, rule) for start, end, rule in _spans(_SECRET, run[0], SECRET)
        )
        for match in _TOKEN.finditer(run[0]):
            # Of a link only what is neither a host's nor a file's name.
            parts = _PART.split(match[0]) if "." in match[0] else [match[0]]
            if any(len(part) >= 20 and "." not in part and _is_random(part) for part in parts):
                yield run.start() + match.start(), run.start() + match.end(), SECRET


def _clusters(digits: str) -> Iterator[tuple[int, int]]:
    """Yield where several digits stand together, with the words that may say what they are; these do not overlap."""
    start = end = 0
    for match in _CLUSTER.finditer(digits):
        if match.start() - _BEFORE > end and end:
            yield start, end
            start = match.start() - _BEFORE
        elif not end:
            start = max(0, match.start() - _BEFORE)
        end = match.end() + _AFTER
    if end:
        yield start, end


_BEFORE, _AFTER = 64, 24  # characters around digits that belong to a number or say what it is
_CLUSTER = re.compile(r"\d(?:[^\d\n]{0,3}\d){5,}")
_RUN = re.compile(r"[!-~]{12,}")

# Shapes that the issuers document, so that a scanner can know them.
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^-]{0,8192}-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[-_](?=[\w-]{0,200}\d)[\w-]{16,200}"
    r"|gh[pousr]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,64}|xox[a-z]-[\w-]{8,255}|xapp-[\w-]{8,255}"
    r"|(?:AKIA|ASIA|LTAI|AKID)[A-Za-z0-9]{12,40}|AIza[\w-]{30,45}|ya29\.[\w-]{20,}|hf_\w{20,64}|npm_\w{30,64}|pypi-[\w-]{30,255}"
    r"|SG\.[\w-]{16,64}\.[\w-]{16,64}|whsec_[\w+/=]{16,128}|\d{8,10}:AA[\w-]{33}"
    r"|eyJ[\w-]{6,2048}\.[\w-]{6,4096}(?:\.[\w-]{0,1024})?"
    r"|(?<=://)[^\s:@/]{1,64}:[^\s@/]{1,128}@)"
)

# What follows "my password is" when it is no password: its state, or a question.
_STATE = (
    r"wrong|expired|expiring|incorrect|not|n't|invalid|lost|forgotten|being|too|required|reset|resetting|locked|the|rejected|no|still"
    r"|always|working|ok|okay|correct|different|missing|needed|unknown|blocked|disabled|accepted|weak|strong|safe|secure|old|new"
    r"|stored|saved|set|an?|in|on|at|for|about|due|going|never|now|just|also|fine|broken|stuck|out|gone|changed|protected|same"
    r"|what|where|who|how|when|why|my|your|his|her|our|their|this|that|it|to|from|of|or|and|empty|one|something|needs?|please"
    r"|leaked|stolen|hacked|compromised|shared|exposed|revealed|known|good|bad|easy|hard|simple|complicated|important|private"
    r"|confidential|encrypted|hashed|generated|sent|visible|hidden|shown|showing|displayed|entered|typed|copied|updated|reused"
    r"|already|only|supposed|longer|short|long|case|managed|manager|managers|because|usually|sometimes|probably|getting|asked"
)
_LABEL = (
    r"(?:pass ?words?|pass ?wd|p[a@][s$5]{2}w[o0]rd|pass ?codes?|pass ?phrases?|pwd|secret ?key"
    r"|client secret|api[ _-]?(?:key|secret)|access[ _-]?(?:key|token)|auth(?:entication)?[ _-]?(?:code|token)|private ?key"
    r"|(?:pin|secret|token|otp|pin ?code|pin ?number|(?:verification|security|login|one[- ]time|2fa) ?code|cvv2?|cvc2?)"
    r"(?=[^\n]{0,24}\d))"  # words that mean other things too: where a digit follows
)
_MAY_NAME_SECRET = re.compile(r"p[a@]s[s$]|p[a@][s$5]|pwd|pin|secret|key|token|otp|code|cv[vc]|bearer")
_MAY_NAME_SECRET_CHINESE = re.compile(r"密码|口令|[密秘]钥|令牌|[验校]|安全码|动态码|暗号|码|cv[vn]")
_SAID = re.compile(
    rf"(?<![a-z]){_LABEL}(?: for [\w ]{{1,30}}?)?"
    rf" ?(?:(?:is|was|are|'s|changed to|set to)(?: now| just| still| simply| again)? ?[:=]? ?|[:=]+>? ?|->? ?|=> ?)"
    rf"[\"'`(\[]{{0,2}}(?!(?:{_STATE})(?![\w@#$%&*!]))[^\s\"'`，。,;；]{{3,128}}"
    rf"|(?<![a-z]){_LABEL} (?=\S{{0,20}}\d)[\w@#$%&*!.-]{{4,64}}(?! ?(?:days?|times?|attempts?|characters?|hours?|minutes?))"
    r"|(?<![a-z])bearer (?=[a-z.~+/=_-]{0,200}\d)[\w.~+/=-]{16,2048}"
)
_SAID_CHINESE = re.compile(
    r"(?:密码|口令|密钥|秘钥|令牌|验证码|校验码|安全码|动态码|暗号|pin ?码|授权码|激活码|cvv2?|cvn2?)"
    r"(?:(?:[^\S\n]|我|们|已经|现在|还|就|都|一直|改|设置?|换|重置)*(?:是|为|成|叫|用的?|:|=|->)+(?:[^\S\n]|[\"'“‘「(:=]|是|为|了)*|\s*)"
    r"(?:(?![a-z]*(?:app|wifi|vpn|ok)(?![\w]))[!-~]{3,128}|[零〇一二三四五六七八九幺]{4,}|我.{0,6}(?:生日|名字|手机|电话))"
)
_MAY_BE_EMAIL = re.compile(r"@| dot |[(\[{]at")
_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}(?: ?(?:@|\(at\)|\[at\]|\{at\})"
    r" ?(?:[\w-]{1,63}(?:\.| ?(?:\(dot\)|\[dot\]|\{dot\}| dot ) ?)){1,4}[a-z]{2,24}"
    r"| at (?:[\w-]{1,63} dot ){1,4}(?:com|org|net|cn|io|de|edu|gov|uk|co|me))(?![\w@])"
)

_TOKEN = re.compile(r"(?:https?://|www\.)\S*|(?<![\w+/=-])[\w+/=-]{20,512}(?![\w+/=-])", re.A | re.I)
_PART = re.compile(r"[/=?&#:]+")
_WORD = re.compile(r"[A-Za-z][a-z]{3,}|[A-Z]{8,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_CHANGE = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[A-Z][A-Z])[a-z]")
_HEX = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{32,512}", re.I)


def _is_random(token: str) -> bool:
    """Say whether a long token is a key rather than a name: letters of both cases and digits mixed as in no word, or letters
    and digits that keep alternating. Example: `wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`. An id of the common form with
    dashes (UUID) is none."""
    if _UUID.fullmatch(token):
        return False
    if _HEX.fullmatch(token):
        return True
    digits, lower, upper = (sum(map(kind, token)) for kind in (str.isdigit, str.islower, str.isupper))
    if not digits or not lower:
        return False
    in_words = sum(map(len, _WORD.findall(token)))
    if upper >= 3 and lower >= 3:
        return in_words * 2 < len(token)
    return len(_CHANGE.findall(token)) * 4 >= len(token)


# A label makes a number sensitive whose digits alone would pass. Group 1 is the number.
_IS = r"(?:[\s:=,#(\"']|numbers?|no\.?|is|are|was|at|on|me|my|it's|new|the|号码?|是|为|的|我|码){0,10}"
_ENDS = r"(?!\s*(?:位|digits?))"
_LABELLED = (
    (
        re.compile(
            rf"(?:身份证|证件|护照|通行证|驾驶?[证照]|社保"
            rf"|(?<![a-z])(?:id card|identity card|national id|id (?:number|no)|passport|social security|ssn"
            rf"|nino|national insurance|aadhaar|driver'?s? licen[cs]e|tax id)(?![a-z])){_IS}"
            rf"((?<![a-z\d])(?=[a-z -]{{0,4}}\d)[a-z]{{0,2}}(?:[ -]?\d){{6,18}}[a-z]?(?![a-z\d])){_ENDS}"
        ),
        ID_CARD,
    ),
    (
        re.compile(
            rf"(?:银行卡|信用卡|储蓄卡|借记卡|银行账[号户]"
            rf"|(?<![a-z])(?:bank card|credit card|debit card|bank account|iban|visa|mastercard))"
            rf"{_IS}((?<![\w])\d(?:[ -]?\d){{7,19}}(?![\w])){_ENDS}"
        ),
        BANK_CARD,
    ),
    (
        re.compile(
            rf"(?:手机|电话|座机|联系方式|(?:打|拨|加)(?:给)?我?(?:微信)?|微信|(?<![a-z])(?:phone|mobile|cell|telephone|tel|fax|whatsapp"
            rf"|wechat|(?:call|text|ring|reach|phone) (?:me|us)))[^\S\n]{{0,3}}{_IS}"
            rf"(\+?\(?(?<!\d)\d(?:[ .()/-]{{0,2}}\d){{6,14}}(?![\w])){_ENDS}"
        ),
        PHONE,
    ),
)
