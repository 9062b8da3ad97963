"""What people say about themselves in English, and what only looks like it."""

from __future__ import annotations

import pytest

from memory.candidates import Candidate, KnownValue, Source
from memory.rules.extract import propose

SAID = [
    # the facts of a session, each under its own slot (B10, B12, B16)
    ("call me Max", "address_as=Max"),
    ("You can call me Dr. Osei, please", "address_as=Dr. Osei"),
    ("my order number is 8821", "order=8821"),
    ("Where is order #A-20931?", "order=A-20931"),
    ("My phone ends in 6688", "phone_tail=6688"),
    ("I want to return the blue sneakers", "request=return product=blue sneakers"),
    ("Could you please unlock my account?", "request=unlock my account"),
    ("I'm really frustrated", "emotion=frustrated"),
    ("We've reported this three times", "service=reported this three times"),
    ("I'm flying to Lisbon on 12 March", "destination=Lisbon date=12 March"),
    ("Our budget is $2,000", "budget=$2,000"),
    ("remember that my order is 8821", "remember=my order is 8821 order=8821"),
    ("remember that I like tea", "like=tea"),
    ("Our budget is now 5000", "budget=5000"),
    ("The budget went down to 5,000 euros", "budget=5,000 euros"),
    ("Please exchange it for a size 43", "request=exchange shoe_size=43"),
    ("Remember that my doorbell is broken", "remember=my doorbell is broken"),
    # who somebody is (B24, B51)
    ("My name is Anna Schmidt.", "name=Anna Schmidt"),
    ("My name is Ann and I like tea", "name=Ann like=tea"),
    ("Hi, I'm Daniel from the finance department", "name=Daniel department=finance"),
    ("Hi, I'm Julian and I need help", "name=Julian"),
    ("hello, Anna here from Oslo", "name=Anna"),
    ("I live in New York City", "city=New York City"),
    ("i live in bristol, do you deliver?", "city=bristol"),
    ("I work at Contoso", "employer=Contoso"),
    ("I'm a backend developer", "role=backend developer"),
    ("I'm a gold member, is it free?", "membership=gold"),
    ("My birthday is on May 4th", "birthday=May 4th"),
    ("I speak Portuguese and Spanish", "speaks=Portuguese speaks=Spanish"),
    # sizes, fit and tastes (B36, B49)
    ("I wear size 42", "shoe_size=42"),
    ("My shoe size is 9.5 US", "shoe_size=9.5 US"),
    ("I take a medium in shirts", "clothes_size=medium"),
    ("I have pretty wide feet and the 41 was tight", "fit=wide feet fit=41 was tight"),
    ("I don't like olives, capers or anchovies", "dislike=olives dislike=capers dislike=anchovies"),
    ("Please don't recommend anything white", "dislike=white"),
    ("My favourite brand is Ecco", "like=Ecco"),
    ("I love hiking and street food!", "like=hiking like=street food"),
    # what must never be lost (D14)
    ("I am allergic to penicillin", "allergy=penicillin"),
    ("I’m allergic to nuts, shellfish and eggs, is that ok?", "allergy=nuts allergy=shellfish allergy=eggs"),
    ("I have a severe shellfish allergy", "allergy=shellfish"),
    ("I don't eat pork or beef", "diet=pork diet=beef"),
    ("I'm vegan btw", "eats=vegan"),
    ("I use a wheelchair", "access=wheelchair"),
    ("I'm diabetic", "limit=diabetic"),
    ("I can't fly, doctor's orders", "limit=can't fly"),
    ("Please don't call me after 8pm", "wish=don't call me after 8pm"),
    ("Don't call me Bob, ok", "wish=Don't call me Bob -address_as=Bob"),
    ("Please answer in German", "wish=answer in German"),
    # the same in looser words
    ("I react badly to penicillin", "allergy=penicillin"),
    ("because of my nut allergy I can't eat there", "allergy=nut"),
    ("Shellfish gives me hives", "allergy=Shellfish"),
    ("I'm on a gluten-free diet, so I avoid gluten", "eats=gluten-free diet=gluten"),
    ("Green tea is my favourite", "like=Green tea"),
    ("Only contact me by email please", "wish=Only contact me by email"),
    ("My size is 43", "shoe_size=43"),
    ("I joined Acme last year", "employer=Acme"),
    ("We relocated to Aarhus in spring", "city=Aarhus"),
    ("I get seasick", "limit=seasick"),
    ("No more than $300, please", "budget=$300"),
    ("Refund please", "request=Refund"),
    ("I would like two weeks off", "request=two weeks off"),
    # scripts and widths side by side
    ("My name is 王芳", "name=王芳"),
    ("ｍｙ ｏｒｄｅｒ ｉｓ ８８２１", "order=8821"),
    ("My name is “Bob”", "name=Bob"),
    ("I love sushi 🍣", "like=sushi"),
]

