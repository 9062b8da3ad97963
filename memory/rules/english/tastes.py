"""What somebody likes and what fits, in English."""

from __future__ import annotations

from memory.rules.english.words import AM, CLOTHES, GARMENT, OFTEN, SHOE, TASTE, TASTES, VERY
from memory.rules.rule import rule

RULES = (
    rule("like", rf"\bi no longer (?:like|love|enjoy|prefer) {TASTES}", many=True, op="retract"),
    rule(
        "like",
        rf"\bi (?:used to|never said (?:that )?i) (?:like|love|enjoy|prefer) {TASTES}",
        many=True,
        op="retract",
        bearing="loose",
    ),
    rule(
        "like",
        rf"\bi (?:don't|do not) (?:like|love|enjoy|prefer) {TASTES}(?= any ?more| any longer)",
        many=True,
        op="retract",
    ),
    rule(
        "dislike",
        rf"\bi (?:no longer|don't|do not) (?:hate|dislike) {TASTES}(?= any ?more|,|$)",
        many=True,
        op="retract",
    ),
    rule(
        "fit",
        r"\b(?:i have|i've got)(?: (?:pretty|very|rather|really|quite|extra|extremely|fairly|kind of"
        r"|a bit))* (?P<v>(?:wide|narrow|flat|broad|small|big|large|long|short|high|slim|skinny) (?:feet"
        r"|foot|arches|instep|shoulders|arms|legs|calves|hips|torso|hands|waist))\b",
    ),
    rule(
        "fit",
        r"\bmy (?P<v>(?:feet|shoulders|arms|legs|calves|hips|arches) are (?:(?:pretty|very|rather|really"
        r"|quite|extra|too) )?(?:wide|narrow|flat|broad|small|big|large|long|short|high|slim))\b",
    ),
    rule(
        "fit",
        r"\b(?:the |a |size )?(?P<v>\d{2}(?:[.,]5)? (?:was|is|felt|runs|were)(?: (?:too|a bit|very|really"
        r"|a little|way too|slightly|quite))* (?:tight|loose|small|big|large|narrow|wide|short|long))\b",
    ),
    rule("shoe_size", rf"\bmy size is (?:an? |eu )?(?P<v>{SHOE})"),
    rule(
        "shoe_size",
        r"\b(?:my )?shoe size(?: is|'s|:)? (?:an? |eu )?(?P<v>\d{1,2}(?:[.,]5)?(?: ?(?:us|uk|eu)\b)?)(?! ?\d)",
    ),
    rule(
        "shoe_size",
        rf"^(?![^.]*\b{GARMENT})(?:.{{0,200}}? )?i {OFTEN}(?:(?:wear|take)(?: an?)?|(?:am|have) an?|(?:am|have)(?= size| eu))"
        rf"(?: size| eu){{0,2}} (?P<v>{SHOE})",
    ),
    rule(
        "shoe_size",
        rf"^(?![^.]*\b{GARMENT}).{{0,200}}?\b(?:exchange|swap|send|need|want|get|like|order"
        rf"|change)\b[^,]{{0,50}}? (?:in |for |to )?(?:an? size|in an?|for an?|size|a"
        rf"|in) (?P<v>{SHOE})(?= instead| please| ?(?:$|,))",
    ),
    rule(
        "clothes_size",
        rf"\bi {OFTEN}(?:wear|take|am|need)(?: usually)?(?: an?)?(?: size)? (?P<v>{CLOTHES})(?= ?(?:$|,)"
        rf"| (?:in|for|but|and|usually|normally|please|with|size))",
    ),
    rule(
        "clothes_size",
        rf"\bmy (?:clothes |clothing |shirt |t-shirt |dress |usual |normal "
        rf"|jacket )?size is (?:an? )?(?P<v>{CLOTHES})",
    ),
    rule("clothes_size", rf"\b(?:exchange|swap|send|need|want|get|like|order)\b[^,]{{0,50}} size (?P<v>{CLOTHES})"),
    rule(
        "dislike",
        rf"\bi {OFTEN}(?:don't|do not|dont|never)(?: (?:really|actually|particularly|much))? (?:like|enjoy"
        rf"|care for) {TASTES}",
        many=True,
    ),
    rule(
        "dislike",
        rf"\bi {OFTEN}(?:hate|dislike|detest|loathe|despise|can't stand|cannot stand"
        rf"|can't bear) (?:(?:getting|receiving|having) )?(?:any )?{TASTES}",
        many=True,
    ),
    rule("dislike", rf"(?:^|, |\bhonestly )anything but {TASTES}", many=True),
    rule("dislike", rf"\bwe (?:don't|do not) (?:do|like) {TASTES}", many=True),
    rule("like", rf"{AM}{VERY} more of an? (?P<v>{TASTE}) person\b"),
    rule("like", r"(?:^|, )(?:an? )?(?P<v>(?:aisle|window) seats?)(?= (?:please|if possible|whenever possible))"),
    rule("dislike", rf"(?:{AM} |^|, )not (?:really )?a (?:big |huge )?fan of {TASTES}", many=True),
    rule(
        "dislike",
        rf"(?:^|, |\b(?:please|and|so|but) )(?:don't|do not|never|stop) (?:recommend|suggest|show"
        rf"|offer)(?:ing)?(?: me| us)?(?: anything| any| something)?(?: with| in)? {TASTES}",
        many=True,
    ),
    rule(
        "like",
        rf"(?<!what )\bi {OFTEN}(?:like|love|prefer|enjoy|adore) (?!(?:all )?(?:neither|the|their|his|her|your|its|these"
        rf"|how)\b)(?:to (?!be\b|have\b|see\b|think\b|say\b|complain\b|return\b|exchange\b|know\b|just\b"
        rf"|get\b|take\b|go\b|hear\b|try\b|do\b|make\b|start\b))?{TASTES}",
        many=True,
    ),
    rule("like", rf"{AM}{VERY} (?:(?:a )?(?:big |huge |great )?fan of|fond of|keen on|into) {TASTES}", many=True),
    rule("like", rf"\bmy (?:absolute )?favou?rite (?:[\w-]+ ){{0,2}}(?:is|are) {TASTES}", many=True),
    rule(
        "like",
        rf"^(?P<v>(?!the |that |this |it |which |what )(?:{TASTE})) (?:is|are) my (?:absolute |all-time )?favou?rites?\b",
    ),
    rule(
        "like",
        rf"{AM}{VERY} an? (?:big |huge |real )?(?P<v>(?:cat|dog|coffee|tea|book|music|film|wine|beach|morning|night|city"
        r"|outdoor) (?:lover|person))\b",
    ),
    rule("like", rf"\bi only (?:wear|buy|use|drink) {TASTES}", many=True),
)
