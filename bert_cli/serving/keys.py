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
_LIMIT = re.compile(r"(.*?)\s+(\w+)=(\S*)")
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
        self._free_time = max(self._free_time, now - _BURST_SECONDS) + num_texts / self.texts_per_second
        return 0


class ApiKeys:
    """Keys that clients may use; without a file, requests need no key."""

    def __init__(self, path: str | None = None, models: Collection[str] = ()):
        """Read the keys; raise InputError if the file cannot be read, has no key or a wrong limit.

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
        keys = [_read_key(line, f"{self._path}:{number}", self._models) for number, line in enumerate(lines, 1) if line]
        refuse_if(not keys, f"{self._path}: holds no key; one per line is needed")
        self._keys = keys

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
    """Return the key and the client in a line; raise InputError for a wrong limit or without a key."""
    client = Client()
    while match := _LIMIT.fullmatch(line):
        line, name, value = match.groups()
        if name == "models":
            client.models = tuple(filter(None, value.split(",")))
            unknown = next((model for model in client.models if model not in models), None)
            is_wrong = not client.models or unknown is not None
            refuse_if(is_wrong, f"{place}: models={value}: names of models are needed: {', '.join(models)}")
        else:
            refuse_if(name != "texts_per_second", f"{place}: {name}={value}: is unknown; models or texts_per_second")
            client.texts_per_second = parse_number(value)
            is_number = client.texts_per_second > 0
            refuse_if(not is_number, f"{place}: texts_per_second={value}: a number above 0 is needed")
    match = _NAMED_KEY.fullmatch(line)
    client.name, key = match.groups() if match else ("", line)
    refuse_if(not key, f"{place}: {client.name}: has no key; NAME:KEY is needed")
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
            # Try the files in another context first: a wrong key would leave this one without a certificate.
            for context in (ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), self.context):
                # An encrypted key fails instead of asking for its password.
                context.load_cert_chain(certfile, keyfile, password=lambda: "")
        except (ssl.SSLError, OSError) as error:
            names = certfile if keyfile is None else f"{certfile} and {keyfile}"
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            raise InputError(f"{names}: no certificate with its key, without a password ({reason})") from None
