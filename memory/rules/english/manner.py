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
        r"|let's say|lets say|never said|didn't say|not saying|don't mean|should i|when i was|role-?play"
        r"|in (?:my|the|a) (?:book|novel|story|game|dream|film|movie|play)|once upon)\b|^(?:so )?say (?:that )?(?=i\b)",
        re.I,
    ),
    reported=re.compile(
        r"\b(?:he|she|they|everyone|everybody|people|someone|somebody|it|customers?|friends?|wife|husband"
        r"|boss|colleague|mother"
        r"|father|mom|mum|dad|parents|brother|sister|son|daughter|box|label|site|log|profile|records?|account|app|system|form|page|file|card|passport"
        r"|message)(?: \w+)? (?:say|says|said|thinks?|thought|claims?|claimed|told|tells"
        r"|asked|asks|wrote|writes|reads|shows?|states?)\b|\byou (?:say|said|think|thought|assumed?|believe|claimed?)\b"
        r"|(?<!doctor )(?<!dentist )(?<!allergist )\b(?:told|tells|asked) (?:me|us|her|him)\b"
        r"|\bquote\b|\bthe lyrics\b|\b(?:translate|translation|rewrite|rephrase|proofread|paraphrase|write|draft|compose|repeat"
        r"|correct) (?!(?:to me|me|back)\b)[^,.]{0,60}$|\bsaying (?:that )?$"
        # a line of somebody else's talk: "Anna: I'm vegan"
        r"|(?:^|[\]\d] )@?(?-i:(?!(?:Note|Notes|PS|P\.S|Update|Edit|FYI|BTW|Info|Important|Also|Question|Reminder|Remember"
        r"|Warning|Correction|Addition|Context|Background|Diet|Allergy|Allergies|Name|Hello|Hi|Hey|Thanks|OK|Ok|Okay|Yes|No|Well|So|But"
        r"|Reason|Problem|Issue|Answer|Me|Re|Fact|Request|Hint|Plus|About|Listen|Look|Please|Sorry|Profile|Preferences?|Everyone|All"
        r"|Team|Guys|Dear|One)\b)[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?): $",
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
        r"(?:(?:none|no|nope|nil|unknown|it|this|that|these|those|them|you|your|he|she|him|her|they|us|me|one|ones|something|anything"
        r"|everything|nothing"
        r"|what|how|when|where|why|who|which|breakfast|lunch|dinner|out|late|certain|many things|some|lots"
        r"|a lot|both|all|most|same|such|being|here|much|many"
        r"|right|now|today|tonight|tomorrow|yesterday|yet|before|after|until|till|again|alone|properly|enough|fast|anywhere"
        r"|work|working|mornings?|exercise|homework|meetings|school|life|math|money|idiots"
        r"|people|other|others|neither|mondays|bullshit|drama|stupid|things?|stuff|alcoholic|well|more|less"
        r"|better|best)\b.*|.|not\b.*|.*\bones?)",
        re.I | re.S,
    ),
    between=re.compile(r",? (?:and|or|nor|n|plus|&) |, ?| ?[/+] ?"),
    edges=re.compile(
        r"^(?:(?:the|a|an|any|some|all|my|your|wearing|really|also)\s+)+"
        r"|(?:\s+(?:the most|the best|very much|a lot|so much|best|most|more|less|better|myself|personally|really|lately"
        r"|in general|for me|in|on"
        r"|for|with|of|last (?:week|month|year)|today|yesterday|right|these days))+$",
        re.I,
    ),
)
