"""One line per event; no secrets, no content, no source lines."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import warnings
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import AgentBroken
from gateway.logs import PACKAGES, LineFormatter, SecretMask, about, configure, describe

logger = logging.getLogger("gateway.tests")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Leave the process's logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for package in PACKAGES:
        logging.getLogger(package).setLevel(logging.NOTSET)
    logging.captureWarnings(False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_with_ids(stream: io.StringIO) -> None:
    """Time in UTC, level, logger and the constant event come first; the ids are fields of their own."""
    configure("info", stream=stream)

    logger.info("turn answered", extra={"turn": 7, "lane": '小"博\n', "agent": None})

    (line,) = lines(stream)
    assert ["time", "level", "logger", "event", "turn", "lane", "agent"] == list(line)
    assert ("info", "gateway.tests", "turn answered", 7, '小"博\n', None) == tuple(line.values())[1:]
    assert str(line["time"]).endswith("Z")
    assert len("2026-01-01T00:00:00.000Z") == len(str(line["time"]))


def test_text_for_a_terminal() -> None:
    """A person at a terminal reads words, one line an event whatever is in it; escape sequences don't reach the screen."""
    terminal = Terminal()
    configure("info", stream=terminal)

    logger.warning("lane %s lost\x1b[2J\nreally", "a/b", extra={"turn": 7, "room": "x\ny \x1b[0m"})

    line = terminal.getvalue().rstrip("\n")
    assert r'warning gateway.tests: lane a/b lost [2J really turn=7 room="x\ny \u001b[0m"' in line
    assert "\n" not in line
    assert "\x1b" not in line


def test_ids_of_the_surroundings(stream: io.StringIO) -> None:
    """Ids put around a turn stand on each line of it, and end with it; a line's own go before."""
    configure("info", stream=stream)

    with about(turn=1, channel="acme"), about(agent="a"):
        logger.info("inside", extra={"agent": "b"})
    logger.info("outside")

    inside, outside = lines(stream)
    assert (1, "acme", "b") == (inside["turn"], inside["channel"], inside["agent"])
    assert "turn" not in outside


async def test_turns_at_once_keep_their_ids_apart(stream: io.StringIO) -> None:
    """Tasks that run side by side never log each other's ids."""
    configure("info", stream=stream)
    both = asyncio.Barrier(2)

    async def turn(number: int) -> None:
        with about(turn=number):
            await both.wait()
            logger.info("answered", extra={"own": number})

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(turn(1))
        tasks.create_task(turn(2))

    assert [1, 2] == sorted(line["own"] for line in lines(stream) if line["own"] == line["turn"])  # type: ignore[type-var]


def test_content_only_at_debug(stream: io.StringIO) -> None:
    """Fields that hold what people wrote are left out above DEBUG, even if somebody passes them."""
    configure("debug", stream=stream)

    logger.info("seen", extra={"text": "private", "turn": 1})
    logger.debug("seen", extra={"text": "private", "turn": 1})

    above, debug = lines(stream)
    assert "text" not in above
    assert "private" == debug["text"]


@pytest.mark.parametrize("json", [True, False])
def test_known_secrets_are_masked_everywhere(stream: io.StringIO, json: bool) -> None:
    """A secret in the event, a field, an error or behind JSON's escapes never stands in a line."""
    secret = 'pa"ss\\wörd密'
    mask = configure("info", json=json, secrets=[secret, "", "ab"], stream=stream)

    logger.warning("used %s", secret, extra={"key": secret, "nested": {"k": [secret]}, "word": "ab"})
    try:
        raise ValueError(f"bad {secret}")
    except ValueError:
        logger.exception("failed")
    mask.know(["another-secret"])
    logger.warning("another-secret")

    written = stream.getvalue()
    assert "ss" not in written.replace("gateway.tests", "").replace("test_", "").replace("pass", "")
    assert "wörd" not in written
    assert "another-secret" not in written
    assert 5 <= written.count("***")
    assert '"ab"' in written


def test_a_rotated_secret_stays_masked() -> None:
    """A key that was replaced may still be in use, and in the log of a turn that began before; the oldest make room."""
    mask = SecretMask(["first-key-111", "shared-key"], bound=4)
    mask.know(["second-key-22", "shared-key"])
    mask.know(["third-key-333", "shared-key"])

    assert "*** *** *** ***" == mask.apply("first-key-111 second-key-22 third-key-333 shared-key")

    mask.know(["fourth-key-44", "shared-key"])

    assert "first-key-111 *** *** *** ***" == mask.apply(
        "first-key-111 second-key-22 third-key-333 fourth-key-44 shared-key"
    )


