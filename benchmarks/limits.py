"""What the processor could do: the rate of matrix products alone, and how many of their operations a model needs."""

import functools
import json
import subprocess
import sys

_TF = """
import json, os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
def rate(rows, inner, columns, dtype):
    a, b = (tf.cast(tf.random.normal(shape), dtype) for shape in ((rows, inner), (inner, columns)))
    product, times = tf.function(tf.matmul), []
    for _ in range(24):
        began = time.perf_counter(); product(a, b); times.append(time.perf_counter() - began)
    return 2 * rows * inner * columns / min(times)
"""
_TORCH = """
import json, time, torch
def rate(rows, inner, columns, dtype):
    a, b = (torch.randn(*shape, dtype=getattr(torch, dtype)) for shape in ((rows, inner), (inner, columns)))
    times = []
    for _ in range(24):
        began = time.perf_counter(); a @ b; times.append(time.perf_counter() - began)
    return 2 * rows * inner * columns / min(times)
"""
_END = "\nprint(json.dumps(max(rate(rows, {width}, 4 * {width}, '{dtype}') for rows in (512, 2048, 4096))))"


def product_rates(peer_python: str, width: int, precision: str) -> dict[str, float]:
    """The best rate of products [rows, width] × [width, 4·width] of each library that is there, operations a second."""
    found = {}
    for name, python, code in (("tensorflow", sys.executable, _TF), ("torch", peer_python, _TORCH)):
        command = [python, "-c", code + _END.format(width=width, dtype=precision)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found[name] = float(json.loads(done.stdout.split("\n")[-2]))
    return found


@functools.cache
def operations_of_token(hidden: int, wide: int, layers: int) -> int:
    """Of the dense products of an encoder forwards, for one token: two for each weight."""
    return 2 * layers * (4 * hidden * hidden + 2 * hidden * wide)
