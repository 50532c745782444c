"""Load on an HTTP server, with minimal clients: open connections, and one text per request.

    python -m benchmarks.http_load --port P --path /predict --texts FILE --clients 64 --seconds 10

FILE has one text per line. The requests are {"text": …}, or {"input": …, "model": NAME} if
--embeddings is used. --texts_per_request=10 sends {"texts": […]} with 10 lines each. Prints one
JSON object: requests, seconds, rate, p50 and p99 in milliseconds, and client_seconds, the processor
time that the clients themselves used.

With --arrivals=R, R requests per second are sent whether or not the server answers, over as many
connections as are needed. The figures are then about the answers with status 200, and `refused`,
`late` and `failed` count those with 429, with 504 and with other statuses.
"""

import argparse
import collections
import itertools
import json
import pathlib
import select
import socket
import time
from collections.abc import Sequence
from typing import NoReturn

_TIMEOUT = 60  # seconds


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """Return the smallest value that is greater than this share of values."""
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def status_of(header_bytes: bytes) -> int:
    """Return a response's status."""
    return int(header_bytes.split(b" ", 2)[1])


def content_length(header_bytes: bytes) -> int:
    """Return a response's Content-Length."""
    lines = header_bytes.decode("latin-1").split("\r\n")
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    raise RuntimeError("an answer without Content-Length")


def request(path: str, body: dict) -> bytes:
    """Return a POST request as bytes."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


class _Client:
    """A connection with one request at a time."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.start = 0.0
        self.status = 0
        # response size in bytes, None until its head has arrived
        self.size: int | None = None

    def send(self, data: bytes) -> None:
        self.received = b""
        self.size = None
        self.start = time.monotonic()
        self.socket.sendall(data)  # small, so it never blocks

    def has_answer(self) -> bool:
        """Read the available bytes, and return whether the response is complete."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise RuntimeError("the server closed a connection")
        self.received += data
        if self.size is None:
            head, separator, _ = self.received.partition(b"\r\n\r\n")
            if not separator:
                return False
            self.status = status_of(head)
            self.size = len(head) + 4 + content_length(head)
        return len(self.received) >= self.size


def measure(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> dict[str, float]:
    """Return the figures for `clients` connections, which take turns in sending the next text.

    Args:
        port: port on this machine.
        requests: requests as bytes, used in turn.
        clients: number of connections.
        seconds: duration after which no more requests are sent.
    """
    times: list[float] = []
    next_requests = itertools.cycle(requests)
    # Do not use asyncio: it takes a tenth of a two-core machine from the measured server.
    poll = select.epoll()
    connections = {client.socket.fileno(): client for client in (_Client(port) for _ in range(clients))}
    for number, client in connections.items():
        poll.register(number, select.EPOLLIN)
        client.send(next(next_requests))
    start = time.monotonic()
    while connections:
        for number, _ in poll.poll(_TIMEOUT) or _too_late():
            client = connections[number]
            if not client.has_answer():
                continue
            if client.status != 200:
                raise RuntimeError(f"the server answered {client.status}")
            now = time.monotonic()
            times.append(now - client.start)
            if now - start < seconds:
                client.send(next(next_requests))
            else:
                poll.unregister(number)
                client.socket.close()
                del connections[number]
    return _figures(times, time.monotonic() - start)


def _figures(times: list[float], duration: float) -> dict[str, float]:
    """Return the figures for requests that took these times, in seconds."""
    times.sort()
    latencies = {"p50": 1000 * percentile(times, 0.5), "p99": 1000 * percentile(times, 0.99)}
    client_time = {"client_seconds": time.process_time()}
    return {"requests": len(times), "seconds": duration, "rate": len(times) / duration} | latencies | client_time


def measure_arrivals(port: int, requests: Sequence[bytes], arrivals: float, seconds: float) -> dict[str, float]:
    """Return the figures for requests that arrive at a rate, however long the answers take.

    Args:
        port: port on this machine.
        requests: requests as bytes, used in turn.
        arrivals: requests per second.
        seconds: duration; only answers within it count.
    """
    times: list[float] = []
    counts: collections.Counter[int] = collections.Counter()
    next_requests = itertools.cycle(requests)
    poll = select.epoll()
    connections: dict[int, _Client] = {}
    idle: list[_Client] = []
    start = time.monotonic()
    num_sent = 0
    while (now := time.monotonic()) - start < seconds:
        while num_sent < (now - start) * arrivals:
            if not idle:
                client = _Client(port)
                connections[client.socket.fileno()] = client
                poll.register(client.socket.fileno(), select.EPOLLIN)
                idle.append(client)
            idle.pop().send(next(next_requests))
            num_sent += 1
        for number, _ in poll.poll(1 / arrivals):
            client = connections[number]
            if client.has_answer():
                counts[client.status] += 1
                if client.status == 200:
                    times.append(time.monotonic() - client.start)
                idle.append(client)
    for client in connections.values():
        client.socket.close()
    statuses = {"refused": counts[429], "late": counts[504], "failed": sum(counts.values()) - counts[429] - counts[504]}
    statuses["failed"] -= counts[200]
    return _figures(times, seconds) | statuses


def _too_late() -> NoReturn:
    raise RuntimeError(f"the server did not answer within {_TIMEOUT} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="/predict")
    parser.add_argument("--texts", required=True)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--texts_per_request", type=int, default=1)
    parser.add_argument("--arrivals", type=float, help="requests per second")
    parser.add_argument("--embeddings", help="the model of requests to an embeddings API")
    settings = parser.parse_args()
    texts = pathlib.Path(settings.texts).read_text(encoding="utf-8").splitlines()
    embeddings_model = settings.embeddings
    bodies = [{"input": text, "model": embeddings_model} if embeddings_model else {"text": text} for text in texts]
    if (count := settings.texts_per_request) > 1:
        bodies = [{"texts": texts[start : start + count]} for start in range(0, len(texts), count)]
    requests = [request(settings.path, body) for body in bodies]
    if settings.arrivals:
        print(json.dumps(measure_arrivals(settings.port, requests, settings.arrivals, settings.seconds)))
    else:
        print(json.dumps(measure(settings.port, requests, settings.clients, settings.seconds)))


if __name__ == "__main__":
    main()
