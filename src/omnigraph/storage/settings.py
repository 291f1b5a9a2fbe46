"""How to reach the store of one graph, resolved once.

Lance and the control objects read the same environment with different precedence: each of them was seen to prefer
`AWS_ENDPOINT_URL_S3` over an explicit `aws_endpoint`, to add `AWS_SESSION_TOKEN` to explicit keys, and to fall back to
different regions. That would split one graph over two stores, so both are configured from the value made here, and
every option that the environment could bend is passed explicitly.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import assert_never
from urllib.parse import urlsplit

from omnigraph.base.plain_text import plain_text
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.uris import GraphRoot, StoreKind

DEFAULT_REGION = "us-east-1"

# Accepted names of storage options, strongest first; those with `aws_` are environment variables when in upper case.
_ACCESS_KEY_ID = ("aws_access_key_id", "access_key_id")
_SECRET_ACCESS_KEY = ("aws_secret_access_key", "secret_access_key")
_SESSION_TOKEN = ("aws_session_token", "session_token")
_REGION = ("aws_region", "region", "aws_default_region")
_ENDPOINT = ("aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint", "endpoint")
_ALLOW_HTTP = ("aws_allow_http", "allow_http")
_FORCE_PATH_STYLE = ("aws_s3_force_path_style",)
CREDENTIAL_OPTIONS = (*_ACCESS_KEY_ID, *_SECRET_ACCESS_KEY, *_SESSION_TOKEN)
STORAGE_OPTIONS = (*CREDENTIAL_OPTIONS, *_REGION, *_ENDPOINT, *_ALLOW_HTTP, *_FORCE_PATH_STYLE)
"""All names of storage options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Static keys; `repr` shows none of them."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings:
    """An S3 endpoint and how to talk to it."""

    bucket: str
    region: str = DEFAULT_REGION
    endpoint: str | None = None
    """None: the region's endpoint at AWS."""
    allow_http: bool = False
    path_style: bool = True
    credentials: Credentials | None = None
    """None: the role of the instance, container or web identity, which both libraries find by themselves."""

    def options(self) -> dict[str, str]:
        """Spell the settings in the option names that Lance and obstore share, without `allow_http`."""
        options = {"aws_region": self.region, "aws_virtual_hosted_style_request": _spell(not self.path_style)}
        if self.endpoint is not None:
            # The name matters: under any other one the environment would win over it.
            options["aws_endpoint_url_s3"] = self.endpoint if self.path_style else self._endpoint_of_bucket()
        if self.credentials is not None:
            options["aws_access_key_id"] = self.credentials.access_key_id
            options["aws_secret_access_key"] = self.credentials.secret_access_key
            if self.credentials.session_token is not None:
                options["aws_session_token"] = self.credentials.session_token
        return options

    def _endpoint_of_bucket(self) -> str:
        """Put the bucket in front of the host, where both libraries expect it in an explicit endpoint."""
        parts = urlsplit(self.endpoint or "")
        return parts._replace(netloc=f"{self.bucket}.{parts.netloc}").geturl()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """What both adapters are built from; a local graph needs nothing."""

    s3: S3Settings | None = None

    @classmethod
    def resolve(
        cls, root: GraphRoot, storage_options: Mapping[str, str] | None, environ: Mapping[str, str]
    ) -> "StoreSettings":
        """Combine explicit options with the environment; options win, and credentials are never mixed from both.

        Raises `StorageError` of kind `configuration` for what could not work, before anything is sent.
        """
        match root.store:
            case StoreKind.LOCAL:
                return cls()
            case StoreKind.S3:
                return cls(s3=_Sources(root, storage_options or {}, environ).s3_settings())
            case never:
                assert_never(never)

    @property
    def lance_options(self) -> dict[str, str] | None:
        """The `storage_options` for every Lance call on this graph."""
        if self.s3 is None:
            return None
        return {**self.s3.options(), "allow_http": _spell(self.s3.allow_http)}

    def storage_options(self, *, with_credentials: bool) -> dict[str, str]:
        """Spell the settings as storage options, which resolve to them anywhere; with credentials, never print them."""
        named = {name.lower(): value for name, value in self.environment.items()}
        return {name: value for name, value in named.items() if with_credentials or name not in CREDENTIAL_OPTIONS}

    @property
    def environment(self) -> dict[str, str]:
        """The same settings as environment variables, for workers in other processes; holds credentials."""
        if self.s3 is None:
            return {}
        options = {
            name: value for name, value in self.s3.options().items() if name != "aws_virtual_hosted_style_request"
        }
        if self.s3.endpoint is not None:
            options["aws_endpoint_url_s3"] = self.s3.endpoint
        options |= {"aws_allow_http": _spell(self.s3.allow_http), "aws_s3_force_path_style": _spell(self.s3.path_style)}
        return {name.upper(): value for name, value in options.items()}


