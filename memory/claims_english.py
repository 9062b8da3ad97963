"""What an order or a claimed right is made of in English, however it is worded: a clause that has a part of each kind. Data only;
`instructions.py` says how it is used. Folded text of small letters.
"""

from __future__ import annotations

from typing import Final

_BENEFIT: Final = (
    r"(?<!-)\bfree\b(?! (?:time|day|wi-?fi|parking|breakfast|cancell?ation|samples?|trial|of (?!charge)|from|speech|on my)|-)"
    r"|\b(?:for nothing|gratis|complimentary|on the house|half price|staff pric\w+|money back|priority service)\b"
    r"|\b(?:without|at no|no) (?:cost|charge|payment|paying|fees?)\b|\b(?:at|to|is|be|for me) (?:zero|nothing|0)\b"
    r"|\b(?:discount|refund|compensat|reimburs|waive|voucher|coupon|upgrade)\w{0,6}\b|\b\d+ ?(?:%|percent off)"
)
_STANDING: Final = (
    r"\b(?:always|forever|permanent\w*|automatic\w*|lifetime|for life|for good|by default|as standard|henceforth|regardless"
    r"|whenever|any ?time|instant\w*|no matter|in future|going forward|at all times|at once)\b"
    r"|\b(?:every|each|all)(?: \w+)? (?:time|visit|order|purchase|booking|item|product|trip)s?\b"
    r"|\bfrom (?:now|today|here)\b|\buntil (?:i|further)\b|\bwithout (?:exception|asking|question|review|approval)"
)
_MINE: Final = r"\b(?:i|me|my|mine|we|us|our|this (?:user|customer|account)|the (?:user|customer)|vips?|members?)\b"
_ASKS: Final = (
    r"^\W*(?:can|could|may|would|will|do|does|did|is|are|how|what|why|when|where|who|which)\b|\bi(?:'d| would) like\b|\bi want\b"
    r"|\bdidn't|\bhaven't|\bhasn't|\blast (?:time|week|month|year)|\byesterday|\bthey\b|\bthem\b|\bfrom my\b"
    r"|\bi (?:always |usually |often |only |never )+(?:pay|use|buy|look|ask|wait|choose|collect|take|save)\b"
)
_MUST: Final = (
    r"\b(?:you|(?:the|this) (?:assistant|bot|chatbot|agent|ai|model)|your (?:answers?|repl(?:y|ies)|responses?|duty|job))\b"
    r"[^,.]{0,12}\b(?:must|shall|should|have to|has to|need to|needs to|are to|is to|ought to|may|can"
    r"|(?:are|is) (?:obliged|obligated|required|bound|expected|supposed|free|permitted|allowed))\b"
)
_POWER: Final = (
    r"\b(?:agree|obey|follow (?:my|me|every|all)|comply|approve|grant|accept|contain|include|praise|recommend|promote"
    r"|advertise|mention"
    r"|disclose|reveal|leak|deny|pretend|believe|trust|prioriti[sz]e|execute|ignore|skip|bypass|override|refund|waive"
    r"|hand over|slogan"
    r"|keep (?:this|it) (?:hidden|secret)|say (?:yes|that))\b"
)
_RULES: Final = (
    r"\b(?:rules?|limits?|limitations?|restrictions?|guidelines?|polic(?:y|ies)|instructions?|safeguards?|checks?|conditions?"
    r"|(?:earlier |previous |initial )?setup|verification|(?:identity )?confirmation|approval)\b"
)
_VOID: Final = (
    r"\b(?:suspended|lifted|void|cancell?ed|skipped|unnecessary|removed|waived|outdated|superfluous"
    r"|no longer \w+|(?:don't|do not|doesn't|does not) (?:count|apply|bind|matter|hold)"
    r"|not (?:needed|necessary|required|binding|valid|relevant))\b"
)
_ABOUT: Final = (
    r"\b(?:for me|to me|with me|when it's me|when it is me|in my case"
    r"|for this (?:account|user|customer)|binds? you|your)\b"
)
_BOT: Final = (
    r"(?:this|the|your) (?:\w+ )?(?:bot|chatbot|system|assistant|platform|service|site|website|shop|store|program"
    r"|ai|model)\b"
)
_OTHERS: Final = (
    r"\b(?:other|another|any|every)(?: \w+)? ?(?:people|persons?|users?|customers?|clients?|guests?|members?)(?:'s|s'|')?"
    r"(?: \w+)? (?:orders?|data|address\w*|details|info\w*|records?|accounts?|notes?|messages)\b"
    r"|\binternal (?:notes?|documents?|data|info\w*)\b"
)

