"""What YAML makes of a file, and what we don't let it make."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.loader import MAX_FILE_BYTES, load
from config.problems import InvalidSettings
from tests.unit.config.conftest import Load, Refuse

WEBHOOK = """\
channels:
  web:
    kind: webhook
    secrets: ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
"""


@pytest.mark.parametrize(
    "room", ["-1001234567890", "007", "1_000", "2024-01-01", "12:30", "no", "1e3", "0o17", "~x", "群组", "👪", "a.b c"]
)
def test_a_room_id_stays_as_written_without_quotes(load_text: Load, room: str) -> None:
    """An unquoted id is text, whatever YAML would guess: a room id that changes its spelling is another room."""
    configuration = load_text(WEBHOOK + f"    rooms:\n      {room}: {{observe: true}}\n")

    assert [room] == list(configuration.settings.channels["web"].rooms)


def test_account_ids_stay_as_written(load_text: Load) -> None:
    """Numbers, dates and truth words in a list of accounts are accounts."""
    configuration = load_text(
        "defaults:\n  allow:\n    people: [12345, 2024-01-01, yes, 0017, 1.0, 'T024.U07', 张三]\n"
    )

    assert configuration.settings.defaults.allow.people == (
        "12345",
        "2024-01-01",
        "yes",
        "0017",
        "1.0",
        "T024.U07",
        "张三",
    )


@pytest.mark.parametrize(
    ("word", "truth"), [("no", False), ("off", False), ("yes", True), ("True", True), ("on", True)]
)
def test_truth_words_are_truth_where_truth_is_wanted(load_text: Load, word: str, truth: bool) -> None:
    """The setting's type decides what a word means."""
    assert truth is load_text(f"defaults: {{observe: {word}}}").settings.defaults.observe


def test_a_number_that_yaml_versions_read_differently_is_refused(refused: Refuse) -> None:
    """010 is eight in YAML 1.1 and ten in 1.2; nobody should have to know."""
    assert [
        "my.yaml:1 server.port: '010': is a number that begins with 0, which YAML reads in two ways; "
        "write it without the 0"
    ] == refused("server: {port: 010}")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("-1", -1),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("FALSE", False),
        ("'5'", "5"),
        ("low", "low"),
    ],
)
def test_free_parameters_have_the_type_that_was_written(load_text: Load, written: str, value: object) -> None:
    """Request fields of the admin's choice keep numbers, truth values and quoted texts apart."""
    configuration = load_text(f"agents: {{default: {{parameters: {{x: {written}}}}}}}")
    found = configuration.settings.agents["default"].parameters["x"]

    assert (value, type(value)) == (found, type(found))


def test_anchors_and_merge_keys_work(load_text: Load) -> None:
    """A section can be written once and used often; what is written at the place itself wins."""
    configuration = load_text(
        """
        x-quiet: &quiet {trigger: [mention], observe: true}
        x-list: &list {language: zh, observe: false}
        defaults: &d
          <<: [*quiet, *list]
          trigger: [reply]
        """
    )
    defaults = configuration.settings.defaults

    assert (("reply",), True, "zh") == (defaults.trigger, defaults.observe, defaults.language)


def test_a_value_from_an_anchor_has_the_anchors_line(refused: Refuse) -> None:
    """The line to mend is where the value is written, not where it is used."""
    assert refused("x-a: &a\n  observe: maybe\ndefaults:\n  <<: *a\n")[0].startswith(
        "my.yaml:2 defaults.observe: 'maybe'"
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "is empty"),
        ("# nothing\n", 1, "is empty"),
        ("---\n...\n", 1, "is empty"),
        ("- a\n- b\n", 1, "is not a list of settings"),
        ("just words", 1, "is not a list of settings"),
        ("server:\n\tport: 1\n", 2, "is indented with a tab"),
        ("a: [1\n", 2, "expected ',' or ']'"),
        ("server:\n  port: 1\n bad: 2\n", 3, "did not find expected"),
        ("a: {b: ${X}}", 1, "put quotes around ${…}"),
        ("server: *nowhere\n", 1, "the alias *nowhere has no anchor before it"),
        ("server: &a {x: *a}\n", 1, "the alias *a has no anchor before it"),
        ("server: {}\n---\nredis: x\n", 3, "a second document begins here"),
        ("server: {}\nserver: {}\n", 2, "is here twice, first in line 1"),
        ("server: {port: 1, 'port': 2}\n", 1, "is here twice, first in line 1"),
        (
            "server: !!python/object:os.system {}\n",
            1,
            "the tag 'tag:yaml.org,2002:python/object:os.system' has no meaning",
        ),
        ("server: {port: !!int 1}\n", 1, "has no meaning here"),
        ("? [a]\n: 1\n", 1, "this key is not a text"),
        ("defaults: {<<: 1}\n", 1, "merges something that has no keys"),
        ("defaults: {<<: [1]}\n", 1, "merges something that has no keys"),
        ("redis: a\x07b\n", 1, "holds a control character"),
        ('redis: "\\ud800"\n', 1, "invalid Unicode character escape"),
        ("\n" + "[" * 1000, 2, "is nested more than 40 levels deep"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
    ],
)
def test_a_file_that_is_no_settings_is_refused_with_its_line(refused: Refuse, text: str, line: int, says: str) -> None:
    """Whatever is wrong with the text, the message gives the line and what to do, and quotes nothing of the file."""
    problems = refused(text)

    assert problems[0].startswith(f"my.yaml:{line}")
    assert any(says in problem for problem in problems)


def test_alias_bombs_are_refused_at_once(refused: Refuse) -> None:
    """A billion laughs in a few lines costs nothing."""
    text = "x-0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
    for n in range(1, 30):
        text += f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n"

    assert "holds more than 200,000 values or 40 levels, aliases counted" in refused(text)[0]


def test_a_byte_order_mark_is_passed_over(settings_file: Path) -> None:
    """Editors on Windows write one."""
    settings_file.write_bytes(b"\xef\xbb\xbfserver: {port: 1}\r\nredis: redis://h\r\n")

    assert load(settings_file, {}).settings.server.port == 1


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"server: {}\nredis: \xff\xfe\n", ":2: is not UTF-8; save it as UTF-8 text"),
        ("server: {}".encode("utf-16"), ":1: is not UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), ":1: is larger than 4,194,304 bytes"),
    ],
)
def test_bytes_that_are_no_text_are_refused(settings_file: Path, raw: bytes, says: str) -> None:
    """The line of the first bad byte is named."""
    settings_file.write_bytes(raw)
    with pytest.raises(InvalidSettings) as caught:
        load(settings_file, {})

    assert says in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    """Neither is a settings file, and the message says which is the matter."""
    for path, says in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InvalidSettings, match=says):
            load(path, {})
