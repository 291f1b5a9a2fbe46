"""Which provider embeds, under which settings; made from the environment or by a caller of the Python API."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from urllib.parse import urlsplit

from omnigraph.base.values import dataclass
from omnigraph.errors import EmbeddingConfig

MOCK_VARIABLE = "OMNIGRAPH_EMBEDDINGS_MOCK"
_TRUE = frozenset({"1", "true", "yes", "on"})


class Provider(StrEnum):
    """Who makes vectors; the first two speak the same language to different services."""

    OPENAI_COMPATIBLE = "openai-compatible"
    OPENAI = "openai"
    GEMINI = "gemini"
    MOCK = "mock"


@dataclass(frozen=True, slots=True)
class _Defaults:
    base_url: str
    model: str
    keys: tuple[str, ...]


_DEFAULTS = {
    Provider.OPENAI_COMPATIBLE: _Defaults(
        "https://openrouter.ai/api/v1", "openai/text-embedding-3-large", ("OPENROUTER_API_KEY", "OPENAI_API_KEY")
    ),
    Provider.OPENAI: _Defaults("https://api.openai.com/v1", "text-embedding-3-large", ("OPENAI_API_KEY",)),
    Provider.GEMINI: _Defaults(
        "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-2", ("GEMINI_API_KEY",)
    ),
    Provider.MOCK: _Defaults("", "", ()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedConfig:
    """One provider and how patient to be with it; `repr` never shows the key."""

    provider: Provider
    model: str
    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    deadline_seconds: float | None = 60.0
    """Budget of one request over all its retries; None is no limit."""
    timeout_seconds: float = 30.0
    attempts: int = 4
    backoff_seconds: float = 0.2
    batch_size: int = 32
    """Documents per request, where the provider takes several."""
    requests_at_once: int = 4
    """Over all workers. Requests wait for the network; providers throttle long before a machine becomes busy."""
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "EmbedConfig":
        """Read the environment; raise `EmbeddingConfig` for what could not work.

        A missing key is left to `require_key`: a run that embeds nothing needs none.
        """
        settings = {name: value.strip() for name, value in environ.items() if value.strip()}
        provider, warnings = _provider(settings)
        defaults = _DEFAULTS[provider]
        deadline_ms = _count(settings, "OMNIGRAPH_EMBED_DEADLINE_MS", 60_000, low=0, provider=provider)
        return cls(
            provider=provider,
            model=settings.get("OMNIGRAPH_EMBED_MODEL", defaults.model),
            base_url=_base_url(settings, provider),
            api_key=next((settings[name] for name in defaults.keys if name in settings), None),
            deadline_seconds=deadline_ms / 1000 or None,
            timeout_seconds=_count(settings, "OMNIGRAPH_EMBED_TIMEOUT_MS", 30_000, provider=provider) / 1000,
            attempts=_count(settings, "OMNIGRAPH_EMBED_RETRY_ATTEMPTS", 4, provider=provider),
            backoff_seconds=_count(settings, "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS", 200, low=0, provider=provider) / 1000,
            batch_size=_count(settings, "OMNIGRAPH_EMBED_BATCH_SIZE", 32, provider=provider),
            requests_at_once=_count(settings, "OMNIGRAPH_EMBED_CONCURRENCY", 4, provider=provider),
            warnings=warnings,
        )

    def require_key(self) -> str:
        """Return the key; raise `EmbeddingConfig` naming where it is looked for. Asked only when a request is due."""
        if self.api_key is None:
            names = " or ".join(_DEFAULTS[self.provider].keys)
            raise EmbeddingConfig(
                f"The embedding provider {self.provider} needs a key: set {names}, or choose another provider with "
                "OMNIGRAPH_EMBED_PROVIDER.",
                provider=self.provider.value,
            )
        if not (self.api_key.isascii() and self.api_key.isprintable() and " " not in self.api_key):
            raise EmbeddingConfig(
                f"The key of the embedding provider {self.provider} has characters that no key has; set it again.",
                provider=self.provider.value,
            )
        return self.api_key

    def with_key(self, key: str) -> "EmbedConfig":
        """Take a key that somebody found elsewhere."""
        return replace(self, api_key=key)

    def key_environment(self) -> dict[str, str]:
        """Return the environment in which `with_key_from` finds the key again, on a worker in another process."""
        return {self._key_names[0]: self.api_key} if self.api_key is not None else {}

    def shared_by(self, workers: int) -> "EmbedConfig":
        """Return what one of so many workers is told: its share of the requests, and no key."""
        return replace(self, api_key=None, requests_at_once=max(1, self.requests_at_once // workers))

    def with_key_from(self, environ: Mapping[str, str]) -> "EmbedConfig":
        """Take the key that the environment of this process holds."""
        settings = {name: value.strip() for name, value in environ.items() if value.strip()}
        return replace(self, api_key=next((settings[name] for name in self._key_names if name in settings), None))

    @property
    def _key_names(self) -> tuple[str, ...]:
        return _DEFAULTS[self.provider].keys

    def require_model(self, recorded: str | None, *, where: str) -> None:
        """Raise `EmbeddingConfig` if the schema records another model than this one for the property `where`."""
        if recorded is not None and recorded != self.model:
            raise EmbeddingConfig(
                f"{where} records the embedding model {recorded!r}, but the provider {self.provider} uses "
                f"{self.model!r}. Set OMNIGRAPH_EMBED_MODEL={recorded}, or change the schema.",
                provider=self.provider.value,
            )


def _provider(settings: Mapping[str, str]) -> tuple[Provider, tuple[str, ...]]:
    named = settings.get("OMNIGRAPH_EMBED_PROVIDER")
    if settings.get(MOCK_VARIABLE, "").lower() in _TRUE:
        if named in {None, Provider.MOCK}:
            return Provider.MOCK, ()
        return Provider.MOCK, (f"{MOCK_VARIABLE} is set: vectors are mock vectors, not those of {named}",)
    if named is None:
        return Provider.OPENAI_COMPATIBLE, ()
    try:
        return Provider(named), ()
    except ValueError as exc:
        raise EmbeddingConfig(
            f"OMNIGRAPH_EMBED_PROVIDER is {named!r}; it is one of {', '.join(Provider)}.", provider=named
        ) from exc


def _base_url(settings: Mapping[str, str], provider: Provider) -> str:
    url = settings.get("OMNIGRAPH_EMBED_BASE_URL", _DEFAULTS[provider].base_url).rstrip("/")
    parts = urlsplit(url)
    if provider is not Provider.MOCK and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise EmbeddingConfig("OMNIGRAPH_EMBED_BASE_URL must look like https://host/path.", provider=provider.value)
    return url


def _count(settings: Mapping[str, str], name: str, default: int, *, low: int = 1, provider: Provider) -> int:
    text = settings.get(name, str(default))
    if not text.isdecimal() or int(text) < low:
        raise EmbeddingConfig(
            f"{name} is {text!r}; it must be a whole number of at least {low}.", provider=provider.value
        )
    return int(text)
