"""API keys of the server, read from the file in --api_key_file."""

import base64
import binascii
import hmac
import re

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import read_text

_COMMENT = re.compile(r"(^|\s)#.*")


class ApiKeys:
    """Keys that clients may use; without a file, requests need no key."""

    def __init__(self, path: str | None = None):
        """Read the keys; raise InputError if the file cannot be read or has no key."""
        self._path = path
        self._keys: list[bytes] = []
        self.reload()

    def __len__(self) -> int:
        return len(self._keys)

    def reload(self) -> None:
        """Read the file again; after an InputError the old keys stay valid.

        The file has one key per line. Blank lines are skipped, and so are comments, which begin
        with "#" at the start of the line or after a space.
        """
        if self._path is None:
            return
        files.check_readable(self._path, "api_key_file")
        lines = [_COMMENT.sub("", line).strip() for line in read_text(self._path).split("\n")]
        keys = [line.encode() for line in lines if line]
        refuse_if(not keys, f"{self._path}: holds no key; one per line is needed")
        self._keys = keys

    def accept(self, authorization: str) -> bool:
        """Return whether an Authorization header has a valid API key.

        The key is a bearer token, or the password of basic authentication, which browsers use.
        """
        keys = self._keys
        if not keys:
            return True
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                credentials = base64.b64decode(credentials, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        received_key = credentials.strip().encode()
        # Compare with every key, so that the time does not depend on the keys.
        return sum(hmac.compare_digest(received_key, key) for key in keys) > 0
