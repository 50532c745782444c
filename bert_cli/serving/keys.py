"""API keys with their limits, and the certificate for TLS."""

import base64
import binascii
import dataclasses
import hmac
import math
import re
import ssl
import time
from collections.abc import Collection

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import parse_number
from bert_cli.base.lines import read_text

# A key with its client's name.
_NAMED_KEY = re.compile(r"([A-Za-z0-9._-]{1,64}):(.*)")
_COMMENT = re.compile(r"(^|\s)#.*")
_LIMITS = ("models", "texts_per_second")
# A client may use the texts of this many seconds at once.
_BURST_SECONDS = 1.0


@dataclasses.dataclass
class Client:
    """The owner of an API key.

    Attributes:
        name: name in the log and in metrics, or "".
        models: names of the models that it may use, or () for all.
        texts_per_second: texts that it may send per second, or None for any number.
    """

    name: str = ""
    models: tuple[str, ...] = ()
    texts_per_second: float | None = None
    # Time at which its texts so far are within its limit.
    _free_time: float = 0.0

    def take_texts(self, num_texts: int) -> int:
        """Count texts, and return 0; or else return in how many seconds they may be sent again."""
        if self.texts_per_second is None:
            return 0
        now = time.monotonic()
        if now < self._free_time:
            return math.ceil(self._free_time - now)
        # A request may have more texts than the limit: the next one then has to wait longer.
        self.charge(num_texts)
        return 0

    def charge(self, num_texts: int) -> None:
        """Count texts even if they are over the limit, because they are computed anyway."""
        if self.texts_per_second is not None:
            free_time = max(self._free_time, time.monotonic() - _BURST_SECONDS)
            self._free_time = free_time + num_texts / self.texts_per_second


class ApiKeys:
    """Keys that clients may use; without a file, requests need no key."""

    def __init__(self, path: str | None = None, models: Collection[str] = ()):
        """Read the keys; raise InputError if the file cannot be read, has no key or a wrong line.

        Args:
            path: the file, or None.
            models: names of the models, which keys may have as limits.
        """
        self._path = path
        self._models = models
        self._keys: list[tuple[bytes, Client]] = []
        self.reload()

    def __len__(self) -> int:
        return len(self._keys)

    def reload(self) -> None:
        """Read the file again; after an InputError the old keys stay valid.

        The file has one key per line, such as KEY or NAME:KEY, with limits after it, such as
        models=a,b or texts_per_second=50. Blank lines are skipped, and so are comments, which begin
        with "#" at a line's start or after a space.
        """
        if self._path is None:
            return
        files.check_readable(self._path, "api_key_file")
        lines = [_COMMENT.sub("", line).strip() for line in read_text(self._path).split("\n")]
        keys: dict[bytes, Client] = {}
        numbers: dict[bytes, int] = {}
        for number, line in enumerate(lines, 1):
            if line:
                place = f"{self._path}:{number}"
                key, client = _read_key(line, place, self._models)
                refuse_if(
                    key in keys, f"{place}: has the key of line {numbers.get(key)} again; each key needs one line"
                )
                keys[key], numbers[key] = client, number
        refuse_if(not keys, f"{self._path}: holds no key; one per line is needed")
        self._keys = list(keys.items())

    def find_client(self, authorization: str) -> Client | None:
        """Return the client with the key in an Authorization header, or None for an invalid key.

        The key is a bearer token, or the password of basic authentication, which browsers use. If
        no request needs a key, the result has no limits.
        """
        keys = self._keys
        if not keys:
            return Client()
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                credentials = base64.b64decode(credentials, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return None
        elif scheme.lower() != "bearer":
            return None
        received_key = credentials.strip().encode()
        # Compare with every key, so that the time does not depend on the keys.
        clients = [client for key, client in keys if hmac.compare_digest(received_key, key)]
        return clients[0] if clients else None


def _read_key(line: str, place: str, models: Collection[str]) -> tuple[bytes, Client]:
    """Return the key and the client in a line; raise InputError for a wrong key or limit."""
    word, *limits = line.split()
    match = _NAMED_KEY.fullmatch(word)
    client = Client()
    client.name, key = match.groups() if match else ("", word)
    # A limit alone in its line would be a key that anybody can guess.
    is_limit = word.startswith(tuple(f"{name}=" for name in _LIMITS))
    refuse_if(not key or is_limit, f"{place}: {word.rstrip(':')}: has no key; NAME:KEY is needed, and limits after it")
    # The key itself must not get into a log.
    is_plain = key.isascii() and key.isprintable()
    refuse_if(not is_plain, f"{place}: a key needs printable characters of ASCII; other ones get lost in headers")
    values: dict[str, str] = {}
    for limit in limits:
        name, sign, value = limit.partition("=")
        # Another word may be a part of the key.
        shown = f"{name}=" if sign else "a word after the key"
        is_known = sign and name in _LIMITS
        advice = "models=A,B or texts_per_second=N is needed, without spaces"
        refuse_if(not is_known, f"{place}: {shown} is unknown; {advice}")
        refuse_if(name in values, f"{place}: {name} is there twice")
        values[name] = value
    if (names := values.get("models")) is not None:
        client.models = tuple(names.split(","))
        is_wrong = not set(client.models) <= set(models)
        refuse_if(is_wrong, f"{place}: models={names}: names of models are needed: {', '.join(models)}")
    if (rate := values.get("texts_per_second")) is not None:
        client.texts_per_second = parse_number(rate)
        is_number = client.texts_per_second > 0
        refuse_if(not is_number, f"{place}: texts_per_second={rate}: a number above 0 is needed")
    return key.encode(), client


class Certificate:
    """A certificate and its key, which a reload reads again.

    Attributes:
        context: settings for new connections.
    """

    def __init__(self, certfile: str, keyfile: str | None):
        """Read both files; raise InputError if they are damaged or do not belong together."""
        self._files = certfile, keyfile
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.reload()

    def reload(self) -> None:
        """Read both files again; after an InputError the old certificate stays in use."""
        certfile, keyfile = self._files
        files.check_readable(certfile, "ssl_certfile")
        if keyfile:
            files.check_readable(keyfile, "ssl_keyfile")
        try:
            # Try the files in another context first: a wrong
            # key would leave this one without a certificate.
            for context in (ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), self.context):
                # An encrypted key fails instead of asking for its password.
                context.load_cert_chain(certfile, keyfile, password=lambda: "")
        except (ssl.SSLError, OSError) as error:
            names = certfile if keyfile is None else f"{certfile} and {keyfile}"
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            raise InputError(f"{names}: no certificate with its key, without a password ({reason})") from None
