"""Request bodies, which have limits."""

import asyncio
import gzip

import pytest
from starlette.requests import Request

from bert_cli.serving.requests import decode_body, read_body
from bert_cli.serving.responses import RequestError
from tests.snapshots import raises


def read(chunks: list[bytes], max_bytes: int, seconds: float = 5.0, headers=(), is_closed: bool = False) -> bytes:
    """Return a request's body that comes in chunks."""
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    last = {"type": "http.disconnect"} if is_closed else {"type": "http.request", "body": b"", "more_body": False}

    async def receive() -> dict:
        if messages:
            return messages.pop(0)
        if seconds == 0:
            await asyncio.Event().wait()
        return last

    return asyncio.run(read_body(Request({"type": "http", "headers": headers}, receive), max_bytes, seconds))


def test_parts_are_joined():
    assert read([b"ab", b"c"], 3) == b"abc"


@pytest.mark.parametrize(
    ("options", "status", "fragment"),
    [
        ({"max_bytes": 2}, 413, "2 bytes"),
        ({"max_bytes": 2, "headers": [(b"content-length", b"3000")]}, 413, "000 bytes"),
        ({"max_bytes": 9, "is_closed": True}, 499, ""),
        ({"max_bytes": 9, "seconds": 0}, 408, "0 s"),
    ],
)
def test_limits(options, status, fragment):
    with raises(RequestError, fragment) as caught:
        read([b"ab", b"c"], **options)
    assert caught.value.status == status


@pytest.mark.parametrize(("length", "is_read"), [(3, True), (10**9, False)])
def test_only_moderate_bodies_are_read_after_the_error(length, is_read):
    with pytest.raises(RequestError) as caught:
        read([], 2, headers=[(b"content-length", str(length).encode())])
    assert caught.value.has_unread_body is is_read


PACKED = gzip.compress(b"a" * 90, mtime=0)


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (PACKED, "br", 415),
        (PACKED, "gzip, gzip", 415),
        (b"no gzip", "gzip", 400),
        (PACKED[:-9], "gzip", 400),
        (PACKED + b"more", "gzip", 400),
        (gzip.compress(b"a" * 101, mtime=0), "gzip", 413),
        (gzip.compress(b"a" * 10_000_000, mtime=0), "gzip", 413),
    ],
)
def test_other_encodings(body, encoding, status):
    with pytest.raises(RequestError) as caught:
        decode_body(body, encoding, 100)
    assert caught.value.status == status


def test_gzip_is_unpacked():
    assert decode_body(PACKED, "gzip", 90) == decode_body(b"a" * 90, "identity", 90) == b"a" * 90
    assert read([PACKED[:10], PACKED[10:]], 100, headers=[(b"content-encoding", b"GZIP")]) == b"a" * 90
