"""The write bar's rules by name, each with what it says to an admin in English and Chinese.

Data only; the ledger keeps the names.
"""

from __future__ import annotations

from typing import Final

EMPTY: Final = "empty"
NO_WORD: Final = "no_word"
TOO_LONG: Final = "too_long"
UNSUPPORTED: Final = "unsupported"
OTHER_SPEAKER: Final = "other_speaker"
NOT_OF_SPEAKER: Final = "not_of_speaker"
NOT_OVER: Final = "not_over"
INSTRUCTION_LIKE: Final = "instruction_like"
ID_CARD: Final = "sensitive_id_card"
BANK_CARD: Final = "sensitive_bank_card"
BANK_ACCOUNT: Final = "sensitive_bank_account"
PHONE: Final = "sensitive_phone"
EMAIL: Final = "sensitive_email"
SECRET: Final = "sensitive_secret"  # noqa: S105 - a rule's name

RULES: Final[dict[str, tuple[str, str]]] = {
    EMPTY: ("There is no value to remember.", "没有可以记住的内容。"),
    NO_WORD: ("The value holds no letter and no digit.", "内容里没有任何文字或数字。"),
    TOO_LONG: ("The value is longer than a fact can be.", "内容超过了一条事实的长度上限。"),
    UNSUPPORTED: ("The value does not stand in the message that it cites.", "所引用的消息里没有这个内容。"),
    OTHER_SPEAKER: ("The message that it cites was written by somebody else.", "所引用的消息不是本人说的。"),
    NOT_OF_SPEAKER: (
        "The message asks, supposes or denies it, or says it of somebody else.",
        "消息里只是提问、假设、否认，或说的是别人。",
    ),
    NOT_OVER: (
        "It would be taken back, but the message does not say that it is over.",
        "要收回这一条，但消息里没有说它已不再成立。",
    ),
    INSTRUCTION_LIKE: (
        "It tells the assistant what to do or claims a right, instead of stating a fact about the person.",
        "内容是对助手的指令，或自称拥有某种权限、优惠，而不是关于本人的客观事实。",
    ),
    ID_CARD: ("It holds the number of an identity document.", "内容含有身份证件号码。"),
    BANK_CARD: ("It holds the number of a bank card.", "内容含有银行卡号。"),
    BANK_ACCOUNT: ("It holds the number of a bank account.", "内容含有银行账号。"),
    PHONE: ("It holds a full phone number.", "内容含有完整的电话号码。"),
    EMAIL: (
        "It holds an e-mail address, which this channel does not keep.",
        "内容含有电子邮箱地址，当前设置不允许保存。",
    ),
    SECRET: ("It holds a password, a key or a token.", "内容含有密码、密钥或令牌。"),
}
"""Every rule that may refuse a candidate: name -> (English sentence, Chinese sentence)."""

# Words in the name of a slot that nobody foresaw: they say what it is for, whatever its value.
SECRET_SLOTS: Final = frozenset({
    "password", "passcode", "passphrase", "pin", "pwd", "token", "secret", "credential", "credentials", "cvv", "cvc", "otp",
    "api_key", "private_key",
})  # fmt: skip
ORDER_SLOTS: Final = frozenset({
    "admin", "administrator", "superuser", "permission", "permissions", "privilege", "privileges", "access_level", "authority",
    "authorization", "instruction", "instructions", "prompt", "rule", "rules", "override", "policy", "entitlement",
    "entitlements", "discount",
})  # fmt: skip
# Slots whose values may be any sentence, and last: only a plain note about the speaker is kept there.
FREE_SLOTS: Final = frozenset({"remember", "service", "limit", "access", "wish"})
# Slots of the person himself, in which a "not" before the value makes it untrue.
DENIABLE_SLOTS: Final = frozenset({
    "name", "address_as", "city", "employer", "role", "department", "membership", "birthday", "speaks", "shoe_size",
    "clothes_size", "like", "allergy", "eats",
})  # fmt: skip
OWN_SLOTS: Final = DENIABLE_SLOTS | {"dislike", "diet", "access", "limit", "fit"}
LASTING_SLOTS: Final = OWN_SLOTS | FREE_SLOTS
