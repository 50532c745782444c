"""Rolling restarts of bert-serve behind a proxy: no request is lost."""

import collections
import concurrent.futures
import contextlib
import csv
import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

from tests.commands.test_serve import serving
from tests.waiting import reserved_addresses, wait_until

HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
NUM_CLIENTS = 64
# Longer than two checks of the proxy.
SHUTDOWN_DELAY_SECONDS = 3
CONFIG = """
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend clients
  bind fd@{clients}
  default_backend bert
frontend operators
  bind fd@{operators}
  stats enable
  stats uri /
backend bert
  option httpchk GET /ready
  default-server check inter 1s fall 1 rise 1
  server first {addresses[0]}
  server second {addresses[1]}
"""


@contextlib.contextmanager
def proxying(addresses: list[str], directory: pathlib.Path):
    """Run HAProxy in front of two servers.

    Yields:
        Its port, and a function that waits until it has found both servers ready.
    """
    with socket.create_server(("127.0.0.1", 0)) as clients, socket.create_server(("127.0.0.1", 0)) as operators:
        config = CONFIG.format(clients=clients.fileno(), operators=operators.fileno(), addresses=addresses)
        (directory / "haproxy.cfg").write_text(config, encoding="utf-8")
        with subprocess.Popen(
            [HAPROXY, "-db", "-f", directory / "haproxy.cfg"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[clients.fileno(), operators.fileno()],
        ) as proxy:
            try:
                yield port_of(clients), lambda: wait_until(lambda: are_up(port_of(operators)))
            finally:
                proxy.kill()


def port_of(server: socket.socket) -> int:
    return server.getsockname()[1]


def are_up(port: int) -> bool:
    """Return whether the proxy's statistics on a port have both servers as ready."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/;csv", timeout=20) as response:
        lines = response.read().decode().splitlines()
    states = [row["status"] for row in csv.DictReader(lines) if row["svname"] in ("first", "second")]
    return states == ["UP", "UP"]


def ask_until(are_restarted: threading.Event, port: int) -> collections.Counter[int | str]:
    """Send requests over connections that stay open, and return how often each status or error came."""
    outcomes: collections.Counter[int | str] = collections.Counter()
    body = json.dumps({"text": "the old dog sees a cat ."})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        while not are_restarted.is_set():
            try:
                connection.request("POST", "/predict", body)
                response = connection.getresponse()
                response.read()
                outcome: int | str = response.status
            except (OSError, http.client.HTTPException) as error:
                outcome = type(error).__name__
                connection.close()
            outcomes[outcome] += 1
    return outcomes


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(HAPROXY is None, reason="needs haproxy, for example from `apt-get install haproxy`")
def test_a_rolling_restart_loses_no_request(trained_once, tmp_path):
    flags = [f"--output_dir={trained_once[0]}", f"--shutdown_delay={SHUTDOWN_DELAY_SECONDS}"]
    with contextlib.ExitStack() as stack:
        addresses = stack.enter_context(reserved_addresses(2))
        ports = [f"--port={address.rpartition(':')[2]}" for address in addresses]
        servers = [stack.enter_context(serving(*flags, port)) for port in ports]
        proxy_port, wait_until_both_are_up = stack.enter_context(proxying(addresses, tmp_path))
        wait_until_both_are_up()
        are_restarted = threading.Event()
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(NUM_CLIENTS))
        clients = [pool.submit(ask_until, are_restarted, proxy_port) for _ in range(NUM_CLIENTS)]
        try:
            for server, port in zip(servers, ports, strict=True):
                assert server.end() == 0
                stack.enter_context(serving(*flags, port))
                wait_until_both_are_up()
        finally:
            are_restarted.set()
        outcomes = sum((client.result() for client in clients), collections.Counter())
    print(outcomes)
    assert outcomes.keys() == {200}


def test_requests_are_answered_during_the_delay(trained_once):
    """/ready is 503 immediately; requests are answered until the delay has passed, then the server ends."""
    with serving(f"--output_dir={trained_once[0]}", "--shutdown_delay=3") as server:
        server.process.terminate()
        start_time = time.monotonic()
        server.wait_until_unready()
        assert time.monotonic() - start_time < 1.5
        while time.monotonic() - start_time < 1.5:
            status, answer, headers = server.ask("POST", "/predict", {"text": "a dog"})
            assert (status, answer["text"], headers["connection"]) == (200, "a dog", "close")
        assert server.ask("GET", "/health")[0] == 200
        assert server.process.wait(20) == 0
        assert 2.5 < time.monotonic() - start_time < 15


def test_a_second_signal_ends_the_delay(trained_once):
    with serving(f"--output_dir={trained_once[0]}", "--shutdown_delay=600") as server:
        server.process.terminate()
        server.wait_until_unready()
        start_time = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - start_time < 10
