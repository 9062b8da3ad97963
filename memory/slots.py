"""The slots that facts and profile items may have: what they are called, whether one value stands alone, how long it is true.

A slot's name is part of the law of supersession: a new value takes an old one's place in the same person and slot only, and
only where the slot holds a single value (field reports mem0#5867, graphiti#1728). Data only.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from memory.base import ItemKind
from memory.language import language_in

Life = Literal["session", "lasting", "pinned"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """What one slot means. `single`: a new value replaces the old one. `life`: a session's facts end with it, lasting ones
    become profile items too, pinned ones enter every prompt uncompressed (D16)."""

    name: str
    kind: ItemKind
    single: bool
    life: Life
    english: str  # how it reads: braces take the value
    chinese: str

    def sentence(self, value: str, language: str) -> str:
        """Return the value as a sentence: Chinese for "zh", else English."""
        return (self.chinese if language == "zh" else self.english).format(value)


_ALL = (
    # of the task at hand (C27): facts of a session only
    Slot(name="order", kind="fact", single=True, life="session", english="order {}", chinese="订单 {}"),
    Slot(name="phone_tail", kind="fact", single=True, life="session", english="phone ends in {}", chinese="手机尾号 {}"),
    Slot(name="product", kind="fact", single=True, life="session", english="product: {}", chinese="商品：{}"),
    Slot(name="request", kind="fact", single=True, life="session", english="wants: {}", chinese="诉求：{}"),
    Slot(name="emotion", kind="fact", single=True, life="session", english="mood: {}", chinese="情绪：{}"),
    Slot(name="destination", kind="fact", single=True, life="session", english="travels to {}", chinese="目的地：{}"),
    Slot(name="date", kind="fact", single=True, life="session", english="date: {}", chinese="日期：{}"),
    Slot(name="budget", kind="fact", single=True, life="session", english="budget: {}", chinese="预算：{}"),
    # of the person
    Slot(name="name", kind="identity", single=True, life="lasting", english="name: {}", chinese="姓名：{}"),
    Slot(name="address_as", kind="identity", single=True, life="lasting", english="call them {}", chinese="称呼：{}"),
    Slot(name="city", kind="identity", single=True, life="lasting", english="lives in {}", chinese="所在地：{}"),
    Slot(name="employer", kind="identity", single=True, life="lasting", english="works at {}", chinese="任职于 {}"),
    Slot(name="role", kind="identity", single=True, life="lasting", english="works as {}", chinese="职业：{}"),
    Slot(name="department", kind="identity", single=True, life="lasting", english="department: {}", chinese="部门：{}"),
    Slot(name="membership", kind="identity", single=True, life="lasting", english="member: {}", chinese="会员：{}"),
    Slot(name="birthday", kind="identity", single=True, life="lasting", english="birthday: {}", chinese="生日：{}"),
    Slot(name="speaks", kind="identity", single=False, life="lasting", english="speaks {}", chinese="会说 {}"),
    Slot(name="shoe_size", kind="preference", single=True, life="lasting", english="shoe size {}", chinese="鞋码 {}"),
    Slot(name="clothes_size", kind="preference", single=True, life="lasting", english="wears size {}", chinese="衣服尺码 {}"),
    Slot(name="fit", kind="preference", single=False, life="lasting", english="fit: {}", chinese="版型：{}"),
    Slot(name="like", kind="preference", single=False, life="lasting", english="likes {}", chinese="喜欢{}"),
    Slot(name="dislike", kind="preference", single=False, life="lasting", english="dislikes {}", chinese="不喜欢{}"),
    Slot(name="service", kind="service", single=False, life="lasting", english="service history: {}", chinese="服务记录：{}"),
    Slot(name="remember", kind="fact", single=False, life="lasting", english="asked to remember: {}", chinese="要求记住：{}"),
    # hard constraints and standing wishes of the speaker (D14 to D16)
    Slot(name="allergy", kind="constraint", single=False, life="pinned", english="allergic to {}", chinese="对{}过敏"),
    Slot(name="diet", kind="constraint", single=False, life="pinned", english="avoids {}", chinese="忌口：{}"),
    Slot(name="eats", kind="constraint", single=False, life="pinned", english="eats {}", chinese="饮食：{}"),
    Slot(name="access", kind="constraint", single=False, life="pinned", english="access needs: {}", chinese="无障碍需求：{}"),
    Slot(name="limit", kind="constraint", single=False, life="pinned", english="to be heeded: {}", chinese="须注意：{}"),
    Slot(name="wish", kind="constraint", single=False, life="pinned", english="wishes: {}", chinese="希望：{}"),
)  # fmt: skip

SLOTS = {slot.name: slot for slot in _ALL}
"""Every slot that rules and models are told of, by name."""


def slot_of(name: str) -> Slot | None:
    """Return the slot of a name. One that nobody foresaw holds a single value for the session and is no profile item; None:
    the name is none at all."""
    if _NAME.fullmatch(name) is None:
        return None
    words = name.replace("_", " ")
    return SLOTS.get(name) or Slot(
        name=name, kind="fact", single=True, life="session", english=f"{words}: {{}}", chinese=f"{words}：{{}}"
    )


def sentence_of(name: str, value: str, language: str) -> str:
    """Return a value as its slot reads it, or by itself where there is no such slot. The value's own language counts, and
    `language` where it shows none."""
    slot = slot_of(name)
    return value if slot is None else slot.sentence(value, language_in(value) or language)
