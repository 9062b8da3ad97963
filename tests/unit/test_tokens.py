"""Counting tokens: the stored estimate, the exact o200k count, calibration, and what stands in when ranks are missing."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tokens import Calibration, Estimate, O200k, Tokenizers, estimate, needs_o200k
from tests.unit.talk import row

MIXED = [
    "我的订单尾号是 8821，running shoes 42 码太小了，could you exchange 43? 谢谢 👍",
    "Could you please check whether my overtime request from last Tuesday has been approved? 已经三天没有人审批了。",
    'Order 882142991: {"sku": "A-12", "qty": 2}, total 1,299.00 EUR, 请尽快发货。',
    "지난주 화요일에 제출한 초과근무 신청이 승인되었는지 확인해 주시겠어요? Ticket #48211.",
    "ช่วยตรวจสอบให้หน่อยได้ไหม whether the overtime request was approved",
    "def f(x):\n    return [i for i in range(10) if i % 2 == 0]\n# 返回偶数",
    "👍😀🎉🔥❤️👨‍👩‍👧‍👦🇨🇳🙏🏽 great!",
]


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    tokenizers = Tokenizers()
    asyncio.run(tokenizers.warm())
    return tokenizers


def o200k(tokenizers: Tokenizers) -> O200k:
    tokenizer = tokenizers.pick("o200k", "")
    assert isinstance(tokenizer, O200k)
    return tokenizer


class TestEstimate:
    """The count that is stored with every message."""

    async def test_it_is_close_to_o200k_on_mixed_text(self, tokenizers: Tokenizers) -> None:
        """T2; langchain-ai/langchainjs#11304: characters by four undercount Chinese, Japanese and Korean by half."""
        exact = sum(o200k(tokenizers).count(text) for text in MIXED)

        assert 0.95 <= sum(map(estimate, MIXED)) / exact <= 1.15

    @pytest.mark.parametrize("text", MIXED, ids=range(len(MIXED)))
    async def test_it_is_near_on_each_text_alone(self, text: str, tokenizers: Tokenizers) -> None:
        """A single short text may be off a little more."""
        assert 0.75 <= estimate(text) / o200k(tokenizers).count(text) <= 1.35

    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("", 0),
            ("hello", 1),
            ("hello world", 2),
            ("你好", 2),
            ("internationalization", 3),
            ("12345", 2),
            ("\n\n", 1),
        ],
    )
    def test_pieces_of_words_and_numbers_count(self, text: str, tokens: int) -> None:
        """Words count by nine letters, numbers by three digits, as vocabularies do."""
        assert tokens == estimate(text)

    @pytest.mark.parametrize("text", ["a", "你", " ", "!", "é", "👍", "\u200d", "م", "\x00", "x y"])
    def test_a_huge_text_is_counted_in_linear_time(self, text: str) -> None:
        """A hundred thousand characters of anything never cost more than characters (E30)."""
        assert estimate(text * 100_000) <= 2 * len(text) * 100_000

    @given(st.text(), st.text())
    def test_more_text_is_never_fewer_tokens(self, one: str, two: str) -> None:
        """A longer text never counts less than its beginning, whatever scripts meet."""
        assert estimate(one) <= estimate(one + " " + two) + 1

    def test_a_factor_scales_it_and_stands_in_the_name(self) -> None:
        """The ledger names the factor a prompt was made with."""
        tokenizer = Estimate(1.07)

        assert "estimate x1.07" == tokenizer.name
        assert 11 == tokenizer.count("word " * 10)
        assert 11 == tokenizer.stored(row(1, "user", "anything", 1, tokens=10))

    def test_stored_counts_are_used_as_they_are(self) -> None:
        """A stored count is not counted again; a row without one is."""
        assert 10 == Estimate().stored(row(1, "user", "anything", 1, tokens=10))
        assert 2 == Estimate().stored(row(1, "user", "two words", 1, tokens=0))


class TestO200k:
    """Exact counts for OpenAI's models (B08)."""

    async def test_special_tokens_in_a_persons_text_are_text(self, tokenizers: Tokenizers) -> None:
        """A person who writes a special token gets it counted, not obeyed."""
        assert o200k(tokenizers).count("<|endoftext|>") > 1

    async def test_known_counts(self, tokenizers: Tokenizers) -> None:
        """The ranks are the original's: counts as tiktoken documents them."""
        assert [2, 2, 0] == [o200k(tokenizers).count(text) for text in ("hello world", "你好世界", "")]

    async def test_a_pathological_text_stays_linear(self, tokenizers: Tokenizers) -> None:
        """One letter a hundred thousand times is counted in slices."""
        assert 10_000 < o200k(tokenizers).count("a" * 100_000) < 20_000

    def test_a_row_is_counted_once_for_each_version(self) -> None:
        """A row's count is remembered by id and version; an edit is counted anew."""
        counted: list[str] = []

        def encode(text: str) -> list[int]:
            counted.append(text)
            return [0] * len(text)

        tokenizer = O200k(encode)
        first = row(1, "user", "abc", 1)

        assert [3, 3, 4] == [
            tokenizer.stored(first),
            tokenizer.stored(first),
            tokenizer.stored(row(1, "user", "abcd", 1, version=2)),
        ]
        assert ["abc", "abcd"] == counted

    def test_what_is_remembered_is_bounded(self) -> None:
        """Counts of old rows are forgotten, not piled up (openclaw/openclaw#54155)."""
        counted: list[str] = []

        def encode(text: str) -> list[int]:
            counted.append(text)
            return [0]

        tokenizer = O200k(encode)
        for id_ in range(20_001):
            tokenizer.stored(row(id_, "user", "x", 1))
        tokenizer.stored(row(20_000, "user", "x", 1))
        assert 20_001 == len(counted)
        tokenizer.stored(row(0, "user", "x", 1))

        assert 20_002 == len(counted)


