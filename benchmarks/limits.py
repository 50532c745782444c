"""Upper limits of speed: the device's rate of matrix products, and a model's operations per token."""

import json
import subprocess
import sys
from collections.abc import Mapping

_TF = """
import json, os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
def rate(rows, inner, columns, dtype):
    a, b = (tf.cast(tf.random.normal(shape), dtype) for shape in ((rows, inner), (inner, columns)))
    product, times, wait = tf.function(tf.matmul), [], tf.test.experimental.sync_devices
    for _ in range(24):
        wait(); began = time.perf_counter(); product(a, b); wait(); times.append(time.perf_counter() - began)
    return 2 * rows * inner * columns / min(times)
"""
_TORCH = """
import json, time, torch
def rate(rows, inner, columns, dtype):
    device = torch.device("{device}")
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    a, b = (torch.randn(*shape, dtype=getattr(torch, dtype), device=device) for shape in ((rows, inner), (inner, columns)))
    times = []
    for _ in range(24):
        wait(); began = time.perf_counter(); a @ b; wait(); times.append(time.perf_counter() - began)
    return 2 * rows * inner * columns / min(times)
"""
TORCH_DEVICES = {"cpu": "cpu", "gpu": "cuda"}
_ROWS = {"cpu": (512, 2048, 4096), "gpu": (4096, 16384, 65536)}
_END = "\nprint(json.dumps(max(rate(rows, {width}, 4 * {width}, '{dtype}') for rows in {rows})))"


def product_rates(peer_python: str, width: int, precision: str, device: str = "cpu") -> dict[str, float]:
    """Return the best rate of products [rows, width] × [width, 4·width] in operations per second.

    Args:
        peer_python: interpreter that may have PyTorch.
        width: the model's hidden size.
        precision: dtype, such as "float32".
        device: "cpu" or "gpu".

    Returns:
        The rate by library; a library that cannot be used has no key.
    """
    rates = {}
    for name, python, code in (("tensorflow", sys.executable, _TF), ("torch", peer_python, _TORCH)):
        end = _END.format(width=width, dtype=precision, rows=_ROWS[device])
        command = [python, "-c", code.replace("{device}", TORCH_DEVICES[device]) + end]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode == 0:
            rates[name] = float(json.loads(process.stdout.split("\n")[-2]))
    return rates


def operations_of_token(config: Mapping[str, int]) -> int:
    """Return the operations in an encoder's dense products per token, forward: two per weight.

    Args:
        config: the values of bert_config.json.
    """
    hidden, intermediate = config["hidden_size"], config["intermediate_size"]
    return 2 * config["num_hidden_layers"] * (4 * hidden * hidden + 2 * hidden * intermediate)
