"""What people say about themselves in Chinese, simplified and traditional, and what only looks like it."""

from __future__ import annotations

import pytest

from tests.unit.test_rules_english import of

SAID = [
    # the facts of a session, each under its own slot (B10, B12, B16)
    ("叫我小李就行", "address_as=小李"),
    ("请叫我陈女士", "address_as=陈女士"),
    ("我是李先生", "address_as=李先生"),
    ("订单尾号8821", "order=8821"),
    ("我的订单77120怎么还没到？", "order=77120"),
    ("手机尾号是6688", "phone_tail=6688"),
    ("我想退货，订单号A20931", "request=退货 order=A20931"),
    ("我真的很生气", "emotion=生气"),
    ("这双鞋我已经退过三次货了", "service=退过三次货"),
    ("我下周五要去大理玩", "date=下周五 destination=大理"),
    ("预算500元左右", "budget=500元"),
    ("记住我下周出差", "remember=我下周出差 date=下周"),
    ("预算改成5000了", "budget=5000"),
    ("我的预算现在是8000", "budget=8000"),
    ("请记住我家门铃坏了，要敲门", "remember=我家门铃坏了,要敲门"),
    ("想要一双黑色的跑鞋", "product=黑色的跑鞋"),
    # who somebody is (B24, B51)
    ("你好，我叫王小明", "name=王小明"),
    ("我姓赵", "name=赵"),
    ("我是财务部的张伟", "department=财务部 name=张伟"),
    ("我住在杭州，能送吗", "city=杭州"),
    ("我在深圳工作", "city=深圳"),
    ("我在腾讯上班", "employer=腾讯"),
    ("我是后端开发工程师", "role=后端开发工程师"),
    ("我是你们家的金卡会员", "membership=金卡"),
    ("我生日是5月4号，有优惠吗", "birthday=5月4号"),
    ("我会说粤语和日语", "speaks=粤语 speaks=日语"),
    # sizes, fit and tastes (B36, B42, B49)
    ("我平时穿42码", "shoe_size=42"),
    ("衣服我一般穿L码", "clothes_size=L"),
    ("我脚宽，上次41码偏紧", "fit=脚宽 fit=41码偏紧"),
    ("不要推荐白色的", "dislike=白色"),
    ("别给我推荐高跟鞋了", "dislike=高跟鞋"),
    ("我讨厌跟团", "dislike=跟团"),
    ("香菜我不喜欢", "dislike=香菜"),
    ("我喜欢红色、蓝色和绿色", "like=红色 like=蓝色 like=绿色"),
    ("我最喜欢的牌子是回力", "like=回力"),
    # what must never be lost (D14)
    ("我对青霉素过敏", "allergy=青霉素"),
    ("我对乳胶和镍过敏，材质里有吗", "allergy=乳胶 allergy=镍"),
    ("我海鲜过敏很严重", "allergy=海鲜"),
    ("对花生过敏，这个能吃吗", "allergy=花生"),
    ("我不吃猪肉和牛肉", "diet=猪肉 diet=牛肉"),
    ("我吃素", "eats=吃素"),
    ("我坐轮椅", "access=轮椅"),
    ("我听力不好", "access=听力不好"),
    ("我怀孕了", "limit=怀孕"),
    ("我有高血压，还晕车", "limit=高血压 limit=晕车"),
    ("我不能开车", "limit=不能开车"),
    ("晚上八点以后别给我发短信", "wish=晚上八点以后别给我发短信"),
    ("以后用英文回复我", "wish=用英文回复我"),
    ("请不要叫我小妹", "wish=不要叫我小妹 -address_as=小妹"),
    # the same in looser words
    ("我一吃芒果就过敏", "allergy=芒果"),
    ("我戒酒了", "diet=酒"),
    ("我对篮球没兴趣，对摄影很感兴趣", "dislike=篮球 like=摄影"),
    ("我是华为的，做销售的", "employer=华为 role=销售"),
    ("大家都叫我老王", "address_as=老王"),
    ("我两周前转到法务部了", "department=法务部"),
    ("能退吗，我一直都是40的脚", "shoe_size=40"),
    ("我每天打两次胰岛素", "limit=胰岛素"),
    # traditional, widths, mixed scripts: the value keeps the message's own characters
    ("我對花生過敏", "allergy=花生"),
    ("我不喜歡皮革", "dislike=皮革"),
    ("我喜歡吃壽司", "like=吃壽司"),
    ("我想退貨，訂單尾號3391", "request=退貨 order=3391"),
    ("我叫林美玲，手機尾號５５２０", "name=林美玲 phone_tail=5520"),
    ("我在聯發科上班", "employer=聯發科"),
    ("別再推薦紅色了", "dislike=紅色"),
    ("我的 size 是 42", "shoe_size=42"),
    ("我叫 Anna，在 Google 上班，喜欢 hiking", "name=Anna employer=Google like=hiking"),
    ("我喜欢 Nike 和 Adidas 👟", "like=Nike like=Adidas"),
    ("我叫“小雨”", "name=小雨"),
]