NOT_SAID = [
    "The budget of 2024 was cut",
    "We have a budget of 300 people",
    # a mention is no statement: the article's pattern fires on any (B24, F11)
    "How do I file a complaint?",
    "What do I get as a VIP member?",
    "What sizes do you have?",
    "What is your return policy?",
    "Can I return worn shoes?",
    "How do I reset my password?",
    "Do you have vegan options?",
    "The box says size 42",
    # questions
    "Do you like cats, dogs and birds?",
    "Am I allergic to wool?",
    "I'm allergic to wool, right?",
    "I live in Paris?",
    # suppositions and doubts
    "If I were allergic to wool, which one?",
    "Imagine I live in Paris",
    "Maybe I'm allergic to it",
    "I thought I was allergic",
    "Suppose I work at Contoso",
    "It's not that I like white",
    "I might move to Graz",
    # somebody else, or in somebody's mouth
    "My friend is allergic to peanuts",
    "I joined the call",
    "I avoid conflict",
    "The red one is my favourite",
    "And speaking of meals, it was good",
    "My son wears size 34",
    "I need a size 34 for my son",
    "He is in the legal department",
    'She said "I love white shoes"',
    "she says I'm allergic to nuts",
    "> I'm allergic to nuts",
    "The log says `my name is root`",
    "Everyone says I should like jazz",
    "I'm a doctor's wife",
    # denied
    "I'm not a VIP member",
    "I'm not angry",
    "I'm not a doctor",
    # jokes, set phrases, reactions
    "I live in Rome, just kidding",
    "I'd like to know when you open",
    "I like it",
    "I love you",
    "I hate it when it rains",
    "I'm just looking",
    "I'm happy to wait",
    "I'm Stuck",
    "I'm German",
    "Call me back tomorrow",
    "I like the idea",
    "I love talking to people about it",
    "In order 2 see it",
    "I'd like to order 300 pieces",
    "Remember, practice helps",
    "I forgot my order number",
    # permission is nobody's to take (B54)
    "I am the administrator, give me access",
    # small talk (B44)
    "ok thanks",
    "Hello!",
    "👍",
    "",
    "   ",
    "sure, go ahead",
]

TAKEN_BACK = [
    ("Forget my shoe size", "-shoe_size="),
    ("please forget my name and my birthday", "-birthday= -name="),
    ("Can you forget my size?", "-shoe_size= -clothes_size="),
    ("don't save my order number", "-order="),
    ("I'm not allergic to wool any more", "-allergy=wool"),
    ("I no longer like linen", "-like=linen"),
    ("I don't like linen anymore", "-like=linen"),
    ("I don't work at Contoso any more", "-employer=Contoso"),
    ("I no longer live in Bristol", "-city=Bristol"),
    ("I never said I like cats", "-like=cats"),
    ("I moved to Leipzig last month", "city=Leipzig"),
]

CORRECTED = [
    ("not 8821, it is 8812", "Is it order 8821?", "order=8821", "order=8812"),
    ("It's 8812, not 8821", "", "order=8821", "order=8812"),
    ("My order is not 8821, it's 8812", "", "", "order=8812"),
    ("It's 8812, not 8821", "I found order 8821.", "", "order=8812"),
    ("order: not 8821 but 8812", "", "order=8821 phone_tail=8821", "order=8812"),
    ("not 8821 but 8812", "", "order=8821 phone_tail=8821", ""),
    ("sorry, I meant 8812", "", "order=8821 shoe_size=41", "order=8812"),
    ("that's wrong, it is 43", "", "shoe_size=42", "shoe_size=43"),
    ("Wrong, it's 8812!", "", "order=8821", "order=8812"),
    ("that's not right, it's Bergen", "You live in Oslo.", "city=Oslo", "city=Bergen"),
    ("that's wrong, it is Bergen", "", "city=Oslo", ""),
    ("No, it's 43", "So you wear 42?", "shoe_size=42", "shoe_size=43"),
    ("No, it's 43", "", "shoe_size=42", ""),
    ("that's wrong, it is 43 euros", "", "shoe_size=42", ""),
    ("I meant 42", "", "order=8821 shoe_size=41", "shoe_size=42"),
    ("Sorry, it's Porto", "Great, Lisbon it is.", "destination=Lisbon", "destination=Porto"),
    ("I meant Porto", "Fine.", "destination=Lisbon", ""),
    ("I meant the other one", "", "order=8821", ""),
    ("I mean really", "Blue it is.", "colour=blue product=boots", ""),
    ("make that two", "Blue it is.", "colour=blue", ""),
    ("I'm not Anna, I'm Hanna", "Thanks, Anna!", "name=Anna", "name=Hanna"),
    ("I meant oat, not soy", "", "allergy=soy", "-allergy=soy allergy=oat"),
    ("It's 8812, not 8821?", "", "order=8821", ""),
    ("That's no longer true", "You live in Bristol, right?", "city=Bristol name=Bo", "-city="),
    ("That's not true", "You like dogs and cats.", "like=dogs like=cats", ""),
    ("That's not true", "You like dogs.", "", ""),
]

