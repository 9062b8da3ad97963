"""What the errors of model services mean."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.settings import AgentSettings
from gateway.agents.refusal import code_of, refusal, retry_after_s, stream_refusal, words
from gateway.agents.request import Dialect, first_dialect, other_dialect
from gateway.errors import AgentFault, AgentRefused, AgentUnavailable, ContextTooLong

# As the services write them; the names only say where they were seen.
TOO_LONG = {
    "openai": {
        "error": {
            "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9012 tokens.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
    "openai, responses": {"error": {"message": "Your input exceeds the context window of this model. Please adjust."}},
    "vllm": {
        "object": "error",
        "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
        "(3000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.",
        "type": "BadRequestError",
        "code": 400,
    },
    "vllm, newer": {"error": {"message": "The decoder prompt (length 5000) is longer than the maximum model length"}},
    "llama.cpp": {
        "error": {
            "code": 400,
            "message": "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 13392,
            "n_ctx": 8192,
        }
    },
    "ollama": {"error": {"message": "prompt too long; exceeded max context length by 4821 tokens"}},
    "ollama, embedded": {"error": "the input length exceeds the context length"},
    "lm studio": {
        "error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with "
        "context length of only 4096 tokens"
    },
    "anthropic": {
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}
    },
    "gemini": [
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                "status": "INVALID_ARGUMENT",
            }
        }
    ],
    "mistral": {"message": "Prompt contains 300735 tokens, too large for model with 131072 maximum context length"},
    "xai": {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
    "openrouter": {"error": {"message": "This endpoint's maximum context length is 32768 tokens.", "code": 400}},
    "dashscope": {
        "error": {"message": "Range of input length should be [1, 30720]", "code": "invalid_parameter_error"}
    },
    "kimi": {"error": {"message": "Invalid request: Your request exceeded model token limit: 8192"}},
    "minimax": {"error": {"message": "invalid params, context window exceeds limit (2013)"}},
    "z.ai": {"error": {"code": "1261", "message": "Prompt 超长"}},
    "tgi": {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000"},
    "a gateway that wraps it": {"detail": '{"error":{"code":"context_length_exceeded"}}'},
    "plain text": "Bad Request: too many tokens in the prompt",
}

NOT_TOO_LONG = {
    "another field": {"error": {"message": "Invalid value for temperature: maximum is 2", "param": "temperature"}},
    "the answer's cap": {"error": {"message": "max_tokens is too large: 200000. This model supports at most 16384."}},
    "a file": {"error": {"message": "maximum number of files exceeded"}},
    "nothing": None,
    "a number": 7,
}


@pytest.mark.parametrize("body", TOO_LONG.values(), ids=TOO_LONG)
def test_a_prompt_that_is_too_long(body: object) -> None:
    """The refusals of the services people run are known for what they are, under 400 and under 500 alike."""
    for status in (400, 500):
        assert isinstance(refusal(status, body, service="model 'm'"), ContextTooLong)


@pytest.mark.parametrize("body", NOT_TOO_LONG.values(), ids=NOT_TOO_LONG)
def test_other_refusals_are_not_taken_for_it(body: object) -> None:
    """A refusal for another reason is not cured by trimming."""
    assert isinstance(refusal(400, body, service="model 'm'"), AgentRefused)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "maximum context length"}}, AgentRefused),
        (402, {"error": {"message": "Insufficient Balance"}}, AgentRefused),
        (413, None, ContextTooLong),
        (429, {"error": {"message": "Too many tokens, please wait before trying again."}}, AgentUnavailable),
        (429, {"error": {"message": "Request too large for m on tokens per min: Limit 30000"}}, ContextTooLong),
        (429, {"error": {"type": "insufficient_quota"}}, AgentRefused),
        (429, {"error": {"message": "账户余额不足"}}, AgentRefused),
        (429, "slow down", AgentUnavailable),
        (404, {"error": {"code": "model_not_found"}}, AgentRefused),
        (418, None, AgentRefused),
        (500, "<html>bad gateway</html>", AgentUnavailable),
    ],
)
def test_the_kind_follows_from_status_and_reason(status: int, body: object, kind: type[AgentFault]) -> None:
    """Only what may pass is `AgentUnavailable`, the one that is tried again."""
    assert kind is type(refusal(status, body, service="model 'm'"))


def test_the_wait_goes_with_the_fault() -> None:
    """What the service asks to wait is kept on the fault."""
    fault = refusal(429, None, service="model 'm'", retry_after_s=3)

    assert isinstance(fault, AgentUnavailable)
    assert 3 == fault.retry_after_s


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "boom"}, AgentUnavailable),
        ({"code": 429, "message": "x"}, AgentUnavailable),
        ({"code": 401}, AgentRefused),
        ({"code": 99, "message": "余额不足"}, AgentRefused),
        ({"code": "context_length_exceeded"}, ContextTooLong),
        ("overloaded", AgentUnavailable),
        (["?"], AgentUnavailable),
    ],
)
def test_errors_inside_a_stream(error: object, kind: type[AgentFault]) -> None:
    """A stream's error object is read like a status; without one of its own it may pass."""
    assert kind is type(stream_refusal(error, service="model 'm'"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["error", "message", "code", "x"]), inner)
    ),
    max_leaves=12,
)


