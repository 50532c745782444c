"""bert-serve's limits for clients: too large bodies, host names, and a warning for servers without a key."""

import contextlib
import http.client
import logging
import socket
import time

import pytest

from bert_cli import serve
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.settings.serving import read_hosts
from tests.commands.test_serve import serving


@pytest.fixture(scope="module")
def server(trained_once):
    flags = ("--max_body_bytes=20000", "--allowed_hosts=127.0.0.1,*.example.com")
    with serving(f"--output_dir={trained_once[0]}", *flags) as served:
        yield served


@pytest.mark.parametrize("headers", ["", "Expect: 100-continue\r\n"])
@pytest.mark.parametrize("length", [20_001, 150_000, 10**12])
def test_a_too_large_content_length_is_refused_before_the_body(server, length, headers):
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Length: {length}\r\n\r\n"
    start_time = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head.encode())
        received = b""
        while b"--max_body_bytes" not in received:
            data = connection.recv(65536)
            assert data, received
            received += data
    assert received.startswith(b"HTTP/1.1 413 ")
    assert time.monotonic() - start_time < 4
    assert server.post("/predict", {"text": "a dog"})[0] == 200


def test_a_client_that_sends_all_of_a_too_large_body_gets_the_answer(server):
    for path in ("/predict", "/v1/models/default:predict"):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
            connection.request("POST", path, b"x" * 150_000)
            response = connection.getresponse()
            assert (response.status, b"--max_body_bytes" in response.read()) == (413, True)


def test_other_hosts_are_refused(server):
    for host, status in (("api.example.com", 200), ("127.0.0.1:1", 200), ("evil.test", 400), ("", 400)):
        assert server.ask("POST", "/predict", {"text": "a dog"}, Host=host)[0] == status
        assert server.ask("GET", "/v1/models", Host=host)[0] == status
        assert server.ask("GET", "/ready", Host=host)[0] == 200


@pytest.mark.parametrize("text", ["http://a.example", "a.example:80", "a b", "*", "a.*", "[::1]:80"])
def test_hosts_that_are_none(text):
    with pytest.raises(InputError, match="--allowed_hosts="):
        read_hosts(text)


@pytest.mark.parametrize(
    ("flags", "is_warned"),
    [
        (["--host=0.0.0.0"], True),
        (["--host=::"], True),
        (["--host=10.0.0.1"], True),
        (["--host=127.0.0.2"], False),
        (["--host=::1"], False),
        (["--host=localhost"], False),
        (["--host=0.0.0.0", "--api_key_file=keys.txt"], False),
    ],
)
def test_a_server_that_others_can_reach_without_a_key_is_warned_of(flags, is_warned, capfd):
    LOG.setLevel(logging.INFO)
    assert serve.main(["--output_dir=nowhere", *flags]) == 1
    assert ("without --api_key_file" in capfd.readouterr().err) == is_warned