class TestPicking:
    """Which tokenizer counts for which model."""

    @pytest.mark.parametrize(
        "model",
        ["gpt-5-mini", "gpt-4o", "gpt-4.1-nano", "o3", "o4-mini", "openai/gpt-4o", "chatgpt-4o-latest", "gpt-oss-20b"],
    )
    def test_openai_models_are_o200k(self, model: str) -> None:
        """`auto` knows OpenAI's models since gpt-4o, also behind a router's prefix."""
        assert needs_o200k("auto", model)

    @pytest.mark.parametrize(
        "model", ["", "qwen3", "llama3", "gpt-4-turbo", "gpt-3.5-turbo", "olmo-2", "deepseek-chat"]
    )
    def test_other_models_are_estimated(self, model: str) -> None:
        """`auto` estimates everything else, the older OpenAI vocabularies too."""
        assert not needs_o200k("auto", model)

    def test_the_setting_wins(self) -> None:
        """An admin may say what `auto` cannot know."""
        assert needs_o200k("o200k", "qwen3")
        assert not needs_o200k("estimate", "gpt-5")

    async def test_until_the_ranks_are_loaded_an_estimate_counts_and_says_so(self) -> None:
        """The first answers never wait for the ranks."""
        tokenizers = Tokenizers()
        before = tokenizers.pick("auto", "gpt-5-mini").name
        await tokenizers.warm()
        await tokenizers.warm()

        assert "estimate x1.00 (o200k unavailable)" == before
        assert "o200k" == tokenizers.pick("auto", "gpt-5-mini").name

    @pytest.mark.parametrize(
        "content",
        [None, b"not gzip", gzip.compress(b"aGk= 0\n"), gzip.compress(b"aGk= 0\n")[:-4]],
        ids=["missing", "not gzip", "another file", "cut short"],
    )
    async def test_a_missing_or_corrupt_rank_file_leaves_an_estimate(
        self, content: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A damaged installation counts less exactly, says so in log and ledger, and goes on."""
        path = tmp_path / "ranks.gz"
        if content is not None:
            path.write_bytes(content)
        tokenizers = Tokenizers(path)
        await tokenizers.warm()
        await tokenizers.warm()

        assert "estimate x1.00 (o200k unavailable)" == tokenizers.pick("o200k", "").name
        assert "estimate x1.00 (o200k unavailable)" == (await tokenizers.named("o200k")).name
        assert ["o200k ranks unusable; tokens are estimated"] == [record.message for record in caplog.records]

    @pytest.mark.parametrize(
        "name", ["o200k", "estimate x1.00", "estimate x1.07", "estimate x0.50 (o200k unavailable)"]
    )
    async def test_a_ledgers_name_gives_the_tokenizer_again(self, name: str, tokenizers: Tokenizers) -> None:
        """A replay counts as the turn did, whatever has been learned since."""
        assert name == (await tokenizers.named(name)).name

    async def test_an_unknown_name_is_estimated_and_said(self, tokenizers: Tokenizers) -> None:
        """A ledger of a newer release does not break an older one's replay."""
        assert "estimate x1.00 (for cl200k)" == (await tokenizers.named("cl200k")).name


class TestCalibration:
    """Estimates corrected by what the model's service reports (letta-ai/letta#3242, AstrBotDevs/AstrBot#9864)."""

    def test_reports_move_the_factor_towards_the_truth(self) -> None:
        """After some turns the estimate is what the service counts."""
        calibration = Calibration()
        for _ in range(20):
            calibration.observe("qwen3", estimated=1000, reported=1400)

        assert 1.4 == pytest.approx(calibration.factor("qwen3"), abs=0.01)
        assert 1.0 == calibration.factor("another")

    @pytest.mark.parametrize(("estimated", "reported"), [(10, 100), (1000, 0), (0, 5)])
    def test_reports_that_say_nothing_are_ignored(self, estimated: int, reported: int) -> None:
        """Tiny prompts and missing reports leave the factor alone."""
        calibration = Calibration()
        calibration.observe("m", estimated=estimated, reported=reported)

        assert 1.0 == calibration.factor("m")

    def test_absurd_reports_are_clamped(self) -> None:
        """A service that counts in another unit cannot push the budget to nothing."""
        calibration = Calibration()
        for _ in range(50):
            calibration.observe("low", estimated=1000, reported=1)
            calibration.observe("high", estimated=1000, reported=10**9)

        assert 0.5 == pytest.approx(calibration.factor("low"), abs=0.01)
        assert 2.5 == pytest.approx(calibration.factor("high"), abs=0.01)

    def test_the_number_of_models_is_bounded(self) -> None:
        """Model names that come and go do not pile up; the one used last stays."""
        calibration = Calibration()
        for number in range(200):
            calibration.observe(f"m{number}", estimated=1000, reported=2000)

        assert 1.0 == calibration.factor("m0")
        assert 1.25 == calibration.factor("m199")

    def test_a_tokenizer_takes_the_factor_of_its_model(self) -> None:
        """What was learned for a model counts for its next prompt."""
        tokenizers = Tokenizers()
        for _ in range(20):
            tokenizers.calibration.observe("qwen3", estimated=1000, reported=1500)

        assert "estimate x1.50" == tokenizers.pick("auto", "qwen3").name
