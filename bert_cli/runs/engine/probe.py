"""A few steps of training in memory, for --dry_run: what they take, and nothing written. Imports
TensorFlow.
"""

import math
import time
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from bert_cli.heads.model import tensor_specs
from bert_cli.outputs.dry_run import ProbeResult
from bert_cli.runs.engine.session import Session, memory_advice
from bert_cli.runs.engine.training_inputs import RowInput, StreamInput
from bert_cli.runs.engine.training_run import TrainingRun
from bert_cli.runtime.memory import current_memory, peak_memory
from bert_cli.training.batch_distribution import distribute
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.strategy import peak_device_memory

_LEAST, _MOST = 1, 12  # steps that are measured, after the first one
_SECONDS = 2.5  # after so long no further step is begun
_MOST_SHAPES = 280  # numbers of tokens for which memory is kept at a time (measured)
_OF_PROCESS, _OF_GPU = "of the process", "of the GPU"


def probe(
    session: Session, source: RowInput | StreamInput, updates: TrainingHyperparameters, factors: Mapping[str, float]
) -> ProbeResult:
    """Train on a few batches without saving anything; returns what was measured."""
    run = TrainingRun(session, updates, factors, source.token_ids)
    chosen = source.probe_batches(run)
    step = run.step_function(tensor_specs(session.model.columns))
    seconds: list[float] = []
    tokens: list[int] = []
    taken: list[int] = []
    with memory_advice("train_batch_size"):
        for batch in _for_a_while(chosen.batches):
            began = time.monotonic()
            float(step(distribute(batch, session.strategy))[0])  # waits for the device
            seconds.append(time.monotonic() - began)
            tokens.append(int(batch["input_mask"].sum()))
            taken.append(current_memory())
    began = time.monotonic()
    tensors = run.tensors()
    saving = time.monotonic() - began
    memory, of = most_memory()
    if of == _OF_PROCESS and session.packed:
        shapes = chosen.num_shapes
        if shapes is None:
            # The numbers of masked words, which the head has products of, take half of the memory's
            # slots.
            shapes = min(expected_shapes(tokens, updates.steps), _MOST_SHAPES // 2)
        memory += more_memory(taken, shapes)
    # Where one batch is all that there is, its first step is all that can be measured.
    return ProbeResult(
        first=seconds[0],
        seconds=seconds[1:] or seconds,
        tokens=tokens[1:] or tokens,
        mean_tokens=float(np.mean(tokens)) if chosen.mean_tokens is None else chosen.mean_tokens,
        saving=saving,
        checkpoint_bytes=sum(np.asarray(values).nbytes for values in tensors.values()),
        memory=memory,
        memory_of=of,
        passes_once=chosen.encodes_once,
    )


def _for_a_while(batches: Iterable[dict]) -> Iterator[dict]:
    """One batch, and then some for as long as a trial may last."""
    until = float("inf")
    for number, batch in enumerate(batches):
        if number > _LEAST and (number > _MOST or time.monotonic() > until):
            return
        yield batch
        if number == 0:
            until = time.monotonic() + _SECONDS


def expected_shapes(tokens: list[int], steps: int) -> int:
    """The expected number of different lengths of `steps` batches, if they vary as the batches that
    were seen.

    Σ 1 − (1 − p)^steps over all numbers, p being the probability under a normal distribution with
    the mean and deviation of `tokens`.
    """
    mean = np.mean(tokens)
    deviation = np.std(tokens)
    if not deviation:
        return 1
    numbers = np.arange(math.floor(mean - 5 * deviation), math.ceil(mean + 5 * deviation) + 1)
    shares = np.exp(-0.5 * ((numbers - mean) / deviation) ** 2)
    return round(float(np.sum(1.0 - (1.0 - shares / shares.sum()) ** steps)))


def more_memory(taken: list[int], shapes: int) -> int:
    """Bytes that the process will take beyond those after some steps, each on another number of
    tokens.

    On a CPU, oneDNN keeps what it prepared for each number of tokens, some megabytes. taken: bytes
    after each step, of which the first two have the compilation in them.
    """
    later = taken[2:]
    if len(later) < 2:
        return 0
    each = max(0, later[-1] - later[0]) / (len(later) - 1)
    return int(each * max(0, min(shapes, _MOST_SHAPES) - len(taken)))


def most_memory() -> tuple[int, str]:
    """The most bytes that this process has taken until now, and of which memory: of the first GPU,
    where there is one.
    """
    of_device = peak_device_memory()
    return (peak_memory(), _OF_PROCESS) if of_device is None else (of_device, _OF_GPU)
