"""What must not be remembered is found however it is written, and numbers that tell nothing about a person pass (B48)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bar_words import RULES
from memory.sensitive import redacted, sensitive

ENGLISH_REFUSED = {
    "sensitive_phone": [
        "+8613812345678", "+44 20 7946 0958", "+44 (0)20 7946 0958", "0044 20 7946 0958", "(415) 555-2671",
        "415-555-2671", "415.555.2671", "1-415-555-2671", "+1 415 555 2671", "call me at 4155552671",
        "my phone is 91234567", "my cell: 415 5552671", "Tel. 020 7946 0958", "090-1234-5678", "06 12 34 56 78",
        "text me on 07700 900123", "13812345678", "1 3 8 1 2 3 4 5 6 7 8", "138.1234.5678", "86-138-1234-5678",
        "born 1990-05-03, 13812345678", "1\u200b38\u200b12345678", "1\u202e3812345678", "whatsapp +49 30 901820",
    ],
    "sensitive_id_card": [
        "536-90-4399", "536 90 4399", "ssn 536904399", "A123456(3)", "A123456789", "S1234567D",
        "passport number: EA1234567", "L898902C36UTO7408122F1204159ZE184226B<<<<<10", "my id card is 11010519491231002X",
        "110105 19491231 002x", "123.456.789-09", "AB 12 34 56 C", "12345678Z", "X1234567L", "RSSMRA85T10A562S",
        "driver's licence no. 123456789", "national insurance number QQ123456C",
    ],
    "sensitive_bank_card": [
        "4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111", "3782 822463 10005", "6222 0212 3456 7890 128",
        "credit card 1234567812345678", "5555\u00a05555\u00a05555\u00a04444", "3056 930902 5904",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    ],
    "sensitive_bank_account": [
        "GB82 WEST 1234 5698 7654 32", "DE89370400440532013000", "my iban is fr14 2004 1010 0505 0001 3m02 606",
    ],
    "sensitive_email": [
        "a@b.com", "a.b+c@mail.example.co.uk", "bob (at) example (dot) com", "bob at example dot com",
        "write to ｂｏｂ＠example.com", "bob[at]example.org",
    ],
    "sensitive_secret": [
        "sk-" "abc123def456ghi789jkl", "gh" "p_abcdefghijklmnopqrstuvwxyz0123456789", "xox" "b-123456789012-abcdefghijkl",
        "AKIA" "IOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/" "bPxRfiCYEXAMPLEKEY", "-----BEGIN RSA PRIVATE " "KEY-----",
        "eyJ" "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "my password is hunter2", "My Password: Tr0ub4dor&3", "p@ssword is abc", "the pin is 1234", "pin: 4321",
        "api key = 9f8e7d6c5b4a", "OTP 482913", "verification code is 482913", "my passcode is opensesame",
        "the password for the wifi is sunshine", "5f4dcc3b5aa765d61d8327deb882cf99", "https://bob:secret@example.com/x",
        "Authorization: Bearer abcdefghijklmnop1234", "123456789:" "AAabcdefghijklmnopqrstuvwxyz0123456", "cvv 123",
        "https://api.example.com/?key=a8F3kQ9zL2mX7vB4nT6y",
    ],
}  # fmt: skip
CHINESE_REFUSED = {
    "sensitive_phone": [
        "我的手机是13812345678", "手机号码是：138 1234 5678", "我的手机是１３８ 1234 5678", "一三八一二三四五六七八",
        "幺三八一二三四五六七八", "壹叁捌壹贰叁肆伍陆柒捌", "一三八 一二三四 五六七八", "13８12345６78",
        "1️⃣3️⃣8️⃣1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣8️⃣", "①③⑧①②③④⑤⑥⑦⑧", "١٣٨١٢٣٤٥٦٧٨", "电话 87654321",
        "打给我 010-12345678", "座机：021 6123 4567", "微信 13812345678", "微信号 13912345678", "联系方式：15912345678",
        "收件人张三，18612345678，上海", "加我微信13812345678", "+86 138-1234-5678", "0086 138 1234 5678",
        "138-1234-5678", "138－1234－5678", "订单13812345678", "电话：4008208820", "香港电话 91234567",
        "台湾手机 0912345678",
    ],
    "sensitive_id_card": [
        "身份证11010519491231002X", "１１０１０５１９４９１２３１００２Ｘ", "一一〇一〇五一九四九一二三一〇〇二X",
        "身份证号 110105194912310021", "身份证 110105491231002", "我的证件号码是：110105 19491231 002X",
        "护照号 E12345678", "护照：EA1234567", "港澳通行证 C12345678", "香港身份证 A123456(3)", "台湾身份证 A123456789",
        "驾驶证号 110105194912310021", "社保号 110105194912310021", "1101051949​1231002X", "110105-19491231-002X",
        "身份证号码是 11010519491231002x 请记住",
    ],
    "sensitive_bank_card": [
        "卡号 6222021234567890128", "银行卡号 6222021234567890123", "信用卡 4111 1111 1111 1111",
        "我的卡是６２２２０２１２３４５６７８９０１２８", "六二二二〇二一二三四五六七八九〇一二八",
        "储蓄卡：6222 0212 3456 7890 128", "银行账号 1234567890123",
    ],
    "sensitive_email": [
        "邮箱 a@b.com", "我的邮箱是zhang.san＠example.com", "发到 li@例子.com",
    ],
    "sensitive_secret": [
        "密码是abc123", "密码：hunter2", "我的密码是 123456", "支付密码 888888", "验证码 482913", "密码是一二三四五六",
        "银行卡密码是我的生日", "登录密码改成 Abc@123", "口令：open1234", "密钥是9f8e7d6c5b4a", "取款密码设为 654321",
        "安全码 123", "动态码482913", "我的WiFi密码是sunshine88", "密码就是qwerty", "授权码：abcd1234efgh",
        "路由器密码换成 sunny2024 了，别再输错",
    ],
}  # fmt: skip
ENGLISH_KEPT = [
    "order 20240518123456", "order number 2024051812345678", "order 112-1234567-1234567", "SF1234567890123",
    "1Z999AA10123456784", "tracking 9400 1000 0000 0000 0000 00", "2026-11-30", "30.11.2026", "2026/11/30 15:30",
    "between 2026-11-30 and 2026-12-05", "¥1,299.00", "1234567 yuan", "$12,345,678.90", "ISBN 978-3-16-148410-0",
    "9783161484100", "version 3.11.2", "10.0.19045.3803", "192.168.100.200", "172.168.100.20", "TICKET-2024-00123",
    "INC0012345678", "JIRA PROJ-12345", "phone ends in 8821", "card ending 1111", "my password is wrong",
    "my password is not working", "I forgot my password", "password reset", "the pin is on the map",
    "my pin board is blue", "API key rotation is due", "token expired", "550e8400-e29b-41d4-a716-446655440000",
    "https://shop.example/dp/B08N5WRWNW/ref=sr_1_1", "https://docs.example.com/en/latest/how-to-install-version-3.html",
    "MyProductV2LongNameForTheClass", "abcdefghijklmnopqrstuvwxyz", "size 42, width 100, height 2000", "1700000000",
    "1700000000000", "flight CA1234 on 12 May", "room 1204, floor 12",
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15", "1 2 3 4 5 6 7 8 9 10", "A1234567", "B12345678", "AB123456C",
    "SKU 123456789012", "EAN 4006381333931", "serial C02XL0GTJGH5", "iPhone 15 Pro Max 256GB",
    "Windows 11 23H2 build 22631.4317", "meet at the cafe", "look at example.com", "@bob said hi", "5 @ 10 dollars",
    "latitude 31.2304, longitude 121.4737", "0.12345678901", "3.14159265358979", "12:30-14:00", "2024-2025",
    "100-200-300", "from 10 to 20 people", "phone model 2024", "my phone is an iPhone 15", "2026 11 30 1500",
    "budget 5000-8000", "member 8821 3345", "gate B12 seat 34A", "W-2 2025 form", "the code is broken",
    "secret santa gift", "the token is a gift", "passwordless login", "my key is under the mat", "order 10086",
    "hotline 12315", "zip 200030", "postal code 94103-1234", "PO 4500012345", "case 00012345", "invoice 2026-000123456",
    "the secret to happiness", "the secret is butter", "secret: a surprise party", "password was leaked",
    "member card number 4111111111111112", "wheel size 700-25-622",
    "https://img.example.com/2b/14/2b142b420a54216cfc9432b6b35676b5.jpg",
    "part 11010519491231003X", "ext +999 1234 5678",
]  # fmt: skip
CHINESE_KEPT = [
    "订单号 2024051812345678", "订单号：20261130000123456789", "2026年11月30日", "手机尾号8821", "尾号 8821",
    "卡尾号1111", "密码是多少", "密码错了", "忘记密码了", "密码不对", "验证码收不到", "第一二三四五六七八九十章",
    "五百二十一", "我的手机是华为 Mate60", "电话打不通", "微信支付 500 元", "订单 8821-3345-9987", "会员卡号 88213345",
    "密码箱 20寸", "pin 码", "学号 2021012345", "工号 100234", "员工编号 10023456", "快递单号 YT1234567890123",
    "顺丰单号 SF1020304050607", "京东订单 281234567890", "车牌 沪A12345", "航班 MU5101", "尺码 165/88A",
    "身高 175 体重 70", "生日 1990-05-03", "1990年5月3日生", "预算 12000 元左右", "门牌 1203 室",
    "合同编号 HT-2026-0001-0002", "订单号 2024113012345", "快递单号 773012345678901", "运单号 JDVA12345678901",
    "工单 INC0012345", "预算五千到八千元", "我住三号楼二单元一二零三", "版本号 3.11.2", "服务器 192.168.100.200",
    "发票号 24312000000012345678", "二〇二六年十一月三十日", "2026-11-30 到 2026-12-05", "会议 10:00-11:30", "尺码四十二",
    "身高一米七五", "我有三个孩子", "一二三四五", "密码锁坏了", "密码太简单了", "改密码的按钮在哪", "口令红包",
    "电话会议在三点", "手机屏幕 6.7 英寸", "微信群 500 人", "银行卡丢了", "信用卡额度 50000 元", "身份证丢了",
    "护照过期了", "邮箱收不到信", "令牌过期", "邀请 20 位客人", "护照照片 35x45 毫米", "邮编 200030", "股票 600519",
    "ISBN 978-7-111-40701-0", "高铁 G1234 次", "座位 12 车 05A",
]  # fmt: skip
REFUSED = [
    (rule, text) for table in (ENGLISH_REFUSED, CHINESE_REFUSED) for rule, texts in table.items() for text in texts
]
GROUPED = ["138 1234 5678", "110105 19491231 002X", "4111 1111 1111 1111"]


def test_a_sensitive_value_is_refused_by_its_rule() -> None:
    """B48: identity cards, bank cards, full phone numbers, mail addresses and secrets; the rule is one that an admin can read."""
    assert [] == [(rule, text) for rule, text in REFUSED if rule != sensitive(text)]
    assert [] == [rule for rule, _ in REFUSED if not all(RULES[rule])]


def test_a_number_that_tells_nothing_of_a_person_passes() -> None:
    """C27: orders, parcels, tickets, dates, amounts, versions and last digits are what a session is about."""
    assert [] == [text for text in (*ENGLISH_KEPT, *CHINESE_KEPT) if sensitive(text) is not None]
    assert [] == [text for text in (*ENGLISH_KEPT, *CHINESE_KEPT) if text != redacted(text)]


@pytest.mark.parametrize(("rule", "text"), REFUSED)
def test_what_is_redacted_holds_nothing_sensitive_and_keeps_the_rest(rule: str, text: str) -> None:
    """B48: a summary goes on without the number; the sentences around it stay as they were written."""
    whole = f"我住在上海，喜欢 ＣＡＦÉ。\n{text}\nThe rest stays."

    cleaned = redacted(whole)

    assert sensitive(cleaned) is None
    assert cleaned.startswith("我住在上海，喜欢 ＣＡＦÉ。\n")
    assert cleaned.endswith("\nThe rest stays.")
    assert "[…]" in cleaned


def test_only_the_number_itself_is_cut_out() -> None:
    """The words around a number stay, with their punctuation, and so does what was invisible elsewhere."""
    assert "我的手机：[…]，谢谢！" == redacted("我的手机：１３８１２３４５６７８，谢谢！")
    assert "a\u200bb […] and […]." == redacted("a\u200bb 1\u200b3812345678 and 4111 1111 1111 1111.")
    assert "[…]" == redacted("1️⃣3️⃣8️⃣1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣8️⃣")


def test_numbers_far_apart_are_all_cut_out() -> None:
    """A long text is looked at around its digits only, and at all of them."""
    text = f"13812345678{' and so on' * 40} 13912345678{' und so weiter' * 40} +44 20 7946 0958"

    assert 3 == redacted(text).count("[…]")
    assert sensitive(redacted(text)) is None


def test_mail_addresses_pass_where_the_channel_keeps_them() -> None:
    """They alone are up to the settings."""
    assert sensitive("write to bob@example.com", emails=True) is None
    assert "bob@example.com" == redacted("bob@example.com", emails=True)
    assert "sensitive_phone" == sensitive("bob@example.com, 13812345678", emails=True)


@given(
    text=st.sampled_from(GROUPED),
    separator=st.sampled_from(["", " ", "-", ".", "  ", "·", "\u00a0", "–", "\u3000", "_", "\u2009"]),
    invisible=st.sampled_from(["", "\u200b", "\u202e", "\u200f", "\ufeff", "\u2066", "\u00ad", "\ufe0f", "\u3164"]),
    zero=st.sampled_from("0０٠०𝟎𝟘"),
    at=st.integers(0, 12),
)
def test_separators_widths_and_invisible_characters_do_not_hide_a_number(
    text: str, separator: str, invisible: str, zero: str, at: int
) -> None:
    """B48: a number is judged by its digits, not by how they are written."""
    other = "".join(chr(ord(zero) + int(char)) if char.isdigit() else char for char in text.replace(" ", separator))

    assert sensitive(text) == sensitive(other[:at] + invisible + other[at:])


@given(digits=st.sampled_from(GROUPED), numerals=st.sampled_from(["〇一二三四五六七八九", "零幺贰叁肆伍陆柒捌玖"]))
def test_chinese_numerals_do_not_hide_a_number(digits: str, numerals: str) -> None:
    """Both ways to write a digit count."""
    assert sensitive(digits) == sensitive("".join(numerals[int(char)] if char.isdigit() else char for char in digits))


@given(st.text(max_size=400) | st.text("0123456789 -.()+xXaA@:一二三", max_size=400))
def test_any_text_has_a_verdict_and_a_redaction(text: str) -> None:
    """Nothing that people write makes it fail, and what is clean stays as it is."""
    rule = sensitive(text)

    assert rule is None or rule in RULES
    assert (rule is None) == (text == redacted(text))
