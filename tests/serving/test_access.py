"""Request ids, and log lines for requests."""

import asyncio
import json
import logging
import os
import re
import string

import pytest

from bert_cli.serving import access
from bert_cli.serving.http.protocol import plain_error
from bert_cli.serving.keys import Client
from bert_cli.serving.responses import error_response
from bert_cli.settings.serving import read_ip_networks


def scope_with(*headers, path=b"/predict"):
    return {
        "type": "http",
        "method": "POST",
        "path": path.decode("latin-1"),
        "raw_path": path,
        "headers": list(headers),
        "client": ("10.0.0.1", 5000),
    }


def id_for(value):
    return access.begin_request(scope_with((b"host", b"a"), (b"x-request-id", value))).id


@pytest.mark.parametrize(
    "value",
    [b"a", b"x" * 128, b"2026-11-26T10:00.1/a+b=c@d~e_f", string.ascii_letters.encode(), b"Root=1-67891233-abc"],
)
def test_ids_of_clients_are_used(value):
    assert id_for(value) == value.decode()


@pytest.mark.parametrize(
    "value",
    [b"", b"x" * 129, b"a b", b"a\nb", b"a\r\nset-cookie: b", b'"', b"<script>", b"\xc3\xbc", b"a;b", b"{}", b"a\n"],
)
def test_invalid_ids_are_replaced(value):
    request_id = id_for(value)
    assert len(request_id) == 32
    assert set(request_id) <= set(string.hexdigits)
    assert id_for(value) != request_id


def test_concurrent_requests_have_separate_records():
    async def answer(name, both_have_begun):
        access.begin_request(scope_with((b"x-request-id", name)))
        await both_have_begun.wait()
        return access.current_request_id()

    async def answer_two():
        both_have_begun = asyncio.Barrier(2)
        return await asyncio.gather(answer(b"one", both_have_begun), answer(b"two", both_have_begun))

    assert asyncio.run(answer_two()) == ["one", "two"]


def test_errors_have_the_id():
    id_for(b"abc")
    assert json.loads(error_response(400, "wrong").body)["error"]["request_id"] == "abc"
    # TensorFlow Serving's clients read a text under "error".
    assert json.loads(error_response(400, "wrong", form=plain_error).body) == {"error": "wrong", "request_id": "abc"}


TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        (f"00-{TRACE}-{SPAN}-01", "01"),
        (f"00-{TRACE}-{SPAN}-00", "00"),
        (f"cc-{TRACE}-{SPAN}-01-later", "01"),
        (f"00-{TRACE}-{SPAN}-01-later", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-1", None),
        ("", None),
    ],
)
def test_traces_are_continued(header, flags):
    record = access.begin_request({"headers": [(b"traceparent", header.encode())]})
    message = access.with_ids({"type": "http.response.start", "headers": []}, record)
    sent = dict(message["headers"])
    if flags is None:
        assert (record.trace_id, b"traceparent" in sent) == ("", False)
        return
    match = re.fullmatch(rf"00-{TRACE}-([0-9a-f]{{16}})-{flags}", sent[b"traceparent"].decode())
    assert match[1] != SPAN
    assert record.trace_id == TRACE


def test_line_has_no_line_ends_from_the_path(caplog):
    logger = logging.getLogger("bert_cli")
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.INFO, "bert_cli"):
            path = b"/predict%0Aerror:%20no\xff" + b"x" * 500
            lines = access.RequestLog()
            lines.add(access.RequestRecord("abc", "tags", 3, Client("team-a")), scope_with(path=path), 200, 0.01234)
            assert not caplog.records
            lines.write()
            lines.write()
    finally:
        logger.removeHandler(caplog.handler)
    (record,) = caplog.records
    assert record.fields["path"].startswith("/predict%0Aerror:%20no\\xffxxx")
    assert len(record.fields["path"]) == 200
    assert {name: record.fields[name] for name in ("client", "key", "process")} == {
        "client": "10.0.0.1", "key": "team-a", "process": os.getpid()
    }  # fmt: skip
    assert {name: record.fields[name] for name in ("method", "status", "milliseconds", "texts", "model", "request_id")} == {
        "method": "POST", "status": 200, "milliseconds": 12.34, "texts": 3, "model": "tags", "request_id": "abc"
    }  # fmt: skip
    assert record.getMessage().endswith(" 200 12.3 ms, texts: 3, client 10.0.0.1 (team-a), request abc")


@pytest.mark.parametrize(
    ("forwarded", "trusted", "address"),
    [
        ("", "", "10.0.0.1"),
        ("1.2.3.4", "", "10.0.0.1"),
        ("1.2.3.4", "10.0.0.1", "1.2.3.4"),
        ("9.9.9.9, 1.2.3.4", "10.0.0.1", "1.2.3.4"),
        ("9.9.9.9, 1.2.3.4, 10.0.0.7", "10.0.0.0/8,::1", "1.2.3.4"),
        ("fe80::1, 10.0.0.7", "10.0.0.0/8", "fe80::1"),
        ("<script>", "10.0.0.0/8", "10.0.0.1"),
    ],
)
def test_only_proxies_that_are_trusted_name_the_client(forwarded, trusted, address):
    scope = scope_with((b"x-forwarded-for", forwarded.encode())) if forwarded else scope_with()
    assert access.client_address(scope, read_ip_networks(trusted)) == address
