"""What an order to the assistant, a claimed right and a forged role look like in English: expressions over folded text of small
letters, one way to say it each. Data only; `instructions.py` says how they are used.
"""

from __future__ import annotations

from typing import Final

_ROLE: Final = (
    r"(?:super|chief|head|main|global|root|forum|site|shop|store|system|your|real|true"
    r"|the)?[ -]{0,6}(?:admin(?:istrator)?|sys ?admin|superuser|root"
    r"|moderator|webmaster|system(?= ?(?:$|[.,;!?\n]))|developer of|owner of (?:this|the|your)|creator|god|master)"
)

# Wishes about how to treat the speaker himself are no orders; they are taken out of the text first. Not so where the form of
# address is itself a role.
WISHES: Final = (
    rf"(?:please )?(?:always |only |just )?(?:call|address|refer to) me (?:as "
    rf"|by )?+(?:an? |the )?+(?!{_ROLE}\b)[^,.;!?\n]{{1,40}}?(?=$|[,.;!?\n]| and )",
    r"(?:please )?(?:always |only |just )?(?:answer|reply|respond|speak|write|talk|text|chat)(?: to me| me"
    r"| with me| back)?"
    r"(?: always| only)? in (?:simple |plain |simplified |traditional |british |american "
    r"|formal )?[a-z]{3,16}(?: only)?(?=$|[,.;!?\n]| and )",
    r"(?:please )?(?:never|do not|don't|dont|no need to|stop) (?:recommend(?:ing)?|suggest(?:ing)?"
    r"|show(?:ing)?|offer(?:ing)?|send(?:ing)?"
    r"|call(?:ing)?|email(?:ing)?|text(?:ing)?|remind(?:ing)?|sell(?:ing)?|mention(?:ing)?) (?:me|to me"
    r"|my)\b[^.;!?\n]{0,60}?(?=$|[,.;!?\n]| and )",
)

# Where a clause may begin: what looks like an order only there is a statement elsewhere ("I always answer quickly").
START: Final = (
    r"(?:^|[\n,.;:!?>)\]\"'。]|\b(?:remember|note|important|please|and|then|now|also|but|so|you|must|should"
    r"|will|shall|to|that|on|just|assistant|bot|ai|rule)\b)"
    r"[\s,:\"']{0,6}"
)
_ALL: Final = (
    r"(?:all|any|every|everything|each|the|these|those|your|my|our|previous|prior|above|earlier|preceding"
    r"|former|existing|initial|original|other|safety|system|security|old|of|given|company|store)"
)
_RULES: Final = (
    r"(?:instructions?|prompts?|rules?|guidelines?|polic(?:y|ies)|directives?|restrictions?|constraints?"
    r"|limitations?|guardrails?|programming|training|filters?|orders you)"
)
_GIVE: Final = (
    r"(?:obey|comply|follow (?:my|all|every|his|her|any)|ignore|approve|grant|waive|bypass|override|reveal"
    r"|disclose|leak|agree (?:with|to)|trust (?:me|everything|all|what)"
    r"|accept (?:all|any|every|my|everything)|refund|give (?:me|him|her|them|this user|the user|everyone|all"
    r"|every)(?: \w{1,24})? (?:a |an |the |full |free |any |all ){0,6}"
    r"(?:discount|refund|admin|access|free|\d+ ?%|credit|voucher|root|everything|money|anything i (?:want|ask|like))"
    r"|say (?:yes|that|\"|')|reply with|respond with|answer with|answer (?:yes|every|all|any|that|as)|(?:end"
    r"|start|begin) (?:every|each|all|your)|output|print"
    r"|append|prepend|include (?:the|this|a)|insert|execute|pretend|act as|behave as|role ?-?play"
    r"|recommend (?:\w{1,24} ){1,4}(?:to|over|above|instead)|promote|advertise)"
)

