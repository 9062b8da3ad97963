"""Values that stand elsewhere, and secrets that are never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.loader import Configuration, load
from config.masking import masked, secrets_of
from config.problems import InvalidSettings
from config.references import MAX_SECRET_BYTES, BadReference, expand
from tests.unit.config.conftest import Load, Refuse

SECRET = "sk-TOPSECRET-张"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "1"),
        ("x${A}y${B}z", "x1y2z"),
        ("${NONE:-d}", "d"),
        ("${EMPTY:-d}", "d"),
        ("${NONE:-}", ""),
        ("${A:-d}", "1"),
        ("$${A}", "${A}"),
        ("$A $ {A} 价$5", "$A $ {A} 价$5"),
        ("${NONE:-http://h:1/a-b}", "http://h:1/a-b"),
        ("${NESTED}", "${A}"),
    ],
)
def test_references_are_replaced(text: str, value: str) -> None:
    """As a shell would, and only once: what a variable holds is not read again."""
    assert value == expand(text, {"A": "1", "B": "2", "EMPTY": "", "NESTED": "${A}"}).text


@pytest.mark.parametrize("text", ["${", "${}", "${a b}", "${1A}", "x ${A", "${A:default}", "${A:-${B}}"])
def test_a_reference_that_cannot_be_read_is_refused(text: str) -> None:
    """A slip of the pen is never passed on as a value."""
    with pytest.raises(BadReference, match="can't be read"):
        expand(text, {"A": "1"})


@given(st.text().filter(lambda text: "${" not in text))
def test_text_without_references_stays_as_it_is(text: str) -> None:
    """Any text of any script goes through unchanged."""
    assert text == expand(text, {}).text


@pytest.mark.parametrize("environ", [{}, {"KEY": ""}])
def test_a_required_variable_that_is_not_set_or_empty_is_a_problem(refused: Refuse, environ: dict[str, str]) -> None:
    """The message names the variable, the line and both ways out."""
    assert [
        "my.yaml:1 agents.a.api_key: ***: the environment variable KEY is not set; set it, or write ${KEY:-default}",
    ] == refused("agents: {a: {api_key: '${KEY}'}}\ndefaults: {agent: a}", environ)


def test_an_optional_variable_that_is_not_set_leaves_the_setting_unset(load_text: Load) -> None:
    """So that `kind: auto` sees no key, and defaults stay."""
    agent = load_text(
        "agents: {default: {api_key: '${K:-}', base_url: '${U:-}', system: '${S:-}', model: '${M:-m}'}}"
    ).settings.agents["default"]

    assert (None, None, True, "m") == (agent.api_key, agent.base_url, agent.system.startswith("You are"), agent.model)


def test_an_optional_variable_in_a_list_leaves_no_gap(load_text: Load, refused: Refuse) -> None:
    """While a secret is replaced there may be one or two; the numbering follows what is there."""
    good = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    text = "channels:\n  web:\n    kind: webhook\n    secrets:\n    - ${OLD:-}\n    - ${NEW}\n    - ${OTHER:-}\n"

    assert len(load_text(text, {"NEW": good}).settings.channels["web"].secrets) == 1  # type: ignore[union-attr]
    assert "my.yaml:6 channels.web.secrets[0]: '${NEW}': does not begin with whsec_" in refused(text, {"NEW": "x"})[0]


def test_a_required_setting_that_came_out_empty_is_missing(refused: Refuse) -> None:
    """Empty is not a value."""
    assert (
        "channels.web.jwt.issuer: '${I:-}': is required"
        in refused(
            "channels: {web: {kind: webhook, jwt: {algorithms: [HS256], issuer: '${I:-}', audience: a, secret: x}}}"
        )[0]
    )


def test_references_stand_for_numbers_and_choices(load_text: Load) -> None:
    """A variable is text; the setting's type reads it."""
    settings = load_text("server: {port: '${P}', log_level: '${L:-debug}'}", {"P": "99"}).settings

    assert (99, "debug") == (settings.server.port, settings.server.log_level)


