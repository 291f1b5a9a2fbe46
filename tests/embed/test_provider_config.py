"""What the environment says about the provider."""

import pytest

from omnigraph.errors import EmbeddingConfig
from omnigraph.providers.config import EmbedConfig, Provider


def test_without_settings_the_compatible_provider_and_its_model_are_used():
    config = EmbedConfig.from_environ({})

    assert config.provider is Provider.OPENAI_COMPATIBLE
    assert config.base_url == "https://openrouter.ai/api/v1"
    assert config.model == "openai/text-embedding-3-large"
    assert (config.deadline_seconds, config.timeout_seconds, config.attempts) == (60.0, 30.0, 4)
    assert (config.backoff_seconds, config.batch_size) == (0.2, 32)


@pytest.mark.parametrize(
    ("provider", "keys", "expected"),
    [
        ("openai-compatible", {"OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"}, "r"),
        ("openai-compatible", {"OPENROUTER_API_KEY": " ", "OPENAI_API_KEY": "o"}, "o"),
        ("openai", {"OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"}, "o"),
        ("openai", {"OPENROUTER_API_KEY": "r"}, None),
        ("gemini", {"GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o"}, "g"),
    ],
)
def test_each_provider_looks_for_its_own_keys(provider, keys, expected):
    assert EmbedConfig.from_environ({"OMNIGRAPH_EMBED_PROVIDER": provider, **keys}).api_key == expected


def test_a_missing_key_names_the_variables_and_the_provider():
    config = EmbedConfig.from_environ({})

    with pytest.raises(EmbeddingConfig) as caught:
        config.require_key()

    assert "OPENROUTER_API_KEY or OPENAI_API_KEY" in str(caught.value)
    assert caught.value.details == {"provider": "openai-compatible"}


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown():
    config = EmbedConfig.from_environ({"OPENAI_API_KEY": "sk-\nsecret"})

    with pytest.raises(EmbeddingConfig) as caught:
        config.require_key()

    assert "secret" not in str(caught.value)


def test_the_key_is_not_in_the_repr():
    assert "sk-1" not in repr(EmbedConfig.from_environ({"OPENAI_API_KEY": "sk-1"}))


def test_an_unknown_provider_lists_the_known_ones():
    with pytest.raises(EmbeddingConfig) as caught:
        EmbedConfig.from_environ({"OMNIGRAPH_EMBED_PROVIDER": "acme"})

    assert "openai-compatible, openai, gemini, mock" in str(caught.value)


@pytest.mark.parametrize("flag", ["1", "true", "YES", "on"])
def test_the_mock_flag_beats_an_explicit_provider_and_warns(flag):
    config = EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": flag, "OMNIGRAPH_EMBED_PROVIDER": "gemini"})

    assert config.provider is Provider.MOCK
    assert "gemini" in config.warnings[0]
    assert EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": flag}).warnings == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMNIGRAPH_EMBED_TIMEOUT_MS", "0"),
        ("OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "many"),
        ("OMNIGRAPH_EMBED_BATCH_SIZE", "-1"),
        ("OMNIGRAPH_EMBED_BASE_URL", "ftp://host"),
    ],
)
def test_a_setting_that_cannot_work_is_named(name, value):
    with pytest.raises(EmbeddingConfig) as caught:
        EmbedConfig.from_environ({name: value})

    assert name in str(caught.value)


def test_a_deadline_of_zero_is_none():
    assert EmbedConfig.from_environ({"OMNIGRAPH_EMBED_DEADLINE_MS": "0"}).deadline_seconds is None
