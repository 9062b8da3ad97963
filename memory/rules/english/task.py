"""The task at hand, in English: orders, requests, travel, moods, and what is to be remembered as it was said."""

from __future__ import annotations

from memory.rules.english.words import AFTER, AM, CAP, CJK, FAULT, INTENT, MONEY, PRODUCT, VERY, WHEN
from memory.rules.rule import rule

RULES = (
    rule(
        "request",
        r"\bi (?:no longer|don't|do not) (?:want|need)(?: to)?(?: an?| the| my)* (?P<v>return|exchange|refund|cancel|replacement"
        r"|replace|repair|rebook|reschedule|unsubscribe|invoice|receipt|upgrade)\b",
        op="retract",
    ),
    rule(
        "order",
        r"(?<!to )(?<!in )(?<!\bi )(?<!we )(?<!you )\border(?: (?:number|no\.?|nr\.?|id))?(?: ending(?: in"
        r"| with)?| ends (?:in|with)| is| was)?[ :#]{1,3}(?P<v>[a-z]{0,4}-?\d[\da-z-]{2,24})\b(?! (?:pieces"
        r"|units|pairs|pcs|items|of|euros?))",
        bearing="loose",
    ),
    rule(
        "phone_tail",
        r"\b(?:phone|mobile|cell|cellphone)(?: number)?(?: is)?,? (?:ends?|ending) (?:in|with) (?P<v>\d{3,4})\b",
        bearing="loose",
    ),
    rule(
        "phone_tail",
        r"\blast (?:three|four|3|4) (?:digits|numbers) of my (?:phone|mobile|cell)(?: number)? (?:are"
        r"|is) (?P<v>\d{3,4})\b",
    ),
    rule(
        "budget",
        rf"\bbudget(?: is| of|:)?(?: (?:around|about|roughly|up to|only|under|at most|maybe|max(?:imum)?"
        rf"|approximately|now|(?:is |went )?(?:up|down) to))*:? (?P<v>{MONEY}"
        rf"|(?<!of )(?:\d[\d,.]{{2,9}}|\d[\d.]{{0,4}}k)\b(?! ?(?:%|people|guests|days|nights|hours)))",
    ),
    rule(
        "budget",
        rf"\b(?:i|we)(?: can| could| want to| will| have to| must| would like to)* (?:spend|stay under|pay"
        rf"|stay below)(?: (?:around|about|up to|at most|no more than|max(?:imum)?))* (?P<v>{MONEY}"
        rf"|\d[\d,.]{{0,9}} a (?:night|month|day|person))",
    ),
    rule(
        "budget",
        rf"(?:^|, |\b(?:i|we) have )(?:up to|no more than|at most|max(?:imum)?\.?|not more than) (?P<v>{MONEY})",
    ),
    rule("request", r"^(?P<v>refund|exchange|replacement|invoice)(?:,)? please\b", bearing="loose"),
    rule(
        "destination",
        rf"\b(?:i|we)(?:'m|'re|'ll|'d| am| are| will| want| would| need| have| like| plan| be| to"
        rf"| also)* (?:fly|flying|travel|travell?ing|going|go|heading|head) to (?P<v>{CAP}|{CJK}{{2,6}})",
    ),
    rule(
        "destination",
        rf"\b(?:i|we)(?:'m|'re|'d| am| are| would)?(?: like to| want to| need to| like| want)? (?:need|book"
        rf"|looking for|want|find)[^,]{{0,20}}?\b(?:hotel|flight|room|apartment|hostel|trip|train|ticket"
        rf"|tickets)(?: room)? (?:in|to) (?P<v>{CAP}|{CJK}{{2,6}})",
    ),
    rule(
        "date",
        rf"\b(?:i|we)\b[^,]{{0,30}}?\b(?:flying|fly|leaving|leave|travell?ing|travel|depart(?:ing)?|arriv(?:e"
        rf"|ing)|going|check(?:ing)? in|start(?:ing)?|off|away)\b[^,]{{0,40}}? (?:on |from |at |for "
        rf"|starting )?(?P<v>{WHEN})",
    ),
    rule(
        "request",
        rf"{INTENT} (?P<v>(?:a|one|two|three|four|\d{{1,2}}) (?:days?|weeks?|months?) off)\b",
        bearing="loose",
    ),
    rule(
        "request",
        rf"{INTENT} (?P<v>return|exchange|refund|cancel|replacement|replace|repair|money back|rebook"
        rf"|reschedule|unsubscribe|invoice|receipt|reset my password|unlock my account|close my account"
        rf"|delete my account|change my (?:flight|booking|password|address|order|reservation|room|seat)"
        rf"|upgrade|pay rise|(?:parental|maternity|paternity|sick|annual|unpaid) leave)\b",
        bearing="loose",
    ),
    rule(
        "request",
        rf"{INTENT}(?: (?:take|request|book))+(?: some| a week of| a day of)? (?P<v>leave|vacation|time off)\b",
        bearing="loose",
    ),
    rule(
        "product",
        rf"\b(?:return(?:ed|ing)?|exchang(?:e|ed|ing)|refund(?:ed)?|bought|ordered|received|replace|repair"
        rf"|need|send back|sent back|want|got|look at"
        rf"|(?:could|can) i (?:have|get)) (?:for )?(?:the|these|this|my|those|an?|some|new"
        rf"|a pair of) (?P<v>(?:(?!(?:{AFTER}|of|in|on|for|with|new)\b)[\w-]+ ){{0,2}}{PRODUCT})\b",
    ),
    rule(
        "product",
        rf"\b(?:my|the|this|these) (?P<v>(?:(?!(?:{AFTER}|of|in|on|for|with|new"
        rf"|company)\b)[\w-]+ ){{0,2}}{PRODUCT})(?: (?:i (?:bought|ordered|got|received)|on floor"
        rf"|in room)[^,]{{0,20}}?)? {FAULT}",
    ),
    rule(
        "emotion",
        rf"(?:{AM}|\bi feel){VERY} (?P<v>angry|furious|frustrated|annoyed|disappointed|upset|unhappy"
        rf"|not happy|worried|anxious|stressed|desperate|sad|irritated|fed up|mad(?! about)|delighted"
        rf"|thrilled|(?:happy|pleased)(?= with| about))\b(?! (?:to|for you)\b)",
    ),
    rule(
        "service",
        r"\b(?:i|we)(?:'ve| have| had)?(?: already| now)? (?P<v>(?:returned|exchanged|reported|complained"
        r"|called|contacted|written|asked|emailed|phoned|sent)\b(?: [\w']+){0,4}? (?:twice|(?:two|three|four"
        r"|five|six|\d) times))\b",
    ),
    rule(
        "remember",
        r"^(?:(?:please|and|also|just|ok|hi)[ ,]+)*(?:(?:remember|keep in mind|bear in mind"
        r"|make a note)(?: that|:| (?=(?:my|our|i|i'm|we)\b))|don't forget that|note that(?= (?:my|our|i"
        r"|i'm|we)\b)) ?(?!when|how|to\b|me\b|what|where|who|why|the time)(?P<v>\S.{3,160})$",
    ),
)