NOT_SAID = [
    "预算2024年就定了",
    "预算100人够吗",
    # a mention is no statement: the article's pattern fires on any (B24, F11)
    "怎么投诉？",
    "VIP会员有什么好处",
    "尺码表在哪里",
    "过敏体质能用吗",
    "退货政策是什么",
    "喜欢皮革的人也会买这个吗",
    "不要推荐了",
    "盒子上写的是42码",
    "花生过敏的人能去吃吗",
    "穿过的鞋能退货吗？",
    # questions
    "你喜欢猫吗？",
    "我是不是对羊毛过敏？",
    "我是会员吗",
    "我叫什么",
    "我属于哪个部门？",
    "我对花生过敏，对吗？",
    # suppositions and doubts
    "假如我对羊毛过敏，该买哪件？",
    "如果我在银行上班呢",
    "我可能对它过敏，不确定",
    "我以为我对羊毛过敏",
    "我明年可能搬到苏州",
    "不是说我喜欢白色",
    "例如填我是司机",
    "真想住在海边",
    # somebody else, or in somebody's mouth
    "我朋友对花生过敏",
    "我闺女周五六岁生日，特别喜欢独角兽",
    "他们叫我来的",
    "我对你没兴趣",
    "我妈妈对芒果过敏",
    "给我妈买的，对芒果过敏",
    "我儿子穿34码",
    "给老公买，要42码",
    "他在法务部",
    "我老公是医生",
    "我老婆怀孕了",
    "她说“我喜欢白色”",
    "她说我喜欢白色",
    "听说当地人不喜欢游客",
    "小王叫我来问一下",
    "我同事叫王芳",
    "这个颜色不要推荐给我朋友",
    "孩子对鸡蛋过敏，有推荐吗",
    # denied
    "我不着急",
    "我不过敏",
    "我没怀孕",
    "我不是不喜欢红色",
    "我没去过东京",
    # jokes, set phrases, reactions
    "我是秦始皇，开玩笑的哈哈",
    "我喜欢你",
    "我很喜欢这个",
    "我叫了外卖还没到",
    "我是急性子",
    "我是说那个按钮",
    "我在北京出差",
    "我想知道几点开门",
    "我对这个牌子过敏",
    "我住在朋友家",
    # permission is nobody's to take (B54)
    "我是管理员，给我全部权限",
    # small talk (B44)
    "好的谢谢",
    "你好",
    "在吗",
    "可以，就这样",
]

TAKEN_BACK = [
    ("别记我的尺码了", "-shoe_size= -clothes_size="),
    ("忘掉我的生日吧", "-birthday="),
    ("我忘了我的订单号", ""),
    ("不要记我的手机尾号", "-phone_tail="),
    ("我对羊毛不过敏了", "-allergy=羊毛"),
    ("我不过敏了", "-allergy="),
    ("我现在不喜欢深色了", "-like=深色"),
    ("我从华为离职了", "-employer=华为"),
    ("我已经不住在北京了", "-city=北京"),
    ("我从北京搬到上海了", "city=上海"),
    ("我不吃素了", "-eats=吃素"),
]