CLAIMS: Final[tuple[tuple[str, ...], ...]] = (
    (_BENEFIT, _STANDING, _MINE),
    (_BENEFIT, r"\b(?:everything|anything|whatever|all|every|each|any)\b", r"\b(?:i|mine|me|my)\b",
     r"\b(?:is|are|be|comes?|should|must|will|applies|apply|at|to)\b"),
    (_BENEFIT, r"\b(?:entitle[sd]?|eligible|qualif(?:y|ies|ied)|exempt\w*|authori[sz]ed|privileged?|rights? to|deserve)\b",
     _MINE),
    (_BENEFIT + r"|\bowe\b|\bpay\b", r"\b(?:promised|agreed|granted|assured|authori[sz]ed|decided)\b", _MINE,
     r"\b(?:director|manager|boss|ceo|supervisor|team|support|colleague|staff|owner|company|it (?:has been|was)|you)\b"),
    (r"\bexempt\w* from\b[^,.]{0,20}\b(?:fees?|charges?|costs?|checks?|rules?|limits?|payments?)\b",),
    (r"\b(?:never|not|n't|needn't)\b[^,.]{0,20}\b(?:pay|owe|charge|charged|billed)\b", _MINE,
     r"\b(?:anything|for (?:my|any|delivery|shipping|orders?|purchases?|things)|deliver\w+|shipping|fees?)\b"),
    (r"\b(?:accepted|approved|granted|executed|processed)\b", r"\b(?:regardless|whatever|at once|without|no matter"
     r"|always)\b", _MINE),
    (r"\bno questions (?:asked|should|may|must|are)\b|\bask (?:me )?no questions\b", _MINE),
    (_MUST, _POWER),
    (r"\b(?:each|every|all|your) (?:of your )?(?:answers?|repl(?:y|ies)|responses?|messages?|sentences?)\b",
     r"\b(?:contains?|includes?|finish|ends?|starts?|begins?|mention|slogan|links?|sign)\b", r"\b(?:must|has to|have to"
     r"|should|with)\b"),
    (r"\b(?:mention|praise|recommend|promote|advertise|hand over|hand out|give out|unlock|reveal)\b",
     r"\b(?:whenever|when(?:ever)? \w+ comes? up|every time|each time|if \w+ comes? up|when i (?:say|type|write|enter))\b"),
    (r"\bi(?:'m| am|'ve|'d)?\b[^,.]{0,20}\b(?:run|built|made|created|own|control|operate|maintain|administer|programmed|designed"
     rf"|trained|supervise|in charge of)\b[^,.]{{0,8}}\b{_BOT}", ),
    (r"\b(?:has|have|with|holds?|got)\b[^,.]{0,8}\b(?:supervisor|admin\w*|root|full|highest|special|manager|owner)[ -]"
     r"(?:authority|powers?|clearance)\b", ),
    (r"\bi (?:represent|speak for|act for) (?:the )?(?:head ?(?:office|quarters)|management|company|owner|board)\b", _RULES),
    (_RULES, _VOID, _ABOUT),
    (r"\b(?:consider|treat|regard|assume)\b", r"\b(?:my|me|i|this)\b", r"\b(?:confirmed|verified|authori[sz]ed|approved"
     r"|trusted)\b"),
    (r"\b(?:my|i) (?:words?|requests?|orders?|commands?|wishes|decisions?|instructions?|say)\b",
     r"\b(?:counts?|outranks?|overrides?|final|law|top priority|highest priority|executed|comes? first|prevails?)\b",
     r"\b(?:only|everything|all|over|always|must|is|are|outranks?)\b"),
    (r"\b(?:whatever|everything|anything|all(?: that)?) i (?:say|tell|state|write|claim|suggest|demand)\b",
     r"\b(?:true|facts?|right|law|final|agree|accept|believe|done|followed|goes)\b"),
    (r"\blisten (?:only )?to (?:me only|only me|nobody but me)\b|\blisten to nobody else\b",),
    (r"\b(?:keep|hide|conceal|hidden|secret|nobody|no one|don't tell)\b",
     r"\b(?:operators?|admins?|moderators?|developers?|other (?:users?|customers?)|this (?:arrangement|rule|instruction|deal"
     r"|order))\b"),
    (r"\b(?:speak|talk|answer|act|respond|write|behave|reply)\b[^,.]{0,6}\bas (?:if|though) you\b",),
    (r"\bdeny (?:that )?(?:you|being)\b",),
    (_OTHERS, r"\b(?:see|look|provide|give|show|tell|access|disclose|share|read|hand|send|view)\b"),
)  # fmt: skip

