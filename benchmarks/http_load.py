"""Clients of an HTTP server, as light as can be: raw connections that stay open, one text a request.

    python -m benchmarks.http_load --port P --path /predict --texts FILE --clients 64 --seconds 10

FILE has a text a line; {"text": …} is sent, or with --embeddings {"input": …, "model": NAME}. Prints one JSON object:
requests, seconds, rate, p50 and p99 in milliseconds, and client_seconds, what the clients themselves took of the processor.
"""

import argparse
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
    """The least value that this share of the values does not exceed."""
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def content_length(head: bytes) -> int:
    """The Content-Length of an answer's head, whose status has to be 200."""
    lines = head.decode("latin-1").split("\r\n")
    if lines[0].split(" ")[1] != "200":
        raise RuntimeError(f"the server answered {lines[0]}")
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    raise RuntimeError("an answer without Content-Length")


def request(path: str, body: dict) -> bytes:
    """The bytes of a POST."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


class _Client:
    """A connection that always has one request under way."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.began = 0.0
        self.size: int | None = None  # of the answer, once its head is there

    def send(self, data: bytes) -> None:
        self.received = b""
        self.size = None
        self.began = time.monotonic()
        self.socket.sendall(data)  # small, so it never waits

    def has_answer(self) -> bool:
        """Read what has come; whether it is all of the answer."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise RuntimeError("the server closed a connection")
        self.received += data
        if self.size is None:
            head, found, _ = self.received.partition(b"\r\n\r\n")
            if not found:
                return False
            self.size = len(head) + 4 + content_length(head)
        return len(self.received) >= self.size


def measure(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> dict[str, float]:
    """See above; each client takes the next text that none has taken yet."""
    times: list[float] = []
    turn = itertools.cycle(requests)
    # Not asyncio: it would take a tenth of a machine of two cores from the server that is measured.
    poll = select.epoll()
    connections = {client.socket.fileno(): client for client in (_Client(port) for _ in range(clients))}
    for number, client in connections.items():
        poll.register(number, select.EPOLLIN)
        client.send(next(turn))
    began = time.monotonic()
    while connections:
        for number, _ in poll.poll(_TIMEOUT) or _too_late():
            client = connections[number]
            if not client.has_answer():
                continue
            now = time.monotonic()
            times.append(now - client.began)
            if now - began < seconds:
                client.send(next(turn))
            else:
                poll.unregister(number)
                client.socket.close()
                del connections[number]
    took = time.monotonic() - began
    times.sort()
    shown = {"p50": 1000 * percentile(times, 0.5), "p99": 1000 * percentile(times, 0.99)}
    used = {"client_seconds": time.process_time()}
    return {"requests": len(times), "seconds": took, "rate": len(times) / took} | shown | used


def _too_late() -> NoReturn:
    raise RuntimeError(f"the server did not answer within {_TIMEOUT} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="/predict")
    parser.add_argument("--texts", required=True)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--embeddings", help="the model of requests to an embeddings API")
    given = parser.parse_args()
    texts = pathlib.Path(given.texts).read_text(encoding="utf-8").splitlines()
    named = given.embeddings
    bodies = [{"input": text, "model": named} if named else {"text": text} for text in texts]
    requests = [request(given.path, body) for body in bodies]
    print(json.dumps(measure(given.port, requests, given.clients, given.seconds)))


if __name__ == "__main__":
    main()
