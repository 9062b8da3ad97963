"""What people say in chaos runs: the same for a seed, each with a token of its own, and canaries of one person and place."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.chaos.evidence import WHOLE, canaries, tokens
from tests.chaos.people import WAYS as ALL
from tests.chaos.people import mix
from tests.chaos.talk import answer, lines, places

WAYS = ("webhook", "telegram-polling", "slack-http")


def test_a_seed_says_the_same() -> None:
    there = places(30, WAYS)

    assert lines(3, there, seconds=20) == lines(3, there, seconds=20)
    assert lines(3, there, seconds=20) != lines(4, there, seconds=20)


def test_every_token_stands_once_and_numbers_grow() -> None:
    """In each place they count from one, by time."""
    spoken = lines(3, places(150, WAYS), seconds=40)
    by_place = defaultdict(list)
    for line in spoken:
        assert [line.token] == tokens(line.text)
        by_place[line.place.name].append(line.number)

    assert 150 == len(by_place)
    assert all(list(range(1, len(numbers) + 1)) == numbers for numbers in by_place.values())
    assert 300 <= len(spoken) <= 600
    assert spoken == sorted(spoken, key=lambda line: line.at_s)


def test_a_canary_is_one_persons_in_one_place() -> None:
    """So that it tells where a prompt has it from."""
    owners = defaultdict(set)
    for line in lines(3, places(300, WAYS), seconds=40):
        for word in canaries(line.text):
            owners[word].add((line.place.name, line.person))

    assert len(owners) > 100
    assert all(1 == len(whose) for whose in owners.values())


def test_people_talk_in_private_and_in_groups() -> None:
    """A third of the places are groups, of people who talk in private too; in groups some of it asks for nothing."""
    there = places(90, WAYS)
    private = {(place.way, one) for place in there if not place.group for one in place.people}
    group = {(place.way, one) for place in there if place.group for one in place.people}
    spoken = lines(3, there, seconds=40)

    assert 30 == sum(place.group for place in there)
    assert private < group
    assert Counter(place.way for place in there) == dict.fromkeys(WAYS, 30)
    assert all(line.asks for line in spoken if not line.place.group)
    assert any(not line.asks for line in spoken)


def test_nobody_has_two_private_talks() -> None:
    """Also where a way is named twice, to have more scopes."""
    alone = [(place.way, place.people) for place in places(200, (*WAYS, "webhook")) if not place.group]

    assert len(alone) == len(set(alone))
    assert 100 == sum(place.way == "webhook" for place in places(200, (*WAYS, "webhook")))


def test_few_talk_where_growing_answers_are_rationed() -> None:
    """About a dozen scopes a minute."""
    for scopes, seconds, most in ((120, 20.0, 8), (2000, 300.0, 70)):
        counts = Counter(place.way for place in places(scopes, mix(scopes, seconds)))
        assert set(ALL) == set(counts)
        assert 4 <= counts["slack-socket"] <= most


async def test_an_answer_names_what_it_answers_and_is_whole_at_its_end() -> None:
    """The same each time."""
    asked = "[Ann]: «S1.2» hi\n[Ann]: «S1.3» 在吗"
    told = [piece async for piece in answer(asked)]

    assert ["S1.2", "S1.3"] == tokens("".join(told))
    assert told[-1].endswith(WHOLE)
    assert 1 == "".join(told).count(WHOLE)
    assert told == [piece async for piece in answer(asked)]