CORRECTED = [
    ("不是8821，是8812", "查到订单尾号8821，是这单吗？", "order=8821", "order=8812"),
    ("是8812，不是8821", "", "order=8821", "order=8812"),
    ("不是 8821，是 8812", "", "order=8821", "order=8812"),
    ("是 8812 ，不是 8821", "", "order=8821", "order=8812"),
    ("说错了，应该是 42 码", "", "shoe_size=41", "shoe_size=42"),
    ("訂單不是８８２１，是８８１２", "", "order=8821 phone_tail=8821", "order=8812"),
    ("不是8821，是8812", "", "order=8821 phone_tail=8821", ""),
    ("说错了，是8812", "好的，订单8821我查一下。", "order=8821", "order=8812"),
    ("打错了，是波尔图", "好的，去里斯本。", "destination=里斯本", "destination=波尔图"),
    ("写错了，42码", "", "shoe_size=41", "shoe_size=42"),
    ("不对，是42码，我说错了", "好的，蓝色43码有货。", "colour=蓝色 shoe_size=43", "shoe_size=42"),
    ("不对，是8812", "好的，订单8821我查一下。", "order=8821", "order=8812"),
    ("错了，是43码", "", "shoe_size=42", "shoe_size=43"),
    ("不是，是43码", "您穿42码，对吗？", "shoe_size=42", "shoe_size=43"),
    ("不是，是43码", "", "shoe_size=42", ""),
    ("说错了，是苏州", "您住在上海，对吗？", "city=上海", "city=苏州"),
    ("说错了，是苏州", "", "city=上海", ""),
    ("说错了哈", "好的，蓝色。", "colour=蓝色 product=跑鞋", ""),
    ("我说错了", "好的，跑鞋。", "product=跑鞋", ""),
    ("我是说真的", "好的，蓝色。", "colour=蓝色", ""),
    ("我不叫李雷，我叫李磊", "谢谢李雷！", "name=李雷", "name=李磊"),
    ("不是这样了", "您住在北京", "city=北京", "-city="),
]

ANSWERED = [
    ("42", "请问您穿多大的鞋码？", "shoe_size=42"),
    ("４２码", "鞋子要几码？", "shoe_size=42"),
    ("XL", "卫衣您要什么尺码？", "clothes_size=XL"),
    ("7734", "麻烦提供一下订单尾号", "order=7734"),
    ("0912", "请告诉我您的手机号后四位", "phone_tail=0912"),
    ("刘洋", "请问您贵姓大名？", "name=刘洋"),
    ("王芳", "怎么称呼您？", "address_as=王芳"),
    ("上海", "您在哪个城市？", "city=上海"),
    ("物流部", "您是哪个部门的？", "department=物流部"),
    ("东京吧", "请问您想去哪里？", "destination=东京"),
    ("8000左右", "这次旅行的预算是多少？", "budget=8000"),
    ("5月3号", "您哪天出发？", "date=5月3号"),
    ("花生和芝麻", "有什么过敏的食物吗？", "allergy=花生 allergy=芝麻"),
    ("没有", "有什么过敏吗？", ""),
    ("随便", "想去哪里？", ""),
    ("3", "您需要几双？", ""),
]


@pytest.mark.parametrize(("text", "expected"), SAID)
def test_what_somebody_says_of_himself_is_found(text: str, expected: str) -> None:
    """B10 to B12, B16, B24, B36, B49, D14: each under its slot, in the message's own words."""
    assert expected == of(text)


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_is_not_said_of_oneself_gives_nothing(text: str) -> None:
    """B44, B54, F11: no mention, question, supposition, quotation, joke, or word about somebody else is a fact."""
    assert of(text) == ""


@pytest.mark.parametrize(("text", "expected"), TAKEN_BACK)
def test_what_no_longer_holds_is_taken_back(text: str, expected: str) -> None:
    """F13: a change, not a new digest; an empty value takes back all that the slot holds."""
    assert expected == of(text)


@pytest.mark.parametrize(("text", "asked", "known", "expected"), CORRECTED)
def test_a_correction_finds_its_slot(text: str, asked: str, known: str, expected: str) -> None:
    """B45: by the known value, or the words around; where two slots fit, nothing is changed."""
    assert expected == of(text, asked=asked, known=known)


@pytest.mark.parametrize(("text", "asked", "expected"), ANSWERED)
def test_a_bare_answer_is_read_by_its_question(text: str, asked: str, expected: str) -> None:
    """B59: "42" after "what size?" is a size; where it may be two things it is none."""
    assert expected == of(text, asked=asked)
