"""Who holds which token: read once at the start, kept as digests, compared in constant time."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.errors import BootRefused, InvalidName, MissingPackage, Unauthorized
from omnigraph.manifest.commits import check_actor

AWS_SECRET = "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET"  # noqa: S105 — the name of a variable
TOKENS_FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
TOKENS_JSON = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
ONE_TOKEN = "OMNIGRAPH_SERVER_BEARER_TOKEN"  # noqa: S105 — the same
_SCHEME = b"bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTable:
    """The actor of every token; `source` is what the log calls the place they came from."""

    source: str
    digests: tuple[tuple[bytes, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.digests)

    def actor_of(self, authorization: bytes | None) -> str:
        """Return whose token an `Authorization` header carries; raise `Unauthorized` if it is nobody's."""
        if authorization is None or authorization[:7].lower() != _SCHEME:
            raise Unauthorized("missing bearer token")
        presented = hashlib.sha256(authorization[7:].strip()).digest()
        actor = None
        for digest, owner in self.digests:
            # Every one is compared, so that the time tells nothing about which of them it was.
            if hmac.compare_digest(digest, presented):
                actor = owner
        if actor is None:
            raise Unauthorized("invalid bearer token")
        return actor


def load_tokens(environ: Mapping[str, str]) -> TokenTable:
    """Read the tokens from the first source that is set; raise `BootRefused` for what is none, naming no token."""
    secret = environ.get(AWS_SECRET, "").strip()
    if secret:
        return _table(_pairs(_aws_secret(secret), source=AWS_SECRET), source="AWS Secrets Manager")
    pairs: list[tuple[str, str]] = []
    sources = []
    path, text = environ.get(TOKENS_FILE, "").strip(), environ.get(TOKENS_JSON, "").strip()
    single = environ.get(ONE_TOKEN, "").strip()
    if path:
        pairs += _pairs(_file(path), source=TOKENS_FILE)
        sources.append("token file")
    elif text:
        pairs += _pairs(text, source=TOKENS_JSON)
        sources.append("environment")
    if single:
        pairs.append(("default", single))
        sources.append("single token")
    return _table(pairs, source=" and ".join(sources) or "none")


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BootRefused(f"The file that {TOKENS_FILE} names cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BootRefused(f"The file that {TOKENS_FILE} names is not UTF-8 text.") from error


def _aws_secret(secret_id: str) -> str:
    try:
        import boto3  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingPackage(
            f"{AWS_SECRET} needs a package that is not installed: pip install 'omnigraph[aws]'.",
            package="boto3",
            extra="aws",
        ) from error
    try:
        answer: dict[str, Any] = boto3.client("secretsmanager").get_secret_value(SecretId=secret_id)
    except Exception as error:  # the errors of boto are made at run time, one class for each answer
        raise BootRefused(f"The secret that {AWS_SECRET} names cannot be read: {type(error).__name__}.") from error
    text = answer.get("SecretString")
    if not isinstance(text, str):
        raise BootRefused(f"The secret that {AWS_SECRET} names has no SecretString.")
    return text


def _pairs(text: str, *, source: str) -> list[tuple[str, str]]:
    """Read an object of actors and tokens, keeping actors that are there twice."""
    not_an_object = BootRefused(f"{source} is not a JSON object that gives every actor a token.")
    try:
        # Every object becomes the list of its pairs, so that no key can hide another.
        found = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise not_an_object from None
    is_object = text.lstrip().startswith("{")
    if not is_object or not all(isinstance(name, str) and isinstance(token, str) for name, token in found):
        raise not_an_object
    return list(found)


def _table(pairs: list[tuple[str, str]], *, source: str) -> TokenTable:
    owner_by_digest: dict[bytes, str] = {}
    actors: set[str] = set()
    for raw_actor, raw_token in pairs:
        actor, token = raw_actor.strip(), raw_token.strip()
        if not actor:
            raise BootRefused("A bearer token belongs to an actor without a name.")
        if not token:
            raise BootRefused(f"The bearer token of actor '{actor}' is blank.")
        if actor in actors:
            raise BootRefused(f"Actor '{actor}' has two bearer tokens.")
        try:
            check_actor(actor)
        except InvalidName as error:
            raise BootRefused(f"The tokens name an actor that cannot be used: {error.message}") from error
        digest = hashlib.sha256(token.encode()).digest()
        if digest in owner_by_digest:
            raise BootRefused(f"Actors '{owner_by_digest[digest]}' and '{actor}' have the same bearer token.")
        actors.add(actor)
        owner_by_digest[digest] = actor
    return TokenTable(source=source, digests=tuple(owner_by_digest.items()))
