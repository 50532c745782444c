"""Measurement of time and memory in a few training steps, for --dry_run. It writes no files."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from bert_cli.heads.model import tensor_specs
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.outputs.dry_run import ProbeResult
from bert_cli.runs.engine.training_inputs import RowInput, StreamInput
from bert_cli.runs.engine.training_run import TrainingRun
from bert_cli.runtime.machine import current_memory, peak_memory
from bert_cli.training.batch_distribution import distribute, memory_advice
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.strategy import peak_device_memory

_MIN_STEPS, _MAX_STEPS = 1, 12  # measured steps after the first one
_MAX_SECONDS = 2.5  # no step starts later
_MAX_SHAPES = 280  # most batch lengths that oneDNN keeps in memory (measured)
_OF_PROCESS, _OF_GPU = "of the process", "of the GPU"


def probe(
    engine: TensorFlowEngine,
    source: RowInput | StreamInput,
    updates: TrainingHyperparameters,
    factors: Mapping[str, float],
) -> ProbeResult:
    """Train on a few batches without saving anything, and return the measurements.

    Args:
        engine: the model on its devices.
        source: training input.
        factors: factors for the learning rate, see rate_factors.
    """
    run = TrainingRun(engine, updates, factors, source.token_ids)
    probe_batches = source.probe_batches(run)
    step = run.step_function(tensor_specs(engine.model.columns))
    seconds: list[float] = []
    tokens: list[int] = []
    used_bytes: list[int] = []
    with memory_advice("train_batch_size"):
        for batch in _limit_time(probe_batches.batches):
            start = time.monotonic()
            float(step(distribute(batch, engine.strategy))[0])  # waits for the device
            seconds.append(time.monotonic() - start)
            tokens.append(int(batch["input_mask"].sum()))
            used_bytes.append(current_memory())
    start = time.monotonic()
    with run.tensors() as tensors:
        checkpoint_bytes = sum(np.asarray(tensors[name]).nbytes for name in tensors)
    saving = time.monotonic() - start
    memory, memory_owner = find_peak_memory()
    if memory_owner == _OF_PROCESS and engine.packed:
        num_shapes = probe_batches.num_shapes
        if num_shapes is None:
            # The head's products depend on the number of masked words, which takes half of oneDNN's
            # slots.
            num_shapes = min(expected_shapes(tokens, updates.steps), _MAX_SHAPES // 2)
        memory += estimate_memory_growth(used_bytes, num_shapes)
    # If there is only one batch, use its first step.
    return ProbeResult(
        first=seconds[0],
        seconds=seconds[1:] or seconds,
        tokens=tokens[1:] or tokens,
        mean_tokens=float(np.mean(tokens)) if probe_batches.mean_tokens is None else probe_batches.mean_tokens,
        saving=saving,
        checkpoint_bytes=checkpoint_bytes,
        memory=memory,
        memory_of=memory_owner,
        passes_once=probe_batches.encodes_once,
    )


def _limit_time(batches: Iterable[dict]) -> Iterator[dict]:
    """Yield the first batch, and more batches for a limited time."""
    deadline = float("inf")
    for number, batch in enumerate(batches):
        if number > _MIN_STEPS and (number > _MAX_STEPS or time.monotonic() > deadline):
            return
        yield batch
        if number == 0:
            deadline = time.monotonic() + _MAX_SECONDS


def expected_shapes(tokens: list[int], steps: int) -> int:
    """Return the expected number of different batch lengths in a training.

    It is Σ 1 − (1 − p)^steps over all lengths. The probabilities p follow a normal
    distribution with the mean and deviation of `tokens`.

    Args:
        tokens: numbers of tokens in the measured batches.
        steps: number of steps in the training.
    """
    mean = np.mean(tokens)
    deviation = np.std(tokens)
    if not deviation:
        return 1
    lengths = np.arange(math.floor(mean - 5 * deviation), math.ceil(mean + 5 * deviation) + 1)
    shares = np.exp(-0.5 * ((lengths - mean) / deviation) ** 2)
    return round(float(np.sum(1.0 - (1.0 - shares / shares.sum()) ** steps)))


def estimate_memory_growth(used_bytes: list[int], num_shapes: int) -> int:
    """Return the bytes that the process will need in addition during a whole training.

    On a CPU, oneDNN keeps some megabytes for each number of tokens.

    Args:
        used_bytes: bytes in use after each measured step, each with another number of tokens.
        num_shapes: different numbers of tokens in the whole training.
    """
    # The first two steps include compilation.
    later = used_bytes[2:]
    if len(later) < 2:
        return 0
    bytes_per_shape = max(0, later[-1] - later[0]) / (len(later) - 1)
    return int(bytes_per_shape * max(0, min(num_shapes, _MAX_SHAPES) - len(used_bytes)))


def find_peak_memory() -> tuple[int, str]:
    """Return the peak memory in bytes, and its owner: the first GPU, or the process without one."""
    device_bytes = peak_device_memory()
    return (peak_memory(), _OF_PROCESS) if device_bytes is None else (device_bytes, _OF_GPU)
