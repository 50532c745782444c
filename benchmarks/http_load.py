"""Clients of an HTTP server, as light as can be: raw connections that stay open, one text a request.

    python -m benchmarks.http_load --port P --path /predict --texts FILE --clients 64 --seconds 10

FILE has a text a line; {"text": …} is sent, or with --embeddings {"input": …, "model": NAME}. Prints one JSON object:
requests, seconds, rate, p50 and p99 in milliseconds.
"""

import argparse
import asyncio
import itertools
import json
import pathlib
import time
from collections.abc import Iterator, Sequence


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


async def _client(port: int, requests: Iterator[bytes], end: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (began := time.monotonic()) < end:
        writer.write(next(requests))
        await reader.readexactly(content_length(await reader.readuntil(b"\r\n\r\n")))
        times.append(time.monotonic() - began)
    writer.close()


async def measure(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> dict[str, float]:
    """See above; each client takes the next text that none has taken yet."""
    times: list[float] = []
    turn = itertools.cycle(requests)
    began = time.monotonic()
    await asyncio.gather(*(_client(port, turn, began + seconds, times) for _ in range(clients)))
    took = time.monotonic() - began
    times.sort()
    shown = {"p50": 1000 * percentile(times, 0.5), "p99": 1000 * percentile(times, 0.99)}
    return {"requests": len(times), "seconds": took, "rate": len(times) / took} | shown


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
    print(json.dumps(asyncio.run(measure(given.port, requests, given.clients, given.seconds))))


if __name__ == "__main__":
    main()
