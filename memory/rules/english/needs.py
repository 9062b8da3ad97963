"""What must never be lost, in English: allergies, diets, access, limits, and how somebody wishes to be treated."""

from __future__ import annotations

from memory.rules.english.words import AM, FOODS, LANGUAGE, NAME, NOT_ONLY_THEN, THING, THINGS, VERY
from memory.rules.rule import rule

RULES = (
    rule("allergy", rf"{AM} (?:not|no longer){VERY} allergic to {THINGS}", many=True, op="retract"),
    rule("allergy", rf"\bi used to be{VERY} allergic to {THINGS}", many=True, op="retract", bearing="loose"),
    rule("diet", rf"\bi (?:can|may) (?:now )?(?:eat|drink) {THINGS}(?= again| now)", many=True, op="retract"),
    rule("diet", rf"\bi (?:eat|drink) {THINGS}(?= again| now)", many=True, op="retract"),
    rule("eats", r"\bi used to be (?:an? )?(?P<v>vegan|vegetarian|pescatarian)\b", op="retract", bearing="loose"),
    rule(
        "address_as",
        rf"(?:^|, |\b(?:please|and|so|but) )(?:don't|do not|never|stop) call(?:ing)? me (?P<v>(?!on\b|at\b|again|back"
        rf"|today|tomorrow|now|later|any|after|before|if|when|stupid){NAME})",
        op="retract",
    ),
    rule("diet", rf"{AM} (?:not|no longer){VERY} (?P<v>lactose|gluten|fructose)[- ]intolerant\b", op="retract"),
    rule("limit", rf"{AM} no longer (?P<v>pregnant|diabetic|breastfeeding|under \d\d)\b", op="retract"),
    rule(
        "eats", rf"{AM} (?:no longer|not) (?:a )?(?P<v>vegan|vegetarian|pescatarian)\b(?= any ?more|,|$)", op="retract"
    ),
    rule("allergy", rf"{AM}{VERY} allergic to {THINGS}", many=True),
    rule("allergy", rf"{AM} [\w ]{{1,40}} (?:and|but) (?:also )?allergic to {THINGS}", many=True),
    rule(
        "allergy",
        r"\bi(?: have|'ve got|'ve) (?:an? )?(?:(?:severe|bad|mild|serious|strong|known) )?(?P<v>(?!an?\b"
        r"|no\b|some\b|any\b|food\b|many\b|several\b|severe\b|multiple\b)[a-z-]+(?: [a-z-]+)?) allerg(?:y"
        r"|ies)\b",
    ),
    rule(
        "allergy",
        rf"\bi (?:react (?:badly|strongly|allergically)|have (?:an|a \w+) (?:allergy|allergic reaction)) to {THINGS}",
        many=True,
    ),
    rule("allergy", r"\b(?:of|to|about|have) my (?P<v>(?!food\b|pollen count)[a-z]+) allergy\b"),
    rule("allergy", rf"\b(?P<v>{THING}) (?:always )?gives? me (?:hives|a rash|an allergic reaction)\b"),
    rule("allergy", rf"(?:\bmy |^)allerg(?:y|ies)(?: are| is|:) {THINGS}", many=True),
    rule(
        "diet", rf"{AM}(?: (?!not\b|no\b|never\b)\w+){{0,3}} (?P<v>lactose|gluten|fructose|histamine)[- ]intolerant\b"
    ),
    rule(
        "diet",
        rf"\bi (?:(?:really|also|just) )?(?:don't|do not|can't|cannot|never|must not|mustn't) (?:eat"
        rf"|drink) (?:any )?(?>{THINGS}){NOT_ONLY_THEN}",
        many=True,
    ),
    rule(
        "eats",
        rf"{AM}(?: now| also| strictly)* (?:an? )?(?:strict )?(?P<v>vegan|vegetarian"
        rf"|pescatarian)\b(?! (?:restaurant|shop))",
    ),
    rule(
        "eats",
        r"\bi (?:only |strictly )?(?:eat|keep|follow|need)(?: only| strictly)? (?:a )?(?P<v>kosher|halal"
        r"|vegan|vegetarian|gluten-free|keto|low-carb)\b",
    ),
    rule(
        "eats",
        r"(?:^|, )(?:only )?(?P<v>kosher|halal|vegan|vegetarian|gluten-free) (?:food|meals?)(?: only| please"
        r"| for me)",
    ),
    rule("diet", rf"\bi (?:have to |must |need to )?(?:avoid|stay away from|stay off) (?:eating |drinking )?{FOODS}"),
    rule("eats", r"\b(?:i'm|i am|i have to stay) on an? (?P<v>[a-z]+(?:-[a-z]+)?) diet\b"),
    rule(
        "access",
        rf"(?:\bi (?:use|need|sit in|rely on)|{AM} in) (?:an? |my )?(?P<v>(?:electric |manual )?wheelchair"
        rf"|walking stick|cane|walker|guide dog|hearing aids?|screen reader)\b(?! (?:ramp|access))",
    ),
    rule(
        "access",
        r"\bi (?:need|require|depend on) (?P<v>step-free access|wheelchair access|barrier-free access|a ramp"
        r"|sign language|an interpreter|large print|subtitles|captions|a lift)\b(?! (?:to|from|home|for (?:this|that|the|my))\b)",
    ),
    rule(
        "access",
        rf"{AM}{VERY} (?P<v>(?:deaf|blind)(?: in (?:one|my (?:left|right)) (?:ear|eye))?|hard of hearing"
        rf"|colou?r[- ]?blind|visually impaired|partially sighted"
        rf"|hearing impaired|dyslexic|left-handed|autistic|paraplegic)\b(?! to\b)",
    ),
    rule(
        "limit",
        rf"{AM}{VERY} (?:an? )?(?P<v>pregnant|diabetic|epileptic|asthmatic|under \d\d|underage|breastfeeding"
        rf"|claustrophobic|c(?:o)?eliac|(?:scared|afraid|terrified) of (?:heights|flying|the dark|needles))\b",
    ),
    rule(
        "limit",
        r"\bi(?:'ve| have|'ve got| have got| suffer from| get)(?: (?:an?|severe|bad"
        r"|terrible))* (?P<v>epilepsy|diabetes|asthma|high blood pressure|low blood pressure|pacemaker"
        r"|heart condition|c(?:o)?eliac disease|vertigo|migraines?|motion sickness|seasickness"
        r"|claustrophobia|arthritis)\b",
    ),
    rule("limit", r"\bi (?:easily |always |often )?get (?P<v>seasick|carsick|airsick|travel sick)\b"),
    rule("limit", r"\b(?:of|because of|due to|with|about) my (?P<v>pregnancy|epilepsy|diabetes|asthma)\b(?! test)"),
    rule(
        "limit",
        r"(?:\bi (?:take|use|am on)|\bi'm (?:on|taking)) (?P<v>blood thinners|insulin|antidepressants"
        r"|beta blockers)\b",
    ),
    rule(
        "limit",
        r"\bi (?P<v>(?:can't|cannot|can not|am not allowed to|may not|must not|mustn't) (?:fly|drive|swim"
        r"|dive|drink alcohol|lift(?: heavy)?(?: [a-z]+)?|climb stairs|use (?:the )?stairs|stand for long"
        r"|work (?:at )?nights?))(?= ?(?:$|,)| (?:and|or|so|but|any ?more|at all|due to|alone|please|since)\b)",
    ),
    rule(
        "wish",
        r"(?:^|, |\b(?:please|and|so) )(?P<v>(?:(?:only )?(?:contact|reach|message) me (?:only )?(?:by|via|through)"
        r" (?:e-?mail|phone|text|chat|letter)(?: only)?|explain (?:it|things|everything) (?:simply|step by step|slowly)"
        r"|be brief))(?= ?(?:$|,)| (?:please|and))",
    ),
    rule(
        "wish",
        r"\bi(?:'d| would) (?P<v>rather not (?:get|receive|have|be) [a-z]+(?: [a-z]+)?)(?= ?(?:$|,)"
        r"| (?:and|but|please)\b)",
    ),
    rule(
        "wish",
        r"(?:^|, |; |\b(?:please|and|so|but) )(?P<v>(?:don't|do not|never) (?:call|phone|text|ring|message"
        r"|contact|e-?mail|wake|ping) me(?: (?:after|before|on|at|in|between|by|during"
        r"|while)(?: [\w:]+){1,3})?)(?= ?(?:$|,)| (?:please|and|just))",
    ),
    rule(
        "wish",
        r"(?:^|, |\b(?:please|and|so|but) )(?P<v>(?:don't|do not|never|stop) call(?:ing)? me (?!on\b|at\b|again|back"
        r"|today|tomorrow|now|later|any|after|before|if|when|stupid)(?:(?:mr|mrs|ms|dr|miss)\.? )?[\w'-]+)"
        r"(?= ?(?:$|,)| (?:please|and))",
    ),
    rule("wish", rf"(?:^|, |\b(?:please|and|so) )(?P<v>speak {LANGUAGE}(?: (?:with|to) me)?)(?= ?(?:$|,))"),
    rule(
        "wish",
        rf"(?:^|, |\b(?:please|and|so) )(?P<v>(?:always )?(?:answer|reply|write|respond|speak"
        rf"|talk)(?: (?:to )?me)? (?:only )?in {LANGUAGE})\b(?! (?:this time|for now|here|today|now|once)\b)",
    ),
    rule(
        "wish",
        r"(?:^|, |\b(?:please|and|so) )(?P<v>keep (?:your |the )?(?:answers|replies|messages|responses"
        r"|it) (?:short|brief|simple|concise))\b(?! (?:this time|for now|here|today|now|once)\b)",
    ),
    rule(
        "wish",
        r"(?:^|, |\b(?:please|and|so) )(?P<v>(?:use my (?:first|last|full) name(?: only)?"
        r"|address me (?:formally|informally|by my \w+ name)))\b",
    ),
)
