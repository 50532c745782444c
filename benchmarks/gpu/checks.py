"""The checks in `make check-gpu` except speed: each runs whole programs on the device.

A check is a function that takes a Bench and returns a line for the table. It raises CheckError with
the reason if a result is wrong, and OutOfTimeError if the time is used up.
"""

import csv
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.weights.checkpoint import Tf1Reader

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "fixtures" / "golden" / "classifier"
PRECISIONS = ("float32", "bfloat16")
# Tolerance for probabilities: float32 as in the tests, bfloat16 for rounding in a few layers.
_TOLERANCE = {"float32": 1e-5, "bfloat16": 0.02}
# Tolerance for probabilities after training on several devices and on one, which add in
# a different order.
_REPLICA_TOLERANCE = 2e-3
_DEVICES = """
import json, tensorflow as tf
gpus = tf.config.list_physical_devices("GPU")
details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
print(json.dumps({
    "tensorflow": tf.__version__, "cuda": tf.sysconfig.get_build_info().get("cuda_version", ""),
    "gpus": [detail.get("device_name", "unknown") for detail in details],
    "compute_capability": [list(detail.get("compute_capability", ())) for detail in details],
}))
"""
_SERVED = """
import json, sys, tensorflow as tf, tensorflow_text
texts = json.load(sys.stdin)
answers = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](text=tf.constant(texts))
print(json.dumps(answers["probabilities"].numpy().tolist()))
"""


class CheckError(Exception):
    """The device gives a wrong result, or a program failed; the message is the reason."""


class OutOfTimeError(Exception):
    """The time for all checks is used up."""


