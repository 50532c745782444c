"""bert-serve and other servers under load, from outside: `python -m benchmarks --only serve`."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.measured import MEMORY
from benchmarks.processes import run

SECONDS = 8.0  # of each load
CLIENTS = 64
_START_SECONDS = 120


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _answers(port: int, path: str, body: bytes) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        return connection.getresponse().status == 200
    except (ConnectionError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextlib.contextmanager
def server(command: Sequence[str], port: int, path: str, body: bytes) -> Iterator[tuple[subprocess.Popen, float]]:
    """(a server process, seconds from its start to its first answer); it is killed at the end."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not _answers(port, path, body):
            if process.poll() is not None or time.perf_counter() - began > _START_SECONDS:
                sys.exit(f"error: {' '.join(command)} did not answer")
            time.sleep(0.01)
        yield process, time.perf_counter() - began
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def memory(process: subprocess.Popen) -> float:
    """MiB that the process has now (Linux)."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def load(port: int, path: str, texts: pathlib.Path, clients: int, seconds: float, model: str = "") -> dict[str, float]:
    """See http_load; in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.http_load", f"--port={port}", f"--path={path}", f"--texts={texts}"]
    command += [f"--clients={clients}", f"--seconds={seconds}", *([f"--embeddings={model}"] if model else [])]
    return run(command, "http_load").last_object()


def served(
    command: Sequence[str], port: int, path: str, texts: dict[str, pathlib.Path], model: str = ""
) -> dict[str, float]:
    """Figures of a server; texts: files by their length's name. model: of requests to an embeddings API."""
    first = next(iter(texts.values())).read_text(encoding="utf-8").split("\n")[0]
    body = json.dumps({"input": first, "model": model} if model else {"text": first}).encode()
    found = {}
    with server(command, port, path, body) as (process, cold):
        found["cold"] = cold
        for name, file in texts.items():
            one = load(port, path, file, 1, SECONDS / 2, model)
            many = load(port, path, file, CLIENTS, SECONDS, model)
            found |= {f"client_{name}": one["p50"], f"client_p99_{name}": one["p99"]}
            found |= {f"clients_{name}": many["rate"], f"clients_p99_{name}": many["p99"]}
        found[MEMORY] = memory(process)
    return found


_IN_PROCESS = """
import json, sys, time
from bert_cli import Classifier
model = Classifier.load(sys.argv[1])
found = {}
for name, path in zip(sys.argv[2::2], sys.argv[3::2]):
    texts = open(path, encoding="utf-8").read().split("\\n")[:-1]
    times = []
    for text in texts[:300]:
        began = time.perf_counter(); model.records([text]); times.append(time.perf_counter() - began)
    began = time.perf_counter()
    for start in range(0, len(texts), 512):
        model.records(texts[start : start + 512])
    found |= {f"inside_{name}": 1000 * sorted(times)[150], f"file_{name}": len(texts) / (time.perf_counter() - began)}
print(json.dumps(found))
"""


def ours(trained: pathlib.Path, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """bert-serve, and the same texts without a server: one at a time, and in chunks of 512 as --input_file reads them."""
    port = free_port()
    command = [sys.executable, "-m", "bert_cli.serve", f"--output_dir={trained}", f"--port={port}"]
    found = served(command, port, "/predict", texts)
    pairs = [str(part) for pair in texts.items() for part in pair]
    return found | run([sys.executable, "-c", _IN_PROCESS, str(trained), *pairs], "Classifier").last_object()


def fastapi(python: str, script: pathlib.Path, model: pathlib.Path, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """transformers behind FastAPI."""
    port = free_port()
    return served([python, str(script), str(model), f"--port={port}"], port, "/predict", texts)


def vectors(
    command: Sequence[str], port: int, path: str, model: str, texts: dict[str, pathlib.Path]
) -> dict[str, float]:
    """The figures of 64 clients that ask for vectors."""
    found = served(command, port, path, texts, model)
    return {f"vectors_{name}": found[f"clients_{name}"] for name in texts}


def our_vectors(model: str, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """bert-serve with an encoder."""
    port = free_port()
    command = [sys.executable, "-m", "bert_cli.serve", f"--output_dir={model}", f"--port={port}"]
    return vectors(command, port, "/v1/embeddings", "default", texts)


def infinity(python: str, model: str, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """infinity_emb, with its torch engine."""
    port = free_port()
    program = shutil.which("infinity_emb", path=str(pathlib.Path(python).parent)) or "infinity_emb"
    command = [program, "v2", "--model-id", model, "--port", str(port), "--host", "127.0.0.1", "--engine", "torch"]
    command += ["--served-model-name", "default", "--device", "cpu", "--log-level", "error"]
    return vectors(command, port, "/embeddings", "default", texts)
