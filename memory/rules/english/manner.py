"""How English shows that something is not meant, and what is no value."""

from __future__ import annotations

import re

from memory.rules.rule import Manner

MANNER = Manner(
    supposed=re.compile(
        r"\b(?:if|suppose|supposing|imagine|assume|assuming|unless|whether|what if|pretend|as if|for example"
        r"|for instance|e\.g"
        r"|maybe|perhaps|might|not that|don't think|doubt|not sure|thought|used to|wonder|i wish|possibly"
        r"|probably|hypothetically"
        r"|let's say|lets say|never said|didn't say|not saying|don't mean|should i|when i was)\b",
        re.I,
    ),
    reported=re.compile(
        r"\b(?:he|she|they|everyone|everybody|people|someone|somebody|it|customers?|friends?|wife|husband"
        r"|boss|colleague|mother"
        r"|father|mom|mum|dad|parents|brother|sister|son|daughter|doctor|box|label|site|log"
        r"|message)(?: \w+)? (?:say|says|said|thinks?|thought|claims?|claimed|told|tells"
        r"|asked|asks|wrote|writes|reads)\b|\b(?:told|tells|asked) (?:me|us|her|him)\b|\bquote\b|\bthe lyrics\b",
        re.I,
    ),
    asking=re.compile(
        r"^(?:and |so |but |ok |hi |well )*(?:do|does|did|is|are|am|can|could|should|would|will|what|what's"
        r"|why|how|when|where"
        r"|who|which|have|has|isn't|aren't|don't|doesn't|won't|can't)\b(?! (?:not )?(?:recommend|suggest"
        r"|show|offer|call|phone"
        r"|text|ring|message|contact|e-?mail|wake|ping|forget)\b)",
        re.I,
    ),
    other=re.compile(
        r"\b(?:for|by|about|to) (?:my|our|his|her|their|a|the) (?:\w+ )?(?:son|daughter|kids?|child(?:ren)?"
        r"|baby|wife|husband"
        r"|partner|mother|father|mom|mum|dad|sister|brother|friend|boss|colleague|girlfriend|boyfriend"
        r"|parents?|nephew|niece"
        r"|grandma|grandpa|grandson|uncle|aunt|neighbou?r|client|customer|team)\b|\bas a joke\b",
        re.I,
    ),
    joke=re.compile(
        r"\b(?:just kidding|only kidding|i'm kidding|just joking|i'm joking|only joking|jk|just a joke|/s)\b", re.I
    ),
    tag=re.compile(
        r"^\W*(?:right|correct|yes|no|isn't it|don't i|aren't i|am i|do i|true|ok|or not|or what|or)\W*$", re.I
    ),
    worthless=re.compile(
        r"(?:(?:it|this|that|these|those|them|you|your|he|she|him|her|they|us|me|one|ones|something|anything"
        r"|everything|nothing"
        r"|what|how|when|where|why|who|which|breakfast|lunch|dinner|out|late|certain|many things|some|lots"
        r"|a lot|both|all|most|same|such|being|here|much|many"
        r"|people|other|others|neither|mondays|bullshit|drama|stupid|things?|stuff|alcoholic|well|more|less"
        r"|better|best)\b.*|.|not\b.*|.*\bones?)",
        re.I | re.S,
    ),
    between=re.compile(r",? (?:and|or|nor|&) |, ?"),
    edges=re.compile(
        r"^(?:(?:the|a|an|any|some|all|my|your|wearing|really|also)\s+)+"
        r"|(?:\s+(?:the most|the best|very much|a lot|so much|best|most|myself|personally|really|lately"
        r"|in general|for me|in|on"
        r"|for|with|of|last (?:week|month|year)|today|yesterday|right|these days))+$",
        re.I,
    ),
)
