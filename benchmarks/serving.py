"""bert-serve and other servers under load from clients: `python -m benchmarks --only serve`."""

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

SECONDS = 8.0  # duration of each load
CLIENTS = 64
_START_SECONDS = 120
# --request_timeout, and texts per request, for `overload`.
_OVERLOAD_TIMEOUT, _OVERLOAD_TEXTS = 6, 10


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
    """Start a server, yield (process, seconds until its first response), and kill it at the end.

    Args:
        command: command line.
        port: its port.
        path: path for the first request.
        body: content of that request.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not _answers(port, path, body):
            if process.poll() is not None or time.perf_counter() - start > _START_SECONDS:
                sys.exit(f"error: {' '.join(command)} did not answer")
            time.sleep(0.01)
        yield process, time.perf_counter() - start
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def memory(process: subprocess.Popen) -> float:
    """Return the process's current memory in MiB (Linux)."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def load(
    port: int, path: str, texts: pathlib.Path, clients: int, seconds: float, model: str = "", flags: Sequence[str] = ()
) -> dict[str, float]:
    """Return the figures of http_load, which runs in a separate process.

    Args:
        port: the server's port.
        path: path for all requests.
        texts: file with one text per line.
        clients: number of connections.
        seconds: duration.
        model: model name for an embeddings API, "" for other requests.
        flags: more flags of http_load.
    """
    command = [sys.executable, "-m", "benchmarks.http_load", f"--port={port}", f"--path={path}", f"--texts={texts}"]
    command += [f"--clients={clients}", f"--seconds={seconds}", *([f"--embeddings={model}"] if model else []), *flags]
    return run(command, "http_load").last_object()


def measure_server(
    command: Sequence[str], port: int, path: str, texts: dict[str, pathlib.Path], model: str = ""
) -> dict[str, float]:
    """Return a server's figures.

    Args:
        command: command line.
        port: its port.
        path: path for all requests.
        texts: files by text length.
        model: see `load`.
    """
    first = next(iter(texts.values())).read_text(encoding="utf-8").split("\n")[0]
    body = json.dumps({"input": first, "model": model} if model else {"text": first}).encode()
    figures = {}
    with server(command, port, path, body) as (process, cold):
        figures["cold"] = cold
        for name, file in texts.items():
            single_client = load(port, path, file, 1, SECONDS / 2, model)
            many_clients = load(port, path, file, CLIENTS, SECONDS, model)
            figures |= {f"client_{name}": single_client["p50"], f"client_p99_{name}": single_client["p99"]}
            figures |= {f"clients_{name}": many_clients["rate"], f"clients_p99_{name}": many_clients["p99"]}
        figures[MEMORY] = memory(process)
    return figures


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
    """Return the figures for bert-serve, and for the same texts without a server.

    Without a server, texts are predicted one at a time, and in chunks of 512 as
    --input_file reads them.
    """
    port = free_port()
    command = [sys.executable, "-m", "bert_cli.serve", f"--output_dir={trained}", f"--port={port}"]
    figures = measure_server(command, port, "/predict", texts)
    pairs = [str(value) for pair in texts.items() for value in pair]
    return figures | run([sys.executable, "-c", _IN_PROCESS, str(trained), *pairs], "Classifier").last_object()


def overload(trained: pathlib.Path, texts: pathlib.Path) -> dict[str, float]:
    """Return the figures for bert-serve with 4 times as many requests as it can answer.

    Each request has 10 texts. `capacity` is the rate with 8 clients that wait for their answers.
    `goodput` is the rate of answers with status 200 if requests arrive at 4 times the capacity.

    Args:
        trained: the model's directory.
        texts: file with one text per line.
    """
    port = free_port()
    command = [sys.executable, "-m", "bert_cli.serve", f"--output_dir={trained}", f"--port={port}"]
    command += [f"--request_timeout={_OVERLOAD_TIMEOUT}"]
    flags = [f"--texts_per_request={_OVERLOAD_TEXTS}"]
    with server(command, port, "/predict", b'{"text": "a text"}'):
        # The first load also measures the model for the server.
        capacity = load(port, "/predict", texts, 8, SECONDS, flags=flags)["rate"]
        figures = load(port, "/predict", texts, 1, 3 * SECONDS, flags=[*flags, f"--arrivals={4 * capacity}"])
    goodput = figures["rate"]
    counts = {f"overload_{name}": figures[name] for name in ("refused", "late", "failed")}
    return {
        "capacity": capacity, "goodput": goodput, "goodput_share": goodput / capacity,
        "overload_p99": figures["p99"], **counts,
    }  # fmt: skip


def fastapi(python: str, script: pathlib.Path, model: pathlib.Path, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """Return the figures of transformers with FastAPI."""
    port = free_port()
    return measure_server([python, str(script), str(model), f"--port={port}"], port, "/predict", texts)


def vectors(
    command: Sequence[str], port: int, path: str, model: str, texts: dict[str, pathlib.Path]
) -> dict[str, float]:
    """Return the figures for 64 clients that request vectors; see `measure_server`."""
    figures = measure_server(command, port, path, texts, model)
    return {f"vectors_{name}": figures[f"clients_{name}"] for name in texts}


def our_vectors(model: str, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """Return the figures of bert-serve with an encoder."""
    port = free_port()
    command = [sys.executable, "-m", "bert_cli.serve", f"--output_dir={model}", f"--port={port}"]
    return vectors(command, port, "/v1/embeddings", "default", texts)


def infinity(python: str, model: str, texts: dict[str, pathlib.Path]) -> dict[str, float]:
    """Return the figures of infinity_emb with its torch engine."""
    port = free_port()
    program = shutil.which("infinity_emb", path=str(pathlib.Path(python).parent)) or "infinity_emb"
    command = [program, "v2", "--model-id", model, "--port", str(port), "--host", "127.0.0.1", "--engine", "torch"]
    command += ["--served-model-name", "default", "--device", "cpu", "--log-level", "error"]
    return vectors(command, port, "/embeddings", "default", texts)
