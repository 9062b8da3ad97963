"""Who somebody is, in English: name, place, work, membership, languages."""

from __future__ import annotations

from memory.rules.english.words import (
    AM,
    CAP,
    DEPARTMENT,
    LANGUAGE,
    LEVEL,
    NAME,
    NOT_A_CITY,
    NOT_A_NAME,
    ON,
    PLACE,
    ROLE,
)
from memory.rules.rule import rule

RULES = (
    rule(
        "employer",
        rf"\bi (?:don't work|do not work|no longer work|stopped working) (?:at|for) (?P<v>{CAP})",
        op="retract",
    ),
    rule("employer", rf"\bi(?:'ve| have)?(?: just| recently)? (?:left|quit|resigned from) (?P<v>{CAP})", op="retract"),
    rule("employer", rf"\bi used to work (?:at|for) (?P<v>{CAP})", op="retract", bearing="loose"),
    rule("city", rf"\bi (?:no longer live|don't live|do not live) in (?P<v>{PLACE})", op="retract"),
    rule("city", rf"\bi(?:'ve| have)?(?: just| recently)? moved (?:out of|away from) (?P<v>{PLACE})", op="retract"),
    rule("city", rf"\bi used to live in (?P<v>{PLACE})", op="retract", bearing="loose"),
    rule("name", rf"\bmy (?:(?:full|last|first|family) )?name(?:'s| is)(?: now)? (?P<v>{NOT_A_NAME}{NAME})"),
    rule("name", rf"^(?:the )?name(?: is|:) (?P<v>{CAP})"),
    rule(
        "name",
        rf"(?:^|[,!] )(?:this is"
        rf"|{AM}) (?P<v>{NOT_A_NAME}(?-i:[A-Z][a-z])[\w'-]*(?-i:(?: [A-Z][\w'-]+){{0,2}}))(?= ?(?:$|,)| from "
        rf"| and | here\b)",
    ),
    rule(
        "name",
        rf"(?:^|\b(?:hi|hello|hey)(?: there)?[ ,]+)(?:it's )?(?P<v>{NOT_A_NAME}(?!same|right"
        rf"|over)(?-i:[A-Z][a-z]+(?: [A-Z][a-z]+)?))(?: here(?: again)? from | speaking(?= ?(?:$|,)))",
    ),
    rule(
        "address_as",
        rf"(?:^|, |\b(?:please|just|can|may|should|and|to|so|or) )(?:call|address) me (?:as )?(?P<v>(?!back"
        rf"|at|on|when|if|later|tomorrow|crazy|old|after|before|in|to|by|for|tonight|today|again|now|please"
        rf"|asap|maybe|stupid|formally|informally|anytime|whenever){NAME})",
    ),
    rule("address_as", rf"\b(?:everybody|everyone|people|friends|they|most) (?:just )?calls? me (?P<v>{CAP})"),
    rule("address_as", rf"\bi go by (?P<v>{CAP})"),
    rule("birthday", rf"\bmy (?:birthday|birth date|date of birth)(?: is|'s|:)(?: on)? (?:the )?(?P<v>{ON})"),
    rule("birthday", rf"\bi was born (?:on )?(?:the )?(?P<v>{ON})"),
    rule(
        "city",
        rf"(?:\b(?:i|we)|{AM}|\bwe're)(?: now| currently| actually)* (?:live|living|reside|residing|based"
        rf"|located) in (?P<v>{PLACE})",
    ),
    rule(
        "city", rf"\b(?:i|we)(?:'ve| have)?(?: just| recently)? (?:moved|relocated) to (?!{NOT_A_CITY}\b)(?P<v>{PLACE})"
    ),
    rule("employer", rf"(?:^|, |\bi've |\bi have )been (?:with|at) (?P<v>{CAP}) (?:for|since)\b"),
    rule("city", rf"\bi(?:'ve| have) been living in (?P<v>{PLACE})"),
    rule("employer", rf"\bmy (?:employer|company) is (?P<v>{CAP})"),
    rule(
        "employer",
        rf"\bi(?:'ve| have)?(?: just| recently)? (?:joined|started at) (?P<v>{CAP})(?= ?(?:$|,)| (?:as|last|in|this|and)\b)",
    ),
    rule(
        "role", rf"\bmy (?:job|profession|role|position|job title|title) is (?:an? )?(?P<v>(?:[\w-]+ ){{0,2}}{ROLE})\b"
    ),
    rule("city", rf"\bi(?:'ve| have)? based myself in (?P<v>{PLACE})"),
    rule(
        "employer",
        rf"(?:\bi|{AM})(?: now| currently)* (?:work|working"
        rf"|employed)(?: as (?:an? )?[\w-]+(?: [\w-]+){{0,3}})? (?:at|for|by) (?P<v>(?!Home|Night|The){CAP})",
    ),
    rule(
        "role",
        rf"(?:{AM}|\bi was hired as|\bi work as|\bi've been)(?: now| currently| just| actually"
        rf"| also)* (?:an? |the )?(?P<v>(?:(?!not|no|never|hardly|going|your|my|his|her|former|looking|the|a|an|in|on|with"
        rf"|for|of|from|to)[\w-]+ ){{0,2}}{ROLE})\b(?!'|’| (?:fee|discount|account|id|card|appointment|visit))",
    ),
    rule(
        "department",
        rf"(?:{AM}|\bi work|\bi sit)(?: now| currently)*,? (?:in|on|from|with|part of) (?:the "
        rf"|our )?(?P<v>(?!wrong|right|same|other|winning|best|your|my|new|a\b|an\b|that|this"
        rf"|which)[\w&-]+(?: (?!department|team)[\w&-]+)?) (?:department|team|dept|division)\b",
    ),
    rule(
        "department",
        rf"(?:\bi (?:now )?work|{AM}(?: now)?(?: working)?) in (?P<v>{DEPARTMENT})\b(?! (?:trouble|charge|language))",
    ),
    rule(
        "department",
        rf"{AM} (?:[\w'-]+ ){{1,3}}from (?:the )?(?P<v>(?:[\w&-]+(?: [\w&-]+)?(?= (?:department|team|dept))"
        rf"|{DEPARTMENT}\b))",
    ),
    rule("department", rf"\bmy (?:department|team) is (?:the )?(?P<v>{CAP}|{DEPARTMENT}\b)"),
    rule(
        "department",
        r"\bi(?:'ve| have| just)* (?:moved|switched|transferred|changed) to (?:the )?(?P<v>(?!a\b|an\b"
        r"|another|your)[\w&-]+(?: [\w&-]+)?) (?:department|team|dept|division)\b",
    ),
    rule(
        "membership",
        rf"{AM}(?: now| already| also| still)* (?:an? )?(?P<v>{LEVEL})(?: card)? (?:member|customer"
        rf"|subscriber|card ?holder|status)\b",
    ),
    rule("membership", rf"{AM}(?: now| already| also| still)* (?:an? )?(?P<v>vip)\b"),
    rule("membership", rf"\bi(?: have|'ve got)(?: an?)? (?P<v>{LEVEL}) (?:status|membership|card)\b"),
    rule(
        "speaks",
        rf"\bi (?:can |also |only |mostly |mainly )*speak (?P<v>{LANGUAGE}(?:(?:, {LANGUAGE}){{0,5}},? (?:and"
        rf"|or) {LANGUAGE})?)\b",
        many=True,
    ),
    rule("speaks", rf"\bmy (?:native language|mother tongue|first language|native tongue) is (?P<v>{LANGUAGE})\b"),
)
