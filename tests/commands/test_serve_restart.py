"""Rolling restarts of bert-serve behind a proxy: no request is lost."""

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

from tests.commands.test_serve import Served, serving

HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
NUM_REQUESTS = 20_000
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
  bind 127.0.0.1:{port}
  default_backend bert
backend bert
  option httpchk GET /ready
  default-server check inter 1s fall 1 rise 1
  server first 127.0.0.1:{servers[0]}
  server second 127.0.0.1:{servers[1]}
"""


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def proxying(servers: list[int], directory: pathlib.Path):
    """Run HAProxy in front of two servers and yield its port."""
    port = free_port()
    config = directory / "haproxy.cfg"
    config.write_text(CONFIG.format(port=port, servers=servers), encoding="utf-8")
    with subprocess.Popen(
        [HAPROXY, "-db", "-f", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as proxy:
        try:
            time.sleep(2.5)  # both servers are checked
            yield port
        finally:
            proxy.kill()


def ask_all(port: int, numbers: "itertools.count[int]") -> dict[int | str, int]:
    """Send requests over connections that stay open, and return how often each status or error came."""
    outcomes: dict[int | str, int] = {}
    body = json.dumps({"text": "the old dog sees a cat ."})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        while next(numbers) < NUM_REQUESTS:
            try:
                connection.request("POST", "/predict", body)
                response = connection.getresponse()
                response.read()
                outcome: int | str = response.status
            except (OSError, http.client.HTTPException) as error:
                outcome = type(error).__name__
                connection.close()
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(HAPROXY is None, reason="needs haproxy, for example from `apt-get install haproxy`")
def test_a_rolling_restart_loses_no_request(trained_once, tmp_path):
    flags = [f"--output_dir={trained_once[0]}", f"--shutdown_delay={SHUTDOWN_DELAY_SECONDS}"]
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(serving(*flags)) for _ in range(2)]
        ports = [server.port for server in servers]
        proxy_port = stack.enter_context(proxying(ports, tmp_path))
        numbers = itertools.count()
        num_restarts = 0
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(NUM_CLIENTS))
        clients = [pool.submit(ask_all, proxy_port, numbers) for _ in range(NUM_CLIENTS)]
        while not all(client.done() for client in clients):
            index = num_restarts % 2
            assert servers[index].end() == 0
            servers[index] = stack.enter_context(serving(*flags, f"--port={ports[index]}"))
            wait_until_ready(servers[index])
            num_restarts += 1
        outcomes: dict[int | str, int] = {}
        for client in clients:
            for outcome, count in client.result().items():
                outcomes[outcome] = outcomes.get(outcome, 0) + count
    print(f"{num_restarts} restarts: {outcomes}")
    assert num_restarts >= 2
    assert outcomes == {200: NUM_REQUESTS}


def wait_until_ready(server: Served) -> None:
    """Return when the server is ready and the proxy has had time for two checks."""
    while server.ask("GET", "/ready")[0] != 200:
        time.sleep(0.1)
    time.sleep(2.5)


def test_requests_are_answered_during_the_delay(trained_once):
    """/ready is 503 immediately; requests are answered until the delay has passed, then the server ends."""
    with serving(f"--output_dir={trained_once[0]}", "--shutdown_delay=3") as server:
        server.process.terminate()
        start_time = time.monotonic()
        while server.ask("GET", "/ready")[0] == 200:
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
        while server.ask("GET", "/ready")[0] == 200:
            pass
        start_time = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - start_time < 10