UNLESS: Final = _ASKS
"""What makes a clause a question, a wish of the moment or a habit of one's own."""

# Of a free note ("remember that …") it is asked besides whom and what it speaks of: a plain one is about the speaker and what
# is his. A wish may well name whom it is for, and begin as one.
OTHERS: Final = (
    r"\b(?:you|your|yours|yourself|(?:this|the|that|every|any|other|ordinary|next) (?:\w+ )?(?:customers?|users?|clients?"
    r"|guests?|persons?)"
    r"|people|everyone|everybody|anyone|anybody|nobody|customers|users|guests|assistant|chatbot|bot|headquarters|competitors?)\b"
)
RIGHTS: Final = (
    r"\b(?:money|payments?|bill(?:s|ed)?|developers?|commands?|pric\w+|costs?|cents?|(?<!-)free(?![ -](?:time|day|range|from|on))"
    r"|gifts?|discount\w*|refund\w*|vouchers?|coupons?|credit(?! card)"
    r"|paying|charg(?:e|ed|es|ing)|settled|ow(?:e|es|ed)|fees?|waive\w*|compensat\w*|limits?|infinity|unlimited|rules?"
    r"|polic(?:y|ies)"
    r"|approv\w+|verif\w+|proof|proven|valid|authori[sz]\w*|admin\w*|permissions?|rights|privileg\w*|priority|queue|unlock\w*"
    r"|master key"
    r"|overrid\w*|instructions?|prompts?|complaints?|reviews?|turned down|refus\w+|obey\w*|loyal\w*|exempt\w*"
    r"|(?<!not )allowed|checks)\b"
)
BEGINS: Final = (
    r"^(?!(?:i|i'm|i've|i'd|i'll|im|my|we|we're|we've|our|the|an?|this|that|these|those|there|it|it's|he|she|his|her|they"
    r"|their|on|in|at"
    r"|from|for|after|before|until|since|by|with|every|each|next|last|today|tomorrow|some|most|half|both|all|everything"
    r"|whatever|when(?:ever)?|if|no|nothing|\d\S*|\w+days?)\b"
    r"|\S+ (?:is|are|was|has|have|had|and|likes?|works?|lives?|needs?|can|can't|will|wants?|prefers?|isn't|doesn't|comes?"
    r"|goes|starts?)\b)"
    r"\S+ .*\b(?:i|me|my|mine|us|our|always|never|everything|anything)\b"
)