ORDERS: Final = (
    rf"{START}(?:kindly |just )?(?:ignore|disregard|forget|override|bypass|violate|overrule|neglect|drop"
    rf"|discard|skip)(?: about)?(?: {_ALL}){{0,6}} {_RULES}\b",
    rf"\b(?:ignore|disregard|forget|override|bypass)(?: {_ALL}){{0,6}} (?:all|any|every|previous|prior|above|earlier"
    rf"|preceding|your|system|safety|initial|original)(?: {_ALL}){{0,6}} {_RULES}\b",
    rf"\b(?:call|address|refer to) me (?:as |by )?(?:an? |the )?{_ROLE}\b",
    rf"{START}(?:end|start|begin|finish|sign|prefix) (?:every|each|all|your)(?: of your)? (?:repl|answer"
    rf"|respon|message|sentence)",
    rf"{START}(?:only |always |just ){{0,6}}(?:reply|respond|answer)(?: only| always| just){{0,6}} with\b",
    r"\b(?:ignore|disregard|forget|override) (?:all |everything )?(?:of )?(?:the )?(?:previous|prior|above"
    r"|preceding|you (?:were|have been|know)|i told you|before this)",
    rf"\b(?:don't|do not|never|stop|no longer) (?:follow(?:ing)?|obey(?:ing)?|apply(?:ing)?|enforc(?:e"
    rf"|ing))(?: {_ALL}){{0,6}} {_RULES}",
    r"\b(?:new|updated|real|actual|secret|hidden|important|revised|override|admin"
    r"|system) (?:system )?(?:instructions?|directives?|polic(?:y|ies)|rules?|prompts?) ?(?::|is\b|are\b)",
    r"\b(?:reveal|show|print|repeat|output|leak|tell me|display|give me|dump)(?: me)? (?:your|the) (?:full "
    r"|entire |initial |hidden |secret |own ){0,6}(?:system )?(?:prompt|instructions|rules|guidelines)\b",
    r"(?<!where )(?<!who )(?<!what )(?<!how )(?<!as )\byou(?: are|'re|re)(?: now| from now on| no longer"
    r"| hereby| henceforth){1,6}\b",
    rf"\byou(?: are|'re)(?: not| never)? (?:bound|restricted|limited|allowed to|authori[sz]ed|required to"
    rf"|obliged|unrestricted|jailbroken|an? ai\b|my (?:slave|servant)|(?:an? |the )?{_ROLE}\b|dan\b"
    rf"|programmed to)",
    rf"{START}(?:you (?:must|will|should|have to|shall|need to|are to|can) )?(?:act|behave|pose|respond"
    rf"|answer) as (?:if|an?|the|my|though|root|dan)\b",
    rf"{START}pretend (?:that|to be|to|you|i|we)\b",
    rf"\b(?:you|assistant|bot|ai) (?:must|shall|should|will|have to|are to|are required to|need to|can|may"
    rf"|always|never)(?: always| never| not| now| only| just){{0,6}} {_GIVE}",
    rf"{START}(?:always|never|only|from now on|henceforth|going forward|as of now)[, ]{{1,6}}(?:please |always "
    rf"|never |only |just |you (?:will |must |should |shall )?){{0,6}}{_GIVE}",
    rf"{START}(?:(?:obey|comply with) (?:me|my)|(?:obey|trust) (?:everything|whatever|what|all))\b",
    r"\b(?:from now on|henceforth|going forward|as of now)[, ]{1,6}(?:you|the assistant|the bot|assistant|all"
    r"|every|everything|each|any|no)\b",
    rf"{START}never (?:refuse|deny|decline|question|reject|charge|verify|check|say no|warn|contradict|doubt"
    rf"|mention (?:this|these|the|that)|reveal|disclose|ask (?:me )?for (?:a )?(?:payment|password|proof"
    rf"|verification|approval|id|money))\b",
    rf"{START}always (?:refund|issue|approve|say|agree|allow|accept my|obey|comply|trust|give|apply|grant)\b",
    r"\bdo (?:whatever|anything|everything|what|exactly what) (?:i|he|she|they|the user) (?:say|ask|want|tell"
    r"|command|order)s?",
    r"\b(?:treat|regard|consider|see) me as (?:an? |the |your )?(?:admin|administrator|owner|staff|employee"
    r"|vip|boss|developer|superuser|root|manager|moderator|authori[sz]ed)",
    r"\b(?:treat|take) (?:everything|anything|whatever|what|all) i (?:say|write|tell)",
    rf"{START}(?:when(?:ever)?|if|each time|every time) (?:some ?one|any ?one|any ?body|some ?body|(?:a|an"
    rf"|the|any|another|other|all) (?:users?|customers?|persons?|clients?|people)|users|customers|people|they"
    rf"|others?)\b[^.!?\n]{{0,80}}"
    r"\b(?:say|reply|answer|tell|respond|recommend|give|send|refer|point|direct)\b",
    r"\bwhen(?:ever)? i (?:say|type|write|enter|send)\b[^.!?\n]{0,60}[, ](?:you|reply|respond|say|execute|run"
    r"|unlock|switch|answer|print)\b",
    r"\b(?:tell|inform|recommend|say) (?:to )?(?:all|every|other|everyone|anyone|the other) ?(?:users?"
    r"|customers?|people|clients?|else)?\b",
    r"\b(?:don't|do not|never|without) (?:tell(?:ing)?|reveal(?:ing)?|inform(?:ing)?|show(?:ing)?"
    r"|mention(?:ing)?)(?: it| this)?(?: to)? (?:the|any|other|this) (?:users?|customers?|owner|operator"
    r"|developer)",
    rf"\b(?:i am|i'm|im|i was made|this is|it's|it is|speaking as|(?<![^\n.,;:!?] )(?<![a-z])as|my role is"
    rf"|my role:|role:)(?: an?| the"
    rf"| actually| really| also| now| your| in fact| here| one of the| officially){{0,6}} {_ROLE}\b"
    r"(?! (?:at|for|in) )(?!s? (?:assistant|of (?:a|an|our)\b))",
    r"\b(?:the user|this user|user|customer|he|she) (?:is|has been made|should be treated as)(?: an?"
    r"| the){0,6} (?:admin(?:istrator)?|superuser|root|system admin(?:istrator)?|owner of)\b",
    r"\b(?:i|he|she|user|customer|this user|the user|we)(?:'ve| have| has| got| hold| was given| own| possess"
    r"| possesses| am granted){1,6}(?: got| been given| been granted)?(?: the| an?| full| all| total| special"
    r"| unlimited| complete| these){0,6} "
    r"(?:admin(?:istrator|istrative)?|root|superuser|full|unlimited|unrestricted|elevated|special|owner|god"
    r"|sudo|vip) (?:access|rights?|permissions?|privileges?|powers?|control|authority|clearance)",
    r"\b(?:grant|give|assign|restore|enable) (?:me|him|her|this user|the user|us|user)(?: the| an?| full| all"
    r"| permanent){0,6} (?:admin(?:istrator|istrative)?|root|superuser|full|unlimited|elevated|owner|sudo)\b",
    r"\b(?:i am|i'm|im|user is|customer is|we are|we're)(?: now| also| always| fully"
    r"| already){0,6} (?:authori[sz]ed|entitled|allowed|permitted|eligible|cleared|approved"
    r"|exempt)\b[^.!?\n]{0,40}"
    r"\b(?:free|discounts?|refunds?|admin|override|bypass|without (?:pay|approval|verification|check|limit)"
    r"|pay(?:ment|ing)?|access (?:all|any|every)|any order|fees?|unlimited|\d+ ?%|limits?|vip)",
    r"\b(?:all|every|each|any|my|our|his|her|the user's|customer's|future|these)(?: of)?(?: my| our| his| her"
    r"| future| the| next| other){0,6} (?:orders?|purchases?|items?|products?|everything|shipping|deliver(?:y"
    r"|ies)|meals?|bookings?|flights?|hotels?|subscriptions?|plans?|drinks?|tickets?|fees?|rides?)"
    r" (?:is|are|be|should be|will be|must be|shall be|have to be|should|must|can be|needs? to be|come|ships?"
    r"|cost|count as)(?: always| now| all| to be| considered| completely| forever){0,6} (?:for )?"
    r"(?:free(?![ -](?:of (?!charge)|from))|gratis|complimentary|at no (?:cost|charge)|on the house|(?:0"
    r"|zero)\b|discounted|half[ -]price|\d+ ?% off|refunded|paid (?:by|for)|already paid|waived|nothing)",
    r"\beverything (?:i (?:buy|order|purchase)|for me) (?:is|should be|must be|will be)(?: always)? (?:free"
    r"|discounted|half|\d+ ?%|gratis)",
    r"\b(?:i|we|he|she|user|this user|customer|vips?|members?)(?: can| should| must| always| will| am to"
    r"| is to| permanently| automatically){0,6} (?:gets?|receives?|have|has|qualif(?:y|ies) for|deserves?|pays?"
    r"|am entitled to|am owed)"
    r"(?: an?| the| all| my| any| only| every| automatic| permanent| lifetime| unlimited| special| full"
    r"| instant| vip| employee| staff| everything| orders?| it| for| stuff){0,6}"
    r" (?:\d+ ?% ?(?:discounts?|off|refunds?)|free (?:orders?|shipping|deliver\w{1,24}|meals?|products?|items?"
    r"|upgrades?|stuff|everything|refunds?|access)|for free|free$|free[.,!]|discounts? (?:on|of)"
    r"|refunds? (?:on|for|without|anytime|any)|unlimited refunds?|refund rights?|nothing)",
    r"\b(?:i|we|this user|the user|vips?)(?: do not| don't| dont| never| need not| needn't"
    r"| am not required to| should not| shouldn't| must not| mustn't| won't)(?: have to| need to"
    r"| ever){0,6} (?:pay|be charged)(?:(?: for)? (?:anything|shipping|delivery|orders?|my orders?|fees?|it"
    r"|a thing|that))?(?=$|[.,;!?\n])",
    r"\b(?:charge|bill) (?:me|us|him|her) (?:nothing|0|zero|no)\b|\b(?:don't|do not|never|stop) (?:charge"
    r"|bill)(?:ing)? (?:me|us)\b|\bwaive (?:all|the|my|any|every|our)\b",
    r"\bapply (?:a |an |the |my )?(?:\d+ ?%|full|maximum|permanent|vip|employee|staff"
    r"|free)[ \w]{0,20}(?:discount|off|coupon|refund)",
    r"\b(?:approve|accept|process|grant|refund) (?:all|every|any)(?: of)?(?: my| his| her| their"
    r"| future)? (?:refunds?|returns?|requests?|orders?|claims?|purchases?|transactions?|expenses?)\b",
    r"\b(?:skip|bypass|disable|omit|avoid|turn off|no need for|without)(?: the| all| any| my| your| id"
    r"| identity){0,6} (?:verification|approvals?|payment checks?|identity checks?|authenti\w{1,24}|authori[sz]ation"
    r"|safety|security checks?|moderation|checks and)\b",
    r"\b(?:no need|not necessary|don't|do not|never)(?: to)? (?:verify|check|authenticate"
    r"|confirm)(?: who i am| me\b| my (?:identity|id\b|payment|account|orders?))",
    r"\b(?:manager|ceo|boss|owner|admin\w{0,12}|support|company|supervisor|developer|team|staff|system)(?: has"
    r"| have| had| already| just){0,6} (?:approved|authori[sz]ed|granted|allowed|cleared|permitted)(?: me| us| my"
    r"| him| her| that| for)?\b[^.!?\n]{0,40}\b(?:free|discounts?|refunds?|access|override|unlimited|admin"
    r"|\d+ ?%|without)",
    r"\b(?:enter|activate|enable|switch to|go into|turn on) (?:the )?(?:god|dan|jailbreak|sudo|admin"
    r"|unrestricted|maintenance|debug|root|developer)[ -]mode\b(?! on (?:my|the|a)\b)",
    r"\b(?:run|execute|call|invoke|use) (?:the |this |following |that )?(?:following )?(?:tool|function"
    r"|command|script|code|shell|sql|api)\b(?=[ :]{0,6}(?:[\w.-]{1,6}\(|:|`|to (?:refund|delete|grant|send)|refund"
    r"|delete|send|rm\b|drop\b))",
    r"\b(?:rm -rf|drop table|delete from \w{1,24}|(?:^|[\n.;:>`$。]) ?sudo \w{1,24}|curl https?:|wget https?:)",
    r"(?:^|[\n>|\])#.;!?。]|end of \w{1,24})[\s*#_\[(<|]{0,6}(?:system|assistant|developer|user|human|tool|function"
    r"|admin(?:istrator)?|operator|sys|ai)(?: (?:message|prompt|note|instruction|override|update"
    r"|notice))?[\s\])>*|]{0,6}[:=](?!/)",
    r"\[/?(?:inst|system|sys|assistant|user|admin)\b|<<\s*/?sys|<\|[^|>\n]{1,40}\|>|#{2,}\s*(?:system"
    r"|instructions?|assistant|human|user|response|new)\b|\bend of (?:the )?(?:system |user )?(?:prompt"
    r"|instructions?|context|memory)\b",
    r"<\s?[/!?]?\s?[a-z][\w-]{0,40}(?:\s[^<>\n]{0,200})?\s?/?>",
    rf"\bmy (?:\w{{1,16}} )?(?:role|status|rank|level|account(?: type)?|access(?: level)?|user ?group)(?: is| has|:| =)"
    rf"(?: set to| now| an?| the){{0,3}} {_ROLE}\b",
    r"\b(?:my|this|the user's|his|her) account (?:has|is given|was granted)[^.!?\n]{0,20}\b(?:access|rights?"
    r"|permissions?|privileges?)",
    r"\b(?:must|shall|will|should|have to) (?:always |now )?(?:obey|comply)\b|\byou (?:work for|belong to"
    r"|serve|report to) me\b",
    r"\b(?:is|are|be)(?: always| all| now| to be){0,3} (?:free|gratis|discounted|half price|waived"
    r"|complimentary)(?: of charge)?"
    r" for (?:me|us|my|this user)\b|\ball (?:is|are) free\b",
    r"\b(?:give|grant|offer|issue|sell) (?:me|us|him|her|this user|the user|everyone)\b[^.!?\n]{0,30}"
    r"\b(?:\d+ ?% ?(?:off|discount)|discounts?\b|for free\b|free of charge|unlimited|without (?:pay|charg))",
    r"\b(?:send|forward|e?mail|post|upload|copy|export)(?: me| us)? (?:all|every|each|any|the|my|our|this"
    r"|these)\b[^.!?\n]{0,40}"
    r"\bto (?:http|www\.|[\w.+-]{1,40}@|[\w-]{1,40}\.(?:com|net|org|io|cn|ru|xyz)\b)",
    r"\b(?:show|tell|give|list|see|view|access|read|edit|delete|download|reveal)(?: me| us)?(?: all| any"
    r"| every| the| other| another){1,4}"
    r" (?:users?|customers?|clients?|accounts?|persons?|people)'?s?'? (?:data|orders?|info\w{0,9}|messages"
    r"|conversations?|details|names"
    r"|addresses|passwords?|accounts?|records?|files)\b",
    r"\b(?:shall|must|will|should|can|may|do) ?not (?:ever )?(?:refuse|deny|question|reject|contradict)\b"
    r"|\bdon't (?:ever )?(?:refuse|deny|question|reject|contradict) (?:me|my|any)\b",
    r"\b(?:mention|include|add|insert|put|append|advertise|promote)\b[^.!?\n]{0,40}\b(?:in|to|into"
    r"|at the end of|after|with) (?:every|each|all|your)"
    r"(?: of your)? (?:repl|answer|message|respon|sentence|conversation)",
    r"\bnever (?:have to |need to |has to )?pay(?=$|[.,;!\n])",
    r"\b(?:free|discount\w{0,3}|\d+ ?%)[^.!?\n]{0,20}\bappl(?:y|ies) to (?:all|every|my|me)\b",
    r"\b(?:rules?|limits?|polic(?:y|ies)|restrictions?|fees?|terms|conditions?|guidelines?)\b[^.!?\n]{0,12}"
    r"\b(?:do not|don't|does not|doesn't|never|no longer|should not|cannot) apply\b"
    r"|\bno (?:rules?|limits?|restrictions?|fees?|polic(?:y|ies)) (?:apply|for me)\b|\babove (?:the "
    r"|all ){0,2}(?:rules?|law|polic)",
    r"\brefunds?\b[^.!?\n]{0,20}\b(?:automatically|without (?:approval|review|question)|(?:needs?"
    r"|requires?) no (?:approval|review|verif)"
    r"|always approved)",
    rf"\b(?:upgrade|promote|make|set|change|elevate) (?:me|my \w{{1,16}}|this user|the user)(?: to| as"
    rf"| into)?(?: an?| the)? {_ROLE}\b",
    r"\bmark (?:all|every|each|my|any|this|the|these)\b[^.!?\n]{0,30}\bas (?:paid|refunded|free|approved"
    r"|verified|vip)\b",
    r"\b(?:refund|compensate|credit|reimburse)\b[^.!?\n]{0,20}\b(?:whenever|every time|each time|any ?time|always)\b",
    r"\b(?:say|tell|reply|announce|respond|recommend)\b[^.!?\n]{0,40}\bto (?:everyone|everybody|every|each"
    r"|all|any) ?(?:users?|customers?|people|clients?)?\b"
    r"(?=[^.!?\n]{0,8}(?:$|[.!?\n]|that))",
    r"\b(?:should|must|shall|always|will)(?: always)? costs? (?:me |us )?(?:nothing|zero|0)\b",
    r"\b(?:do not|don't|never) (?:apply|enforce|charge) (?:any |the |your |those )?(?:fees?|charges?|rules?"
    r"|limits?|polic(?:y|ies)|costs?)\b",
    r"\b(?:rules?|guidelines?|restrictions?|polic(?:y|ies)|filters?|limits?)(?: are| is| as"
    r"| were)?(?: now)? (?:void|lifted|suspended|disabled|removed|irrelevant|null)\b",
    r"\byou(?:'ve| have| had| know| follow| are under)? no (?:rules?|limits?|guidelines?|restrictions?"
    r"|filters?|polic(?:y|ies)|boundaries)\b"
    r"|\bwithout (?:any )?(?:limits?|rules?|restrictions?|filters?|guidelines?|boundaries)\b",
    r"\byour (?:new |only |real |true |sole ){0,2}(?:purpose|task|job|goal|mission|duty|role|objective|name) is\b",
    r"\b(?:gave|given|grants?|granted)(?: me| us| him| her| to me)?\b[^.!?\n]{0,40}\b(?:override"
    r"|free (?:orders?|shipping|deliver\w{1,3})|refunds?|discounts?|admin\w{0,12}"
    r"|unlimited|lifetime|access to (?:all|any|other|every))\b",
    r"\bsystem override\b|\boverride (?:code|mode|engaged|activated|enabled)\b|\b(?:begin"
    r"|start)(?: of)?(?: the)? system (?:prompt|message)\b",
    r"\b(?:requests?|orders?|refunds?|claims?|returns?|expenses?|purchases?)\b[^.!?\n]{0,16}\b(?:pre|auto)-?approved\b",
    r"\b(?:approval|credit|access|refund|discount|clearance)(?: level| limit| authority)? is (?:unlimited"
    r"|infinite|maximum|(?:the )?highest)\b",
    r"\byou (?:have to|must|should|will|need to) (?:always )?(?:believe|trust|accept) (?:everything|anything"
    r"|all|whatever|me\b)",
    r"\b(?:free|discounts?|refunds?|credit|bills?|fees?|upgrades?|access|shipping)\b[^.!?\n]{0,30}"
    r"\b(?:forever|for ever|for life|permanently|unlimited|without limits?|apply to me|lifetime)\b"
    r"|\b(?:forever|permanently|unlimited|lifetime|infinite)\b[^.!?\n]{0,20}\b(?:free|discounts?|refunds?"
    r"|credit|access|upgrades?)\b",
    r"\bnever (?:get |am |be |have been |been ){0,2}(?:charged|billed)\b|\bi (?:order|command|instruct"
    r"|authori[sz]e|require) you\b",
    r"\bdo (?:exactly )?as i (?:say|tell|wish|want|command)\b|\b(?:boss|king|ruler|master) (?:here|of you|of this)\b",
    r"\byour (?:instructions|rules|policies|guidelines|orders|programming) (?:have|has|are|were"
    r"|is)(?: been)? (?:now )?(?:changed|updated|replaced"
    r"|revoked|reset|void)\b",
    r"\b(?:treat|consider|take|regard) (?:this|the following|it) as (?:an? |the )?(?:system|admin|developer"
    r"|instruction|order|command|rule|polic)",
    r"\b(?:disable|turn off|remove|lift|switch off)(?: the| your| all| any){0,2}(?: content| safety| security)?"
    r" (?:filters?|restrictions?|limits?|checks|guardrails?|moderation|safety)\b",
    r"\b(?:overrides?|outranks?|supersedes?|trumps?)(?: all| any| the| your| every){0,2} (?:polic(?:y|ies)"
    r"|rules?|law|instructions?|system)\b",
    r"\b(?:if|when(?:ever)?)\b[^.!?\n]{0,40}\bcomes? up\b[^.!?\n]{0,12}\b(?:praise|recommend|mention|promote|advertise|say)\b",
    r"\bwhen(?:ever)? i (?:say|type|write|enter|send)\b[^.!?\n]{0,40},? (?:hand over|give out|reveal|praise|recommend|mention)\b",
    r"\bif (?:you are |you're |ever )?asked\b[^.!?\n]{0,30}\b(?:say|answer|reply|tell|deny)\b",
    r"\byou (?:agreed|promised|owe)\b[^.!?\n]{0,20}\b(?:free|discounts?|unlimited|for life)\b",
    r"\byou (?:will|shall|must|should|may)(?: only)? (?:answer|respond|listen|report|talk|speak)(?: only to"
    r"| to only| exclusively to) me\b",
)
