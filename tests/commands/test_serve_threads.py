"""Threads of bert-serve and of TensorFlow (--num_threads)."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.commands.test_serve import serving


def start(*flags) -> tuple[str, int]:
    """Return the start's line about threads, and the number of threads after a request."""
    with serving(*flags) as served:
        assert served.post("/predict", {"text": "a dog"})[0] == 200
        status = pathlib.Path(f"/proc/{served.process.pid}/status").read_text(encoding="utf-8")
        # One line, although the classifier and the encoder for vectors are two engines.
        assert sum(line.startswith("devices: ") for line in served.lines) == 1
        (line,) = [line.strip() for line in served.lines if line.startswith("threads ")]
        return line, int(re.search(r"^Threads:\s+(\d+)$", status, re.MULTILINE)[1])


def test_the_flag_limits_the_threads_of_the_engine(trained_once):
    flag = f"--output_dir={trained_once[0]}"
    line, single = start(flag, "--num_threads=1")
    assert line == "threads per process: 1 (--num_threads)"
    assert start(flag, "--num_threads=4")[1] - single >= 3
    line, _ = start(flag)
    assert re.fullmatch(rf"threads per process: one per core, .*\b{os.cpu_count()} cores?\b.*", line)


CODE = """
import tensorflow as tf
from bert_cli.training.strategy import make_strategy
make_strategy("auto", use_tpu=False, num_threads=3)
tf.constant(1.0) + 1.0
threading = tf.config.threading
print(threading.get_intra_op_parallelism_threads(), threading.get_inter_op_parallelism_threads())
make_strategy("auto", use_tpu=False, num_threads=3)
make_strategy("auto", use_tpu=False, num_threads=2)
"""


@pytest.mark.slow  # it imports TensorFlow in a new process
def test_threads_of_tensorflow():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "3 3\n"
    warning = "warning: TensorFlow has started in this process already, so it does not use 2 threads"
    assert done.stderr.count(warning) == 1
