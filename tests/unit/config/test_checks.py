"""Settings that contradict each other, name what is not there, or would let anybody in."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from config.loader import load
from tests.unit.config.conftest import Load, Refuse

ROOT = Path(__file__).parents[3]
GOOD = "whsec_" + base64.b64encode(b"x" * 32).decode()
KEY = "k" * 32


def test_the_file_that_make_run_uses_is_valid_with_and_without_a_key() -> None:
    """The smallest thing that works, on a machine with nothing set."""
    bare = load(ROOT / "config" / "default.yaml", {}).settings.agents["default"]
    keyed = load(ROOT / "config" / "default.yaml", {"OPENAI_API_KEY": "sk", "CLEW_MODEL": "m"}).settings.agents[
        "default"
    ]

    assert (None, None, "gpt-5-mini") == (bare.api_key, bare.base_url, bare.model)
    assert keyed.api_key is not None
    assert ("sk", "m") == (keyed.api_key.get_secret_value(), keyed.model)


def test_all_problems_are_told_at_once_in_the_order_of_the_file(refused: Refuse) -> None:
    """Types, unknown keys, references and cross checks together; and nothing that only follows from another problem."""
    assert [
        "my.yaml:1 server.port: '99999': is more than 65535; use 65535 or less",
        "my.yaml:2 storage: 'mysql://h': is no address of this kind; write postgresql://HOST… or sqlite:///PATH",
        "my.yaml:4 agents.a.modell: ***: is no setting here; did you mean model?",
        "my.yaml:5 agents.a.output_tokens: '40000': leaves nothing of the model's window of 32768 tokens for the prompt; "
        "make it smaller than window_tokens",
        "my.yaml:6 agents.a.api_key: ***: the environment variable KEY is not set; set it, or write ${KEY:-default}",
        "my.yaml:8 channels.web.secrets: (not set): anybody could write to this webhook; set secrets or jwt",
        "my.yaml:10 channels.web.agent: 'aa': is no configured agent; did you mean a?",
        "my.yaml:11 channels.two.kind: (not set): is required; say which kind of channel this is: The channel's kind; "
        "always to be written.",
    ] == refused(
        """\
server: {port: 99999}
storage: mysql://h
agents:
  a: {modell: x,
      output_tokens: 40000,
      api_key: "${KEY}"}
channels:
  web:
    kind: webhook
    agent: aa
  two: {agent: a}
