"""Who somebody is, in Chinese: name, place, work, membership, languages."""

from __future__ import annotations

from memory.rules.chinese.words import (
    BIRTH,
    CITY,
    DEPARTMENT,
    END,
    GIVEN,
    HAN,
    LANGUAGE,
    NAME,
    NO_ORG,
    NOT_YET,
    ORG,
    PLACE,
    POLITE,
    ROLE,
    SURNAMES,
    TITLE,
    led,
)
from memory.rules.rule import rule

RULES = (
    led("city", rf"(?:已经|早就|现在|早)?不(?:在)?住(?:在)?(?P<v>{CITY}|{PLACE}(?=了|$|[,。]))", op="retract"),
    led("city", rf"(?:已经|现在)?不在(?P<v>{CITY})(?:住|生活)?了", op="retract"),
    led("city", rf"(?:从|离开)(?P<v>{CITY})(?:搬走|搬出来)?了(?=$|[,。])", op="retract"),
    rule(
        "city",
        rf"我(?:以前|曾经)(?!就|也)(?:是)?住(?:在)?(?P<v>{CITY}|{PLACE}(?=$|[,。\s]))",
        op="retract",
        bearing="loose",
    ),
    rule(
        "employer",
        rf"我(?:以前|曾经)(?!就|也)(?:是)?在(?P<v>{ORG})(?=$|[,。]|上班|工作|干)",
        op="retract",
        bearing="loose",
    ),
    led("employer", rf"(?:已经)?从(?P<v>{ORG})(?:离职|辞职|跳槽)", op="retract"),
    led("employer", rf"(?:已经|现在)?不在(?P<v>{ORG})(?:上班|工作|干)?了", op="retract"),
    rule(
        "address_as",
        rf"{POLITE}(?:直接|都)?(?:叫|称呼|喊)我(?:为|做)?(?P<v>(?!来|去|等|干|做|别|不|回|怎么|什么|一声|起"
        rf"|问|先|到|下)[^,。\s]{{1,8}}?)(?:就行|就好|就可以|即可|吧|好了|都行)?(?=$|[,。])",
    ),
    rule(
        "address_as",
        r"(?:大家|朋友|同事|别人|他们)们?(?:平时|一般)?都?(?:叫|喊)我(?P<v>(?!来|去|干|做|别|不|怎么|什么)[^,。\s]{1,6})(?=$|[,。])",
    ),
    led("address_as", rf"是(?P<v>[{SURNAMES}]{TITLE}){END}"),
    led("name", rf"改名(?:叫|为|成)了?(?P<v>{NAME})(?<!了)了?{END}"),
    led("name", rf"(?:叫|名叫|的?名字(?:是|叫)|的?姓名(?:是|:)|本名(?:是|叫)?)(?P<v>{NAME})(?<!了){END}"),
    led("name", rf"姓(?P<v>{HAN}{{1,2}})(?<!名)(?<!什么)(?<!啥){END}"),
    led(
        "name",
        rf"(?:(?<=我)|(?<=我就)|(?<=我才)|(?<=本人))是(?:[^,。是]{{1,8}}的)?(?P<v>[{SURNAMES}]{GIVEN})(?=$|[,。])",
    ),
    led("birthday", rf"的?(?:出生日期|生日)(?:是|在|:)?(?P<v>{BIRTH})"),
    led("birthday", rf"(?:是|于|在)?(?P<v>{BIRTH})(?:出生|生的|生日)"),
    led("city", rf"(?:住在|定居在?|家在|住|常住|坐标:?)(?P<v>{CITY}|{PLACE}(?=$|[,。了\s]))"),
    led("city", rf"{NOT_YET}(?:搬|搬家)(?:到|去|来)了?(?P<v>{CITY}|{PLACE}(?=$|[,。了\s]))"),
    led("city", rf"(?:在|人在)(?P<v>{CITY})(?:工作|上班|生活|读书|上学|定居|做(?!客|活动))"),
    led("employer", rf"在(?P<v>{NO_ORG}{ORG})(?:上班|工作|任职|就职|当|做)(?!过)"),
    led("employer", rf"(?:任职|就职|供职)于(?P<v>{NO_ORG}[^,。的\s]{{2,14}}){END}"),
    led("employer", rf"{NOT_YET}(?:跳槽到|入职|加入)了?(?P<v>{NO_ORG}{ORG})(?=$|[,。了])"),
    led("employer", rf"是(?P<v>{NO_ORG}{ORG})的(?=$|[,。])"),
    led("employer", rf"是(?P<v>{NO_ORG}{ORG})的(?:员工|职员)"),
    led(
        "role",
        rf"(?:的?(?:职位|职业|岗位|工作)是|是|做|当|担任|从事)(?:[^,。是]{{1,8}}的)?(?:一?(?:名|个"
        rf"|位))?(?:新来的|在读)?(?P<v>[^,。是的做当名个位不\s]{{0,7}}?{ROLE})(?=$|[,。了\s]|的(?=$|,))",
    ),
    led(
        "department",
        rf"(?:的?(?:部门|科室)(?:是|:)|^部门(?:是|:)|在|是|调到|转到|属于|来自|去了)了?(?:公司"
        rf"|我们)?(?:的)?(?P<v>{DEPARTMENT})(?=$|[,。的了\s]|工作|上班)",
    ),
    led(
        "membership",
        r"(?:是|当了|做了)(?:你们|你家|你们家|贵店|咱们|咱家|店里|尊贵的)*(?:的|好?几年|\d+年|多年)?(?P<v>S?VIP|88VIP|金卡|银卡|白金卡|白金"
        r"|黑金卡?|钻石|铂金|PLUS|超级|高级|黄金|至尊)(?:级|的)?(?:会员|用户|客户|卡|$|(?=[,。]))",
    ),
    led("membership", r"是(?:你们|你家|你们家|贵店|咱们|咱家|店里)*的?老?(?P<v>会员)(?=$|[,。了])"),
    led("speaks", rf"(?:会|能|只会|可以)(?:说|讲)?(?P<v>{LANGUAGE}(?:(?:、|和|跟|与){LANGUAGE}){{0,5}})", many=True),
    led("speaks", rf"的?母语(?:是|为)(?P<v>{LANGUAGE})"),
)
