"""The embedding provider of a served graph: what the cluster declares, spelled as the environment that queries read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.errors import EmbeddingConfig
from omnigraph.providers.config import EmbedConfig

if TYPE_CHECKING:
    from omnigraph.cluster.resources import EmbeddingProfile


def embedding_environ(profile: "EmbeddingProfile | None", environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return the settings of a graph's provider; None for a graph without, which has those of the process.

    Raises `EmbeddingConfig` if the provider is none, or has a key that this process was not given: the graph would
    answer every search by text with a failure.
    """
    if profile is None:
        return None
    given = {"PROVIDER": profile.kind, "BASE_URL": profile.base_url, "MODEL": profile.model}
    settings = {name: value for name, value in environ.items() if not name.startswith("OMNIGRAPH_EMBED_")}
    settings |= {name: value for name, value in environ.items() if name.endswith(("_MS", "_ATTEMPTS", "_SIZE"))}
    settings |= {f"OMNIGRAPH_EMBED_{name}": value for name, value in given.items() if value is not None}
    if profile.api_key is not None:
        variable = profile.api_key.removeprefix("${").removesuffix("}")
        key = settings.get(variable, "").strip()
        if not key:
            raise EmbeddingConfig(
                f"its embedding provider needs the variable {variable}, which is not set", provider=profile.kind
            )
        settings |= EmbedConfig.from_environ(settings).with_key(key).key_environment()
    EmbedConfig.from_environ(settings)
    return settings