class _Sources:
    """Options and environment under one set of names, and the rules for reading them."""

    def __init__(self, root: GraphRoot, options: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self._root = root
        self._options = {name.lower(): str(value) for name, value in options.items()}
        self._environ = {
            name: environ[name.upper()]
            for name in STORAGE_OPTIONS
            if name.startswith("aws_") and environ.get(name.upper())
        }
        for name, value in (*self._options.items(), *self._environ.items()):
            plain_text(value, what=f"The setting {name}", refusal=self._refusal, is_shown=False)
        unknown = sorted(self._options.keys() - set(STORAGE_OPTIONS))
        if unknown:
            raise self._refusal(
                f"Unknown storage options: {', '.join(unknown)}. Known are {', '.join(sorted(STORAGE_OPTIONS))}."
            )

    def s3_settings(self) -> S3Settings:
        endpoint = self._get(_ENDPOINT)
        allow_http = self._get_bool(_ALLOW_HTTP, default=False)
        if endpoint is not None:
            self._check_endpoint(endpoint, allow_http=allow_http)
        return S3Settings(
            bucket=self._root.bucket,
            region=self._get(_REGION) or DEFAULT_REGION,
            endpoint=endpoint,
            allow_http=allow_http,
            path_style=self._get_bool(_FORCE_PATH_STYLE, default=True),
            credentials=self._credentials(),
        )

    def _credentials(self) -> Credentials | None:
        is_explicit = any(self._options.get(name) for name in CREDENTIAL_OPTIONS)
        source = self._options if is_explicit else self._environ
        access_key_id, secret = _first(source, _ACCESS_KEY_ID), _first(source, _SECRET_ACCESS_KEY)
        token = _first(source, _SESSION_TOKEN)
        if access_key_id is None and secret is None and token is None:
            return None
        if access_key_id is None or secret is None:
            raise self._refusal(
                "S3 credentials are incomplete: the access key id and the secret access key go together."
            )
        if is_explicit and token is None and _first(self._environ, _SESSION_TOKEN):
            # Both libraries would send the environment's token with the explicit keys, and no option removes it:
            # an empty one is sent too, and refused by real stores.
            raise self._refusal(
                "Storage options give an access key without a session token while AWS_SESSION_TOKEN is set. "
                "Unset it, or pass aws_session_token as well."
            )
        return Credentials(access_key_id=access_key_id, secret_access_key=secret, session_token=token)

    def _check_endpoint(self, endpoint: str, *, allow_http: bool) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise self._refusal(
                "The S3 endpoint must look like https://host or https://host:port, without credentials."
            )
        if parts.scheme == "http" and not allow_http:
            raise self._refusal(
                f"The S3 endpoint http://{parts.netloc} is not encrypted. "
                "Use https://, or set AWS_ALLOW_HTTP=true if that is what you want."
            )

    def _get(self, names: tuple[str, ...]) -> str | None:
        return _first(self._options, names) or _first(self._environ, names)

    def _get_bool(self, names: tuple[str, ...], *, default: bool) -> bool:
        text = self._get(names)
        if text is None:
            return default
        if text.lower() in {"true", "1", "yes", "on"}:
            return True
        if text.lower() in {"false", "0", "no", "off"}:
            return False
        raise self._refusal(f"{names[0].upper()} must be true or false.")

    def _refusal(self, message: str) -> StorageError:
        return StorageError(message, storage_kind="configuration", uri=self._root.uri)


def _first(source: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the strongest non-empty value."""
    return next((source[name] for name in names if source.get(name)), None)


def _spell(value: bool) -> str:
    return "true" if value else "false"