def test_all_secrets_in_use_are_masked_however_many() -> None:
    """The bound is for what is no longer in use."""
    keys = [f"secret-key-{number}" for number in range(9)]
    mask = SecretMask(["rotated-key"], bound=3)
    mask.know(keys)

    assert " ".join(["***"] * 9 + ["rotated-key"]) == mask.apply(" ".join([*keys, "rotated-key"]))


def test_a_longer_secret_is_not_left_in_part() -> None:
    """Of two secrets of which one begins the other, the longer is masked whole."""
    assert "x *** y ***" == SecretMask(["secret-1", "secret-1-more"]).apply("x secret-1-more y secret-1")


def test_errors_say_where_and_why_without_values(stream: io.StringIO) -> None:
    """An error's line names types, places and first lines of reasons through its causes; further lines, where
    libraries quote what they were given, are left out."""
    configure("info", stream=stream)

    try:
        try:
            raise ValueError("1 validation error\n  input_value='what Ada wrote'")
        except ValueError as exc:
            raise AgentBroken("the answer broke off") from exc
    except AgentBroken:
        logger.exception("turn failed")

    (line,) = lines(stream)
    error = str(line["error"])
    assert error.startswith("AgentBroken: the answer broke off [")
    assert " <- ValueError: 1 validation error [" in error
    assert "test_logs.py:" in error
    assert "Ada" not in stream.getvalue()


def test_a_suppressed_context_stays_out() -> None:
    """`raise … from None` holds for the log too; without it the context is told."""

    def chained(*, hidden: bool) -> str:
        try:
            try:
                raise KeyError("inner")
            except KeyError:
                if hidden:
                    raise ValueError("outer") from None
                raise ValueError("outer")  # noqa: B904
        except ValueError as exc:
            return describe(exc)

    assert "KeyError" not in chained(hidden=True)
    assert "KeyError" in chained(hidden=False)


def test_other_libraries_are_heard_from_warning_on(stream: io.StringIO) -> None:
    """Our packages log from the level that is set; others, which may write whole requests, from WARNING, or later."""
    configure("debug", stream=stream)
    logging.getLogger("httpx2").info("HTTP Request with SECRET")
    logging.getLogger("httpx2").warning("w")
    logging.getLogger("memory.service").debug("d")
    assert ["w", "d"] == [line["event"] for line in lines(stream)]

    configure("error", stream=stream)
    logging.getLogger("httpx2").warning("w2")
    logger.warning("w3")
    assert 2 == len(lines(stream))


def test_configuring_again_replaces(stream: io.StringIO) -> None:
    """The last call counts; nothing is logged twice, and other people's handlers stay."""
    before = list(logging.getLogger().handlers)
    configure("info", stream=io.StringIO())
    configure("info", stream=stream)

    logger.info("once")

    assert 1 == len(lines(stream))
    assert len(before) + 1 == len(logging.getLogger().handlers)


def test_standard_error_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a stream the lines go to standard error, as JSON when that is no terminal."""
    configure("info")

    logger.info("hello")

    assert "hello" == msgspec.json.decode(capsys.readouterr().err)["event"]
    assert not sys.stderr.isatty()


def test_warnings_become_lines(stream: io.StringIO) -> None:
    """A Python warning is a line like any other."""
    configure("info", stream=stream)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old thing", DeprecationWarning, stacklevel=1)

    assert "old thing" in str(lines(stream)[-1]["event"])


class Hostile:
    def __str__(self) -> str:
        return "\ud83d"


@given(
    st.text(st.characters()),
    st.dictionaries(
        st.text(min_size=1).filter(
            lambda name: name not in vars(logging.makeLogRecord({})) and name not in ("message", "asctime")
        ),
        st.none() | st.integers() | st.floats() | st.text() | st.binary() | st.just(Hostile()) | st.sets(st.integers()),
        max_size=4,
    ),
    st.booleans(),
)
def test_every_record_becomes_one_line(event: str, extra: dict[str, object], json: bool) -> None:
    """Whatever is logged, lone surrogates and strange objects too, is one line that can be written, and never an error."""
    record = logging.getLogger("gateway.x").makeRecord("gateway.x", logging.INFO, "f", 1, event, (), None, extra=extra)

    line = LineFormatter(json=json, mask=SecretMask()).format(record)

    assert "\n" not in line
    assert line.encode()
    if json:
        assert isinstance(msgspec.json.decode(line), dict)