@given(st.integers(300, 599), JSON)
def test_every_body_gives_a_fault_that_repeats_none_of_it(status: int, body: object) -> None:
    """Whatever a service sends becomes a fault; its message holds our words, the status, and at most an identifier."""
    fault = refusal(status, body, service="SERVICE")

    rest = str(fault).replace("SERVICE", "").replace(f"HTTP {status}", "").replace(code_of(body), "")
    assert isinstance(fault, AgentFault)
    assert rest.isascii()
    assert len(words(body)) <= 4_000


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"code": "bad_key", "type": "t"}}, "bad_key"),
        ({"error": {"code": None, "type": "invalid_request_error"}}, "invalid_request_error"),
        ({"code": "x" * 65}, ""),
        ({"error": {"code": "two words"}}, ""),
        ({"error": {"code": 400}}, ""),
        ({"error": "text"}, ""),
        ([], ""),
    ],
)
def test_only_an_identifier_is_shown(body: object, code: str) -> None:
    """A code that could hold a sentence, a prompt or a key is not shown."""
    assert code == code_of(body)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "9", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 99 Jan 99999 00:00:01 GMT"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_service_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds or an HTTP date; nonsense is no wish. Now is ten seconds after 1970 began."""
    assert seconds == retry_after_s(headers, now=10.0)


@pytest.mark.parametrize(
    ("settings", "cap"),
    [
        ({}, "max_completion_tokens"),
        ({"base_url": "https://eu.api.openai.com/v1"}, "max_completion_tokens"),
        ({"base_url": "https://acme.openai.azure.com/openai/v1"}, "max_completion_tokens"),
        ({"base_url": "https://notopenai.com/v1"}, "max_tokens"),
        ({"base_url": "http://127.0.0.1:11434/v1"}, "max_tokens"),
        ({"parameters": {"max_tokens": 5}}, None),
    ],
)
def test_the_first_dialect_is_judged_by_the_address(settings: dict[str, object], cap: str | None) -> None:
    """OpenAI's own hosts are asked their way, others the common way, and a cap set by hand goes before both."""
    assert cap == first_dialect(AgentSettings.model_validate(settings)).cap


def test_no_other_dialect_without_a_reason() -> None:
    """A refusal that names none of our fields, or one that already gave way, changes nothing."""
    assert None is other_dialect(Dialect(cap="max_tokens"), "bad top_p")
    assert None is other_dialect(Dialect(cap="max_tokens", temperature=False), "bad temperature")
    assert None is other_dialect(Dialect(cap="max_tokens", swapped=True, usage=False), "max_tokens stream_options")
    assert None is other_dialect(Dialect(cap=None), "max_tokens")


def test_what_memory_asks_for_besides_gives_way() -> None:
    """Some services know no other temperature than their own, or no JSON schema: the question goes without."""
    dialect = Dialect(cap="max_tokens")

    assert msgspec.structs.replace(dialect, temperature=False) == other_dialect(dialect, "unsupported: temperature")
    assert msgspec.structs.replace(dialect, schema=False) == other_dialect(dialect, "no response_format of json_schema")
