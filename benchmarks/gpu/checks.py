"""The checks of `make check-gpu` but the speeds: each runs whole programs on the device, and returns what it found.

A check takes a Bench and returns a line for the table; it raises CheckError, with the reason, where the device gives a wrong
result, and OutOfTimeError where the time of the whole is over.
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
# Of a probability: float32 as in the tests; of bfloat16 the rounding of a few layers.
_FAR = {"float32": 1e-5, "bfloat16": 0.02}
_FAR_REPLICAS = 2e-3  # of a probability, after a training on several devices and on one, whose sums have another order
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
    """The device gives a wrong result, or a program ended with an error; the text is the reason."""


class OutOfTimeError(Exception):
    """The time of the whole check is over."""


@dataclasses.dataclass
class Bench:
    """Where the checks compute. deadline: of time.monotonic; epochs: of the trainings on data/; gpus: how many there are."""

    folder: pathlib.Path
    is_cpu: bool
    deadline: float
    epochs: float
    gpus: int = 0

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | ({"CUDA_VISIBLE_DEVICES": "-1"} if self.is_cpu else {})

    def start(self, words: Sequence[object]) -> subprocess.Popen:
        """Start Python with these arguments, in a session of its own."""
        command = [sys.executable, *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )  # fmt: skip

    def run(self, *words: object, given: str = "") -> str:
        """Run Python with these arguments to its end; returns the standard output."""
        process = self.start(words)
        try:
            output, errors = process.communicate(given, timeout=max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            # With all that it has started: the programs of a benchmark.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise OutOfTimeError from None
        if process.returncode:
            last = (errors.strip() or output.strip() or "no message").splitlines()[-1]
            raise CheckError(f"{words[1]} ended with exit code {process.returncode}: {last}")
        return output

    def classify(self, output: str, *flags: object) -> pathlib.Path:
        """Run bert-classify into folder/output, which it returns."""
        folder = self.folder / output
        self.run(*self.classify_words(folder, *flags))
        return folder

    def classify_words(self, folder: pathlib.Path, *flags: object) -> list[object]:
        return ["-m", "bert_cli.run_classifier", "--task_name=cola", "--noreport", f"--output_dir={folder}", *flags]

    def training_flags(self) -> list[str]:
        """Of the built-in model on data/, in about a minute or less."""
        return ["--data_dir=data", f"--num_train_epochs={self.epochs}", "--do_train", "--save_checkpoints_steps=5"]


def find_devices(bench: Bench) -> dict:
    """The versions and GPUs that TensorFlow sees."""
    return json.loads(bench.run("-c", _DEVICES).splitlines()[-1])


def check_numbers(bench: Bench, precision: str) -> str:
    """Golden outputs of Google's code, and the NumPy oracle."""
    found = json.loads(bench.run("-m", "benchmarks.gpu.numbers", precision).splitlines()[-1])
    wrong = [name for name, one in found.items() if not one["found"] <= one["limit"]]
    if wrong:
        raise CheckError(
            "; ".join(f"{name}: {found[name]['found']:.2g} > {found[name]['limit']:.2g}" for name in wrong)
        )
    return "; ".join(f"{name}: {one['found']:.2g}" for name, one in found.items())


def _probabilities(folder: pathlib.Path) -> np.ndarray:
    with open(folder / "test_results.tsv", encoding="utf-8", newline="") as file:
        return np.array([[float(cell) for cell in row] for row in csv.reader(file, delimiter="\t")])


def _compare(found: np.ndarray, wanted: np.ndarray, far: float, what: str) -> str:
    if found.shape != wanted.shape:
        raise CheckError(f"{what}: shape {found.shape}, not {wanted.shape}")
    largest = float(np.abs(found - wanted).max())
    if not largest <= far:  # NaN, too
        raise CheckError(f"{what}: largest difference {largest:.2g} > {far:.2g}")
    return f"{what}: largest difference {largest:.2g}"


def check_predictions(bench: Bench, precision: str) -> str:
    """test_results.tsv of the golden classifier, by the command."""
    golden = GOLDEN / "cola"
    flags = [f"--data_dir={golden / 'data'}", f"--vocab_file={GOLDEN / 'vocab.txt'}", "--max_seq_length=32"]
    flags += [f"--bert_config_file={GOLDEN / 'bert_config.json'}", f"--init_checkpoint={golden / 'model'}"]
    folder = bench.classify(f"golden-{precision}", *flags, "--do_predict", f"--precision={precision}")
    return _compare(_probabilities(folder), _probabilities(golden), _FAR[precision], "probabilities")


def _weights(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """All tensors of the newest checkpoint."""
    newest = max(folder.glob("model.ckpt-*.index"), key=lambda path: int(path.stem.rpartition("-")[2]))
    reader = Tf1Reader(str(newest.with_suffix("")))
    return {name: reader.read(name) for name in reader.shapes}


def _largest_difference(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    if one.keys() != other.keys():
        raise CheckError("the checkpoints have different tensors")
    return max(float(np.abs(one[name].astype(np.float64) - other[name]).max()) for name in one)


def check_resume(bench: Bench) -> str:
    """Two whole trainings, and one that is killed after a checkpoint and continued: the same weights, bit for bit."""
    flags = bench.training_flags()
    first, second = (_weights(bench.classify(name, *flags)) for name in ("whole", "again"))
    killed = bench.folder / "killed"
    process = bench.start(bench.classify_words(killed, *flags))
    # The second checkpoint, so that the first one is whole.
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
    """A training in float32 on all GPUs (here two virtual CPUs) and on one device gives the same predictions."""
    several = ["--distribution_strategy=mirrored", *(["--num_virtual_devices=2"] if bench.is_cpu else [])]
    count = 2 if bench.is_cpu else bench.gpus
    # A batch that 2, 3, 4, 6 and 8 devices share evenly.
    flags = [*bench.training_flags(), "--do_predict", "--precision=float32", "--train_batch_size=48"]
    found = _probabilities(bench.classify("mirrored", *flags, *several))
    one = _probabilities(bench.classify("one-device", *flags, "--distribution_strategy=one_device"))
    return f"{count} × {'virtual CPU' if bench.is_cpu else 'GPU'}; " + _compare(
        found, one, _FAR_REPLICAS, "probabilities after training"
    )


def check_export(bench: Bench) -> str:
    """The SavedModel of a trained classifier, loaded by TensorFlow alone, gives the command's predictions."""
    trained = bench.folder / "one-device"
    if not (trained / "test_results.tsv").exists():
        raise CheckError("there is no trained classifier: the check of MirroredStrategy makes it")
    exported = bench.folder / "serving"
    bench.run("-m", "bert_cli.export_model", f"--init_checkpoint={trained}", f"--export_dir={exported}")
    with open(ROOT / "data" / "test.tsv", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[1] for line in file][1:]
    found = np.array(json.loads(bench.run("-c", _SERVED, exported, given=json.dumps(texts)).splitlines()[-1]))
    # TensorFloat-32 is on in a program that does not switch it off.
    return _compare(
        found, _probabilities(trained), 1e-5 if bench.is_cpu else 5e-3, f"probabilities of {len(texts)} texts"
    )


CHECKS: dict[str, Callable[[Bench], str]] = {
    **{f"golden outputs, {name}": lambda bench, name=name: check_numbers(bench, name) for name in PRECISIONS},
    **{f"golden predictions, {name}": lambda bench, name=name: check_predictions(bench, name) for name in PRECISIONS},
    "kill and resume": check_resume,
    "MirroredStrategy": check_mirrored,
    "export and predict": check_export,
}