"""
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("serverr: {}", "serverr: (a section): is no setting here; did you mean server?"),
        ("zzz: 1", "zzz: ***: is no setting here; known here: server, storage, "),
        ("channels: {c: {kind: console, tokn: x}}", "channels.c.tokn: ***: is no setting here; did you mean token?"),
        ("defaults: {memory: {window: {turn: 1}}}", "is no setting here; did you mean turns?"),
        ("server: 5", "server: ***: is not a section; write its settings below it"),
        ("agents: [a]", "agents: (a list): is not a section"),
        ("agents: {a: x}", "agents.a: ***: is not a section"),
        ("channels: {a: x}", "channels.a: ***: is not a section"),
        ("server: {port: x}", "server.port: 'x': is not a whole number"),
        ("server: {port: 1.5}", "server.port: '1.5': is not a whole number"),
        ("server: {port: }", "server.port: '': has no value; write one, null for none, or remove the key"),
        ("server: {port: null}", "server.port: 'null': is not a whole number"),
        ("server: {host: ''}", "server.host: '': is empty"),
        ("server: {host: [a]}", "server.host: (a list): is not a text"),
        ("server: {stop_s: soon}", "server.stop_s: 'soon': is not a number"),
        ("server: {stop_s: .inf}", "server.stop_s: '.inf': is not a number"),
        ("server: {stop_s: inf}", "server.stop_s: 'inf': is not a finite number"),
        ("server: {stop_s: [1]}", "server.stop_s: (a list): is not a number"),
        ("server: {stop_s: 0}", "server.stop_s: '0': is not more than 0; use more than 0"),
        ("server: {port: -1}", "server.port: '-1': is less than 0; use 0 or more"),
        ("server: {log_level: loud}", "server.log_level: 'loud': is not one of the choices; use 'debug', 'info', "),
        ("defaults: {observe: perhaps}", "defaults.observe: 'perhaps': is neither true nor false"),
        ("defaults: {observe: [1]}", "defaults.observe: (a list): is neither true nor false"),
        ("defaults: {trigger: mention}", "defaults.trigger: 'mention': is not a list; write it in brackets, [a, b]"),
        ("defaults: {trigger: [mention, shout]}", "defaults.trigger[1]: 'shout': is not one of the choices"),
        ("defaults: {agent: A B}", "defaults.agent: 'A B': is not a name; use small letters a-z, digits and -"),
        ("defaults: {allow: {people: }}", "defaults.allow.people: '': has no value"),
        ("agents: {Änne: {}}", "agents.Änne: (a section): is not a name; use small letters a-z, digits and -"),
        (f"agents: {{{'a' * 64}: {{}}}}", "is longer than 63 characters; shorten it"),
        ("agents: {default: {parameters: {x: [1]}}}", "agents.default.parameters.x: (a list): is not a single value"),
        (
            "channels: {c: {kind: fax}}",
            "channels.c.kind: 'fax': is no kind of channel; use 'console', 'slack', 'telegram', 'webhook'",
        ),
        ("channels: {c: {kind: console, rooms: {'': {}}}}", "is empty; write something, or remove it"),
        ("redis: redis:///", "redis: 'redis:///': is no address of this kind; write redis://HOST… or rediss://HOST…"),
        ("redis: 'redis://h:x'", "redis: 'redis://h:x': is no address of this kind"),
        ("redis: ''", "redis: '': is no address of this kind"),
        ("server: {public_url: example.org}", "server.public_url: 'example.org': is no address of this kind"),
        ("agents: {default: {base_url: 'ftp://h'}}", "agents.default.base_url: 'ftp://h': is no address"),
        ("storage: sqlite:/x.db", "storage: 'sqlite:/x.db': names no file; write sqlite:///PATH"),
        ("storage: 'sqlite:///'", "storage: 'sqlite:///': names no file"),
        ("storage: clew.db", "storage: 'clew.db': is no address of this kind"),
        (
            "server: {trusted_proxies: [10.0.0.0/8, 10.1.2.3/8]}",
            "server.trusted_proxies[1]: '10.1.2.3/8': has bits set",
        ),
        ("server: {trusted_proxies: [proxy]}", "server.trusted_proxies[0]: 'proxy': is no address or network"),
        ("agents: {}", "agents: (a section): names no agent"),
        ("agents: {}\nchannels: {c: {kind: console, agent: x}}", "agents: (a section): names no agent"),
        (
            "agents: {default: {parameters: {messages: 1}}}",
            "agents.default.parameters.messages: '1': is set by Clew itself",
        ),
        (
            "agents: {default: {api_key: ''}}",
            "agents.default.api_key: ***: is empty; write the secret, or remove the key",
        ),
        ("channels: {c: {kind: console, token: ' '}}", "channels.c.token: ***: is empty"),
        (
            "channels: {c: {kind: console}, d: {kind: console}}",
            "channels.d.kind: 'console': there is a console channel al",
        ),
        ("defaults: {agents: [default, x]}", "defaults.agents[1]: 'x': is no configured agent; use default"),
        ("defaults: {fallback: x}", "defaults.fallback: 'x': is no configured agent"),
        ("defaults: {fallback: default}", "defaults.fallback: 'default': is the agent itself"),
        (
            "agents: {a: {}, b: {}}\ndefaults: {agent: a, fallback: b}\nchannels: {c: {kind: console, rooms: {r: {agent: b}}}}",
            "my.yaml:3 channels.c.rooms.r.agent: 'b': is the agent itself; name another agent, or remove the fallback",
        ),
        (
            "agents: {a: {}, b: {}}\nchannels: {c: {kind: console}}",
            "channels.c.agent: (not set): no agent is chosen, and none is named 'default'; "
            "set agent here or in defaults to a or b",
        ),
        (
            "channels: {c: {kind: console, rooms: {r: {threads: {t: {agent: x}}}}}}",
            "channels.c.rooms.r.threads.t.agent: 'x': is no configured agent",
        ),
        ("defaults: {trigger: [prefix]}", "defaults.trigger: (a list): asks for a prefix, and there is none"),
        ("defaults: {prefix: ['']}", "defaults.prefix[0]: '': is empty"),
        ("memory: {window: {turns: 1}}", "memory.window.turns: '1': 2 kept turns do not fit into a window of 1"),
        (
            "memory: {window: {keep_turns: 5}}\nchannels: {c: {kind: console, rooms: {r: {memory: {window: {turns: 4}}}}}}",
            "my.yaml:2 channels.c.rooms.r.memory.window.turns: '4': 5 kept turns do not fit into a window of 4",
        ),
        (
            "memory: {window: {turns: 12}}",
            "memory.window.turns: '12': 9 turns make a summary due that a window of 12 still shows; "
            "set memory.summary.start_turns to 13 or more",
        ),
        (
            "memory: {window: {tokens: 9000}}",
            "memory.window.tokens: '9000': 8000 tokens make a summary due that a window of 9000 still shows; "
            "set memory.summary.start_tokens to 9001 or more",
        ),
        (
            "memory: {window: {messages: 300}}",
            "memory.window.messages: '300': 200 candidates can't fill a window of 300",
        ),
    ],
)
def test_a_faulty_setting_is_refused_with_its_place_and_a_remedy(refused: Refuse, text: str, says: str) -> None:
    """One fault, one message that an admin can act on; a summary that the window makes needless among them (A39)."""
    problems = refused(text)

    assert len(problems) == 1, problems
    assert says in problems[0]


@pytest.mark.parametrize("off", ["model: none", "summary: {enabled: false}"])
def test_where_no_summaries_are_made_a_window_may_be_of_any_length(load_text: Load, off: str) -> None:
    """A39: it contradicts nothing there."""
    loaded = load_text(f"memory: {{{off}, window: {{turns: 40, tokens: 20000}}}}")

    assert 40 == loaded.settings.memory.window.turns


def _webhook(**settings: object) -> str:
    return "channels:\n  web:\n    kind: webhook\n" + "".join(
        f"    {key}: {value}\n" for key, value in settings.items()
    )


@pytest.mark.parametrize("secrets", ["[]", '["${NONE:-}"]', "[]\n    jwt: null"])
def test_a_webhook_that_anybody_could_write_to_does_not_start(refused: Refuse, secrets: str) -> None:
    """No secret and no tokens: refused at start, not at the first forgery (NousResearch/hermes-agent#7089,
    openclaw/openclaw#32599)."""
    (problem,) = refused(_webhook(secrets=secrets))

    assert "channels.web.secrets: " in problem
    assert "anybody could write to this webhook; set secrets or jwt" in problem


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        ("abc", "does not begin with whsec_"),
        ("whsk_" + base64.b64encode(b"x" * 32).decode(), "does not begin with whsec_"),
        ("whsec_!!!", "is not base64 after whsec_"),
        (GOOD + "\\n", "is not base64 after whsec_"),
        ("whsec_张三", "is not base64 after whsec_"),
        ("whsec_" + base64.b64encode(b"x" * 23).decode(), "holds 23 bytes, not 24 to 64"),
        ("whsec_" + base64.b64encode(b"x" * 65).decode(), "holds 65 bytes, not 24 to 64"),
    ],
)
def test_every_signing_secret_is_checked_when_loaded(refused: Refuse, secret: str, says: str) -> None:
    """A secret that could never verify anything is found by `check`, not by the first customer (platform facts 3.1)."""
    (problem,) = refused(_webhook(secrets=f'["{GOOD}", "{secret}"]'))

    assert f"my.yaml:4 channels.web.secrets[1]: ***: {says}; make one:" in problem


