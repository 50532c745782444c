"""bert-serve's sockets as a process: TLS, a unix socket, and a port that listens early."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys

import pytest

from bert_cli import serve
from bert_cli.base.errors import InputError
from bert_cli.serving.http.listening import listening
from bert_cli.settings.serving import Server
from tests.commands import helpers
from tests.waiting import wait_until


def make_certificate(folder, name: str) -> tuple[str, str]:
    """Return paths: a certificate for 127.0.0.1, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return str(certificate), str(key)


@contextlib.contextmanager
def starting(*flags: str):
    """Yield a server's process, which may not be ready yet; it ends after the block."""
    command = [sys.executable, "-m", "bert_cli.serve", *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def wait_for_line(process, pattern: str) -> re.Match:
    lines = []
    while not (match := re.search(pattern, line := process.stderr.readline())):
        lines.append(line)
        assert line, lines
    return match


def ask(connection: http.client.HTTPConnection) -> str:
    connection.request("POST", "/predict", json.dumps({"text": "a dog"}))
    return json.loads(connection.getresponse().read())["text"]


def name_of(port: int, *trusted: str) -> str:
    """Return the name in a server's certificate, after a request."""
    context = ssl.create_default_context()
    for path in trusted:
        context.load_verify_locations(path)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
    with contextlib.closing(connection):
        assert ask(connection) == "a dog"
        return dict(entry[0] for entry in connection.sock.getpeercert()["subject"])["commonName"]


def test_tls_and_a_renewed_certificate(trained_once, tmp_path):
    certificate, key = make_certificate(tmp_path, "first")
    other, other_key = make_certificate(tmp_path, "second")
    flags = (f"--output_dir={trained_once[0]}", "--port=0", f"--ssl_certfile={certificate}", f"--ssl_keyfile={key}")
    with starting(*flags) as process:
        port = int(wait_for_line(process, r"serving https://127\.0\.0\.1:(\d+)")[1])
        assert name_of(port, certificate) == "first"
        with pytest.raises(ssl.SSLError):
            name_of(port, other)
        # A certificate without its key is named, and the old one stays.
        os.replace(other, certificate)
        process.send_signal(signal.SIGHUP)
        wait_for_line(process, "the old certificate stays in use")
        os.replace(other_key, key)
        process.send_signal(signal.SIGHUP)
        wait_for_line(process, "reload: the certificate")
        assert name_of(port, certificate) == "second"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_certificates_without_their_key_are_refused(trained_once, tmp_path, capfd):
    certificate, _ = make_certificate(tmp_path, "first")
    _, other_key = make_certificate(tmp_path, "second")
    flags = [f"--output_dir={trained_once[0]}", "--port=0", f"--ssl_certfile={certificate}"]
    for more, fragment in (
        ([], f"{certificate}: no certificate with its key"),
        ([f"--ssl_keyfile={other_key}"], f"{certificate} and {other_key}: no certificate with its key"),
        ([f"--ssl_keyfile={tmp_path / 'none'}"], "none: no such file; check --ssl_keyfile"),
    ):
        outcome = helpers.call(capfd, "bert-serve", serve.main, *flags, *more)
        assert (outcome.code, fragment in outcome.err) == (1, True), outcome.err


class UnixConnection(http.client.HTTPConnection):
    """A connection to a unix socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.host)


def test_a_unix_socket(trained_once, tmp_path):
    path = tmp_path / "bert.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))  # a killed server leaves its socket
    flags = (f"--output_dir={trained_once[0]}", f"--uds={path}")
    with starting(*flags, "--metrics_port=0", "--access_log") as process:
        metrics = wait_for_line(process, r"metrics at http://127\.0\.0\.1:(\d+)")[1]
        wait_for_line(process, f"serving unix:{path}")
        with contextlib.closing(UnixConnection(str(path))) as connection:
            assert ask(connection) == "a dog"
        wait_for_line(process, "POST /predict 200")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(metrics), timeout=20)) as connection:
            connection.request("GET", "/metrics")
            assert connection.getresponse().status == 200
        with starting(*flags) as second:
            wait_for_line(second, f"--uds={path}: another server listens there")
            assert second.wait(20) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not path.exists()


def test_a_busy_server_keeps_its_socket(tmp_path):
    path = str(tmp_path / "busy.sock")
    with contextlib.ExitStack() as stack:
        busy = stack.enter_context(socket.socket(socket.AF_UNIX))
        busy.bind(path)
        busy.listen(0)
        waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
        waiting.connect(path)
        with pytest.raises(InputError, match=f"--uds={path}: another server listens there"):
            stack.enter_context(listening(Server(uds=path)))
    # As after SIGKILL: the socket is there, and nobody listens.
    with listening(Server(uds=path)) as (listener,), listener:
        assert listener.getsockname() == path
    assert not os.path.exists(path)


def test_the_port_listens_before_the_imports(trained_once):
    """A client connects as soon as the flags are read, and waits for its answer."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    with starting(f"--output_dir={trained_once[0]}", f"--port={port}") as process:

        def connects() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        wait_until(connects)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            assert "onnxruntime" not in file.read()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            assert ask(connection) == "a dog"