@dataclasses.dataclass
class Bench:
    """Environment for the checks.

    Attributes:
        folder: working directory.
        is_cpu: whether to use the CPU.
        deadline: end, as a value of time.monotonic.
        epochs: epochs to train on data/.
        gpus: number of GPUs.
    """

    folder: pathlib.Path
    is_cpu: bool
    deadline: float
    epochs: float
    gpus: int = 0

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | ({"CUDA_VISIBLE_DEVICES": "-1"} if self.is_cpu else {})

    def start(self, words: Sequence[object]) -> subprocess.Popen:
        """Start Python with these arguments, in a new session."""
        command = [sys.executable, *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )  # fmt: skip

    def run(self, *words: object, stdin: str = "") -> str:
        """Run Python with these arguments, and return its standard output.

        Args:
            *words: arguments.
            stdin: standard input.
        """
        process = self.start(words)
        try:
            output, errors = process.communicate(stdin, timeout=max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            # Also kill the programs that it started, such as those in a benchmark.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise OutOfTimeError from None
        if process.returncode:
            last = (errors.strip() or output.strip() or "no message").splitlines()[-1]
            raise CheckError(f"{words[1]} ended with exit code {process.returncode}: {last}")
        return output

    def classify(self, output: str, *flags: object) -> pathlib.Path:
        """Run bert-classify, and return its output directory."""
        folder = self.folder / output
        self.run(*self.classify_words(folder, *flags))
        return folder

    def classify_words(self, folder: pathlib.Path, *flags: object) -> list[object]:
        return ["-m", "bert_cli.run_classifier", "--task_name=cola", "--noreport", f"--output_dir={folder}", *flags]

    def training_flags(self) -> list[str]:
        """Return flags that train the built-in model on data/ in at most a minute."""
        return ["--data_dir=data", f"--num_train_epochs={self.epochs}", "--do_train", "--save_checkpoints_steps=5"]


def find_devices(bench: Bench) -> dict:
    """Return the versions and GPUs that TensorFlow reports."""
    return json.loads(bench.run("-c", _DEVICES).splitlines()[-1])


def check_numbers(bench: Bench, precision: str) -> str:
    """Compare with golden outputs of Google's code and with the NumPy reference."""
    differences = json.loads(bench.run("-m", "benchmarks.gpu.numbers", precision).splitlines()[-1])
    wrong = [name for name, difference in differences.items() if not difference["found"] <= difference["limit"]]
    if wrong:
        raise CheckError(
            "; ".join(f"{name}: {differences[name]['found']:.2g} > {differences[name]['limit']:.2g}" for name in wrong)
        )
    return "; ".join(f"{name}: {difference['found']:.2g}" for name, difference in differences.items())


def _probabilities(folder: pathlib.Path) -> np.ndarray:
    with open(folder / "test_results.tsv", encoding="utf-8", newline="") as file:
        return np.array([[float(cell) for cell in row] for row in csv.reader(file, delimiter="\t")])


def _compare(actual: np.ndarray, expected: np.ndarray, tolerance: float, noun: str) -> str:
    if actual.shape != expected.shape:
        raise CheckError(f"{noun}: shape {actual.shape}, not {expected.shape}")
    largest = float(np.abs(actual - expected).max())
    if not largest <= tolerance:  # NaN, too
        raise CheckError(f"{noun}: largest difference {largest:.2g} > {tolerance:.2g}")
    return f"{noun}: largest difference {largest:.2g}"


def check_predictions(bench: Bench, precision: str) -> str:
    """Compare the command's test_results.tsv for the golden classifier."""
    golden = GOLDEN / "cola"
    flags = [f"--data_dir={golden / 'data'}", f"--vocab_file={GOLDEN / 'vocab.txt'}", "--max_seq_length=32"]
    flags += [f"--bert_config_file={GOLDEN / 'bert_config.json'}", f"--init_checkpoint={golden / 'model'}"]
    folder = bench.classify(f"golden-{precision}", *flags, "--do_predict", f"--precision={precision}")
    return _compare(_probabilities(folder), _probabilities(golden), _TOLERANCE[precision], "probabilities")


def _weights(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """Return all tensors in the newest checkpoint."""
    newest = max(folder.glob("model.ckpt-*.index"), key=lambda path: int(path.stem.rpartition("-")[2]))
    reader = Tf1Reader(str(newest.with_suffix("")))
    return {name: reader.read(name) for name in reader.shapes}


def _largest_difference(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    if before.keys() != after.keys():
        raise CheckError("the checkpoints have different tensors")
    return max(float(np.abs(before[name].astype(np.float64) - after[name]).max()) for name in before)


def check_resume(bench: Bench) -> str:
    """Compare two trainings, and one that is killed and resumed: all weights must be equal."""
    flags = bench.training_flags()
    first, second = (_weights(bench.classify(name, *flags)) for name in ("whole", "again"))
    killed = bench.folder / "killed"
    process = bench.start(bench.classify_words(killed, *flags))
    # Wait for the second checkpoint, so that the first one is complete.
    while process.poll() is None and not (killed / "model.ckpt-10.index").exists():
        if time.monotonic() > bench.deadline:
            os.killpg(process.pid, signal.SIGKILL)
            raise OutOfTimeError
        time.sleep(0.02)
    is_killed = process.poll() is None
    if is_killed:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    if not is_killed:
        raise CheckError("the training ended before it could be killed")
    resumed = _weights(bench.classify("killed", *flags))
    repeated, continued = _largest_difference(first, second), _largest_difference(first, resumed)
    if continued:
        raise CheckError(
            f"killed and continued: weights differ by {continued:.2g}; two whole trainings differ by {repeated:.2g}"
            + (": kernels of this device are not deterministic" if repeated else "")
        )
    return "killed at step 10 and continued: the weights of a whole training, bit for bit"


def check_mirrored(bench: Bench) -> str:
    """Train in float32 on all GPUs (or two virtual CPUs) and on one device: predictions must agree."""
    several = ["--distribution_strategy=mirrored", *(["--num_virtual_devices=2"] if bench.is_cpu else [])]
    count = 2 if bench.is_cpu else bench.gpus
    # A batch size that 2, 3, 4, 6 and 8 devices divide evenly.
    flags = [*bench.training_flags(), "--do_predict", "--precision=float32", "--train_batch_size=48"]
    mirrored = _probabilities(bench.classify("mirrored", *flags, *several))
    single = _probabilities(bench.classify("one-device", *flags, "--distribution_strategy=one_device"))
    return f"{count} × {'virtual CPU' if bench.is_cpu else 'GPU'}; " + _compare(
        mirrored, single, _REPLICA_TOLERANCE, "probabilities after training"
    )


def check_export(bench: Bench) -> str:
    """Compare a trained classifier's SavedModel, loaded by TensorFlow alone, with the command."""
    trained = bench.folder / "one-device"
    if not (trained / "test_results.tsv").exists():
        if time.monotonic() > bench.deadline:
            raise OutOfTimeError
        raise CheckError("there is no trained classifier: the check of MirroredStrategy makes it")
    exported = bench.folder / "serving"
    bench.run("-m", "bert_cli.export_model", f"--init_checkpoint={trained}", f"--export_dir={exported}")
    with open(ROOT / "data" / "test.tsv", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[1] for line in file][1:]
    served = np.array(json.loads(bench.run("-c", _SERVED, exported, stdin=json.dumps(texts)).splitlines()[-1]))
    # TensorFloat-32 is used in programs that do not switch it off.
    return _compare(
        served, _probabilities(trained), 1e-5 if bench.is_cpu else 5e-3, f"probabilities of {len(texts)} texts"
    )


CHECKS: dict[str, Callable[[Bench], str]] = {
    **{f"golden outputs, {name}": lambda bench, name=name: check_numbers(bench, name) for name in PRECISIONS},
    **{f"golden predictions, {name}": lambda bench, name=name: check_predictions(bench, name) for name in PRECISIONS},
    "kill and resume": check_resume,
    "MirroredStrategy": check_mirrored,
    "export and predict": check_export,
}