def test_the_value_of_a_variable_is_never_shown(refused: Refuse) -> None:
    """Only what the file says is."""
    problems = refused("server: {port: '${P}'}\nredis: ${R}", {"P": SECRET, "R": SECRET})

    assert problems[0].startswith("my.yaml:1 server.port: '${P}': is not a whole number")
    assert SECRET not in "".join(problems)


def test_a_secret_file_is_read_beside_the_settings(load_text: Load, tmp_path: Path) -> None:
    """One trailing newline goes, every other character stays."""
    (tmp_path / "key").write_text(f" {SECRET}\n\r\n", "utf-8")
    (tmp_path / "abs").write_text(SECRET, "utf-8")
    settings = load_text(
        f"agents: {{default: {{api_key: 'file:key'}}, b: {{api_key: '${{WHERE}}'}}, c: {{api_key: 'file:{tmp_path}/abs'}}}}",
        {"WHERE": "file:abs"},
    ).settings

    assert [f" {SECRET}\n", SECRET, SECRET] == [
        agent.api_key.get_secret_value() for agent in settings.agents.values() if agent.api_key
    ]


def test_a_text_that_is_no_secret_may_begin_with_file(load_text: Load) -> None:
    """`file:` reads secrets only; elsewhere it is a text like any other."""
    assert load_text("agents: {default: {system: 'file:x'}}").settings.agents["default"].system == "file:x"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no file"),
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xff", "is not UTF-8 text"),
        (b"x" * (MAX_SECRET_BYTES + 1), "is larger than 65,536 bytes"),
    ],
)
def test_a_secret_file_that_cannot_serve_is_a_problem(
    refused: Refuse, tmp_path: Path, content: bytes | None, says: str
) -> None:
    """The message names the file and never its content."""
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    (problem,) = refused("agents: {default: {api_key: 'file:key'}}")

    assert "my.yaml:1 agents.default.api_key: ***: " in problem
    assert says in problem


def test_a_secret_file_that_cannot_be_read_is_a_problem(refused: Refuse, tmp_path: Path) -> None:
    """A path through something that is no folder, a loop of links: told, not thrown."""
    os.symlink("loop", tmp_path / "loop")

    assert "agents.default.api_key" in refused("agents: {default: {api_key: 'file:loop'}}")[0]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://clew:pa:ss@h/d", "postgresql://clew:***@h/d"),
        ("postgresql://clew:p@ss@h/d", "postgresql://clew:***@h/d"),
        ("redis://:pw@h:1/0", "redis://:***@h:1/0"),
        ("https://h/v1?api_key=x&a=b&X-Token=y#f", "https://h/v1?api_key=***&a=b&X-Token=***#f"),
        ("postgresql://h/d?password=x", "postgresql://h/d?password=***"),
        ("sqlite:///a@b:c", "sqlite:///a@b:c"),
        ("https://h/a:b@c", "https://h/a:b@c"),
        ("not a url", "not a url"),
    ],
)
def test_passwords_in_urls_are_masked(url: str, shown: str) -> None:
    """The rest of the URL stays readable."""
    assert shown == masked(url)


def test_every_secret_is_known_to_who_masks_logs(load_text: Load) -> None:
    """Keys, tokens, signing secrets in lists, and passwords inside URLs as they are written and as they are meant."""
    settings = load_text(
        """
        storage: postgresql://u:p%40ss@h/d
        redis: redis://h
        agents: {default: {api_key: k1}}
        channels:
          c: {kind: console, token: t1}
          w: {kind: webhook, secrets: [whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=]}
        """
    ).settings

    assert {"p%40ss", "p@ss", "k1", "t1", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="} == set(
        secrets_of(settings)
    )


def test_no_secret_is_ever_printed(load_text: Load, tmp_path: Path) -> None:
    """Not in the settings' repr, not in a dump, not in the document, not in a warning."""
    (tmp_path / "key").write_text(SECRET, "utf-8")
    configuration = load_text(
        f"""
        storage: postgresql://u:{SECRET}@h/d
        redis: redis://:${{S}}@h
        agents:
          default: {{api_key: {SECRET}, base_url: "https://u:{SECRET}@h"}}
          b: {{api_key: "${{S}}"}}
          c: {{api_key: "file:key"}}
        channels:
          console: {{kind: console, token: {SECRET}}}
        """,
        {"S": SECRET},
    )
    printed = [
        repr(configuration),
        str(configuration.settings),
        configuration.document,
        *map(str, configuration.warnings),
    ]
    printed.append(configuration.settings.model_dump_json())

    assert not [text for text in printed if SECRET in text or "TOPSECRET" in text]