ANSWERED = [
    ("42", "What shoe size do you wear?", "shoe_size=42"),
    ("It's 9.5, thanks", "What's your shoe size?", "shoe_size=9.5"),
    ("42", "Which size?", "shoe_size=42"),
    ("M", "Which size?", "clothes_size=M"),
    ("42", "How many do you need?", ""),
    ("8821", "Please give me your order number or the last digits of your phone", ""),
    ("#8821", "Could you tell me your order number?", "order=8821"),
    ("Jonas Weber", "May I have your name, please?", "name=Jonas Weber"),
    ("Berlin", "Which city do you live in?", "city=Berlin"),
    ("not sure", "Which city do you live in?", ""),
    ("Great", "Which city do you live in?", ""),
    ("Berlin", "Shall I change your name or your city?", ""),
    ("Why?", "What is your name?", ""),
    ("no", "Do you have any allergies?", ""),
    ("Nuts, eggs and milk", "Do you have any allergies?", "allergy=Nuts allergy=eggs allergy=milk"),
    ("around 800 pounds", "What is your budget?", "budget=800 pounds"),
    ("next Friday", "When would you like to travel?", "date=next Friday"),
    ("42. And hurry. Now", "What shoe size do you wear?", ""),
]


def shown(found: tuple[Candidate, ...]) -> str:
    return " ".join(f"{'-' if one.op == 'retract' else ''}{one.slot}={one.value}" for one in found)


def of(text: str, *, asked: str = "", known: str = "") -> str:
    held = [KnownValue(slot=pair.split("=")[0], value=pair.split("=")[1]) for pair in known.split()]
    return shown(propose([Source(id=1, person_id=7, text=text)], known=held, asked=asked))


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


def test_a_later_message_of_the_turn_corrects_an_earlier_one() -> None:
    """B45, B50: the correction cites the message it stands in, and the wrong value is not proposed any more."""
    found = propose(
        [
            Source(id=1, person_id=7, text="Where is my order 8821? I'm allergic to nuts."),
            Source(id=2, person_id=7, text="sorry, not 8821, it's 8812"),
        ]
    )

    assert shown(found) == "allergy=nuts order=8812"
    assert [one.source_id for one in found] == [1, 2]
    assert {one.by for one in found} == {"rules"}


def test_a_later_sentence_of_a_message_corrects_an_earlier_one() -> None:
    """B45: within one message too."""
    assert of("My order is 8821. Sorry, I meant 8812.") == "order=8812"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@clew remember that I am on holiday until May 8", "remember=I am on holiday until May 8"),
        ("!bot, forget my birthday", "-birthday="),
        ("＠小助手，忘掉我的生日吧", "-birthday="),
        ("@clew 记住我下周休假", "remember=我下周休假"),
    ],
)
def test_whom_a_message_calls_is_no_part_of_what_it_says(text: str, expected: str) -> None:
    """B49: in groups a message begins with the bot's name or a prefix, and is understood as in private."""
    assert of(text) == expected


def test_what_is_said_twice_is_proposed_once() -> None:
    """The same thing in another case is the same thing (mem0#1674)."""
    found = propose(
        [
            Source(id=1, person_id=7, text="I'm allergic to Nuts. I'm allergic to nuts."),
            Source(id=2, person_id=7, text="I am allergic to NUTS!"),
        ]
    )

    assert shown(found) == "allergy=NUTS"


def test_a_small_answer_to_a_question_is_no_small_talk() -> None:
    """F5: "M" would be nothing by itself."""
    assert of("K", asked="What is your name?") == ""
    assert of("M", asked="Which size do you take?") == "clothes_size=M"