@pytest.mark.parametrize("size", [24, 32, 64])
def test_good_signing_secrets_are_accepted(load_text: Load, size: int) -> None:
    """24 to 64 bytes, several for rotation."""
    secret = "whsec_" + base64.b64encode(b"\xff" * size).decode()

    assert load_text(_webhook(secrets=f'["{secret}", "{GOOD}"]')).effective("web").agent == "default"


def _pem(private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with a public key of every family, and a private one."""
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (tmp_path / "rsa.pem").write_bytes(_pem(rsa_key))
    (tmp_path / "ec.pem").write_bytes(_pem(ec.generate_private_key(ec.SECP256R1())))
    (tmp_path / "ed.pem").write_bytes(_pem(ed25519.Ed25519PrivateKey.generate()))
    private = rsa_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "private.pem").write_bytes(private)
    return tmp_path


@pytest.mark.parametrize(
    "rest",
    [
        f"algorithms: [HS256], secret: {KEY}",
        f"algorithms: [HS256, HS512], secret: {KEY}{KEY}",
        "algorithms: [RS256], public_key: 'file:rsa.pem'",
        "algorithms: [ES256], public_key: 'file:ec.pem'",
        "algorithms: [EdDSA], public_key: 'file:ed.pem'",
        "algorithms: [RS256], jwks_url: 'https://id.example/keys'",
        "algorithms: [RS256], jwks_url: 'http://127.0.0.1:9/keys'",
        "algorithms: [RS256], jwks_url: 'http://[::1]/keys'",
        "algorithms: [RS256], jwks_url: 'http://localhost/keys'",
    ],
)
@pytest.mark.usefixtures("keys")
def test_good_token_settings_are_accepted(load_text: Load, rest: str) -> None:
    """One family, one source of keys."""
    assert load_text(_webhook(jwt=f"{{issuer: i, audience: a, {rest}}}")).effective("web").agent == "default"


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("algorithms: [none]", "jwt.algorithms[0]: 'none': is not one of the choices"),
        ("algorithms: []", "jwt.algorithms: (a list): names no algorithm"),
        (f"algorithms: [HS256, RS256], secret: {KEY}", "jwt.algorithms: (a list): mixes families of algorithms"),
        ("algorithms: [RS256, ES256]", "mixes families of algorithms"),
        ("algorithms: [HS256]", "jwt.secret: (not set): is required for HS algorithms"),
        ("algorithms: [HS256], secret: short", "jwt.secret: ***: is shorter than 32 bytes"),
        (f"algorithms: [HS256, HS384], secret: {KEY}", "jwt.secret: ***: is shorter than 48 bytes"),
        (
            f"algorithms: [HS256], secret: {KEY}, public_key: 'file:rsa.pem'",
            "jwt.public_key: 'file:rsa.pem': has no use with HS",
        ),
        (f"algorithms: [HS256], secret: {KEY}, jwks_url: 'https://h'", "jwt.jwks_url: 'https://h': has no use with HS"),
        (
            "algorithms: [RS256]",
            "jwt.jwks_url: (not set): is not there, nor is public_key; set one of public_key and jwks_url",
        ),
        (
            f"algorithms: [RS256], jwks_url: 'https://h', secret: {KEY}",
            "jwt.secret: ***: has no use with these algorithms",
        ),
        (
            "algorithms: [RS256], jwks_url: 'https://h', public_key: 'file:rsa.pem'",
            "jwt.jwks_url: 'https://h': is a second source of keys",
        ),
        (
            "algorithms: [RS256], public_key: 'file:ec.pem'",
            "jwt.public_key: 'file:ec.pem': is no PEM public key for RS256",
        ),
        ("algorithms: [ES256], public_key: 'file:rsa.pem'", "is no PEM public key for ES256"),
        ("algorithms: [RS256], public_key: 'file:private.pem'", "is no PEM public key for RS256"),
        ("algorithms: [RS256], public_key: nonsense", "is no PEM public key for RS256"),
        ("algorithms: [RS256], jwks_url: 'http://id.example/keys'", "could be read and changed on its way; use https"),
        ("algorithms: [RS256], jwks_url: 'http://10.0.0.1/keys'", "could be read and changed on its way"),
        ("algorithms: [RS256], jwks_url: 'file:///etc/passwd'", "could be read and changed on its way"),
        ("algorithms: [RS256], jwks_url: 'https://['", "could be read and changed on its way"),
    ],
)
@pytest.mark.usefixtures("keys")
def test_token_settings_that_could_be_forged_or_never_work_are_refused(refused: Refuse, rest: str, says: str) -> None:
    """No `none`, no mix of shared and public keys, no short secret, no key over a line that others can write to (platform
    facts 3.2)."""
    (problem,) = refused(_webhook(jwt=f"{{issuer: i, audience: a, {rest}}}"))

    assert says in problem