def test_a_literal_secret_works_and_is_warned_about(load_text: Load) -> None:
    """It ends up in copies and commits; a reference does not."""
    configuration = load_text(
        "storage: postgresql://u:pw@h/d\nredis: redis://:${P}@h\nagents: {default: {api_key: abc}}", {"P": "x"}
    )

    assert ["storage", "agents.default.api_key"] == [warning.path for warning in configuration.warnings]
    assert str(configuration.warnings[0]).endswith(
        ":1 storage: ***: a secret stands in the file itself; refer to it: ${NAME} or file:PATH"
    )


def test_a_default_written_into_a_secrets_reference_is_a_secret_too(load_text: Load, refused: Refuse) -> None:
    """It is masked wherever the reference is shown or stored, and warned about."""
    configuration = load_text(f"agents: {{default: {{api_key: '${{K:-{SECRET}}}'}}}}")

    assert '"api_key":"${K:-***}"' in configuration.document
    assert ["agents.default.api_key"] == [warning.path for warning in configuration.warnings]
    assert SECRET not in refused(f"channels: {{a: {{kind: webhook, secrets: ['${{K:-{SECRET}}}']}}}}")[0]
    assert SECRET not in refused(f"redis: '${{K:-http://u:{SECRET}@h}}'")[0]


def test_no_message_shows_a_secret(refused: Refuse) -> None:
    """Not a wrong one, not one under a misspelt key, not one in the wrong place."""
    problems = refused(
        f"""
        storage: mysql://u:{SECRET}@h/d
        agents:
          default: {{api_kye: {SECRET}, api_key: ["{SECRET}"]}}
        channels:
          web: {{kind: webhook, secrets: {SECRET}}}
          two: {{kind: webhook, secrets: [{SECRET}], jwt: {{algorithms: [HS256], issuer: a, audience: b, secret: {SECRET}}}}}
          three: {{kind: nothing, token: {SECRET}}}
        {SECRET}: 1
        """
    )

    assert "my.yaml:4 agents.default.api_kye: ***: is no setting here; did you mean api_key?" in problems
    assert not [problem for problem in problems if SECRET in problem and not problem.startswith("my.yaml:9 ")]


def test_the_environment_wins_for_host_and_port(load_text: Load, refused: Refuse, settings_file: Path) -> None:
    """CLEW_HOST and CLEW_PORT override the file, whether it says anything or not."""
    environ = {"CLEW_HOST": "::1", "CLEW_PORT": "7"}

    assert [("::1", 7), ("::1", 7)] == [
        _address(load_text(text, environ)) for text in ("server: {port: 1}", "redis: redis://h")
    ]
    assert _address(load_text("server: {port: 1}", {"CLEW_PORT": ""})) == ("127.0.0.1", 1)
    assert refused("redis: redis://h", {"CLEW_PORT": "x"})[0].startswith(
        "my.yaml:1 server.port: $CLEW_PORT: is not a whole"
    )
    assert refused("server: [1]", environ)[0].startswith("my.yaml:1 server: (a list): is not a section")


def _address(configuration: Configuration) -> tuple[str, int]:
    return configuration.settings.server.host, configuration.settings.server.port


def test_a_key_is_never_a_reference(refused: Refuse) -> None:
    """Names and ids stand in the file itself, so that they can be found."""
    assert "a key can't be a reference" in refused("agents: {'${A}': {}}")[0]


def test_problems_of_several_files_do_not_mix(tmp_path: Path) -> None:
    """The file is named as it was given."""
    with pytest.raises(InvalidSettings, match=r"other\.yaml:1"):
        load(tmp_path / "other.yaml", {})
