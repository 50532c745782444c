"""A few steps of training in memory, for --dry_run: what they take, and nothing written. Imports TensorFlow."""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.features.pretraining_batch import training_batch
from bert_cli.features.ragged import Features, row_lengths, with_token_ids
from bert_cli.features.stream import training_rows
from bert_cli.heads.model import tensor_specs
from bert_cli.outputs.dry_run import Trial
from bert_cli.runs.engine.training_run import TrainingRun, memory_advice
from bert_cli.runtime.memory import memory_now, peak_memory
from bert_cli.settings.training import Saving
from bert_cli.training.batch_distribution import place
from bert_cli.training.checkpoints import training_tensors
from bert_cli.training.hyperparameters import Updates
from bert_cli.training.strategy import peak_device_memory

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session

_LEAST, _MOST = 1, 12  # steps that are measured, behind the first one
_SECONDS = 2.5  # after so long no further step is begun
_MOST_SHAPES = 280  # numbers of tokens for which memory is kept at a time (measured)
_OF_PROCESS, _OF_GPU = "of the process", "of the GPU"


def typical_rows(lengths: np.ndarray, updates: Updates) -> tuple[list[np.ndarray], float, int]:
    """(rows of batches to try, tokens of a batch on average, how many different numbers of tokens there are).

    Of the batches of the first epoch. First comes the one with the most tokens, then, each with another number of tokens,
    those nearest to the average.
    """
    count = min(updates.steps, -(-len(lengths) // updates.batch_size))
    batches = list(itertools.islice(training_rows(len(lengths), updates.batch_size, updates.random_seed), count))
    tokens = np.array([lengths[rows].sum() for rows in batches])
    values, places = np.unique(tokens, return_index=True)
    nearest = places[np.argsort(np.abs(values - tokens.mean()), kind="stable")[:_MOST]]
    return [batches[int(tokens.argmax())], *(batches[place] for place in nearest)], float(tokens.mean()), len(values)


class TrialSession:
    """Stands where a Session does in Task.train. `trial`, after it: what was measured."""

    is_chief = False  # nothing is written

    def __init__(self, session: "Session"):
        self._session = session
        self.trial: Trial | None = None

    def train(
        self, features: Features, updates: Updates, factors: Mapping[str, float] | None = None, **how: Any
    ) -> dict[str, Any]:
        """As Session.train, on a few batches. What a frozen encoder says is not kept here, but computed in each step."""
        session, token_ids = self._session, features.sequences.token_ids
        run = TrainingRun(session, updates, Saving(), "", None, factors, token_ids)
        lengths = row_lengths(features)
        if run.compact:
            features = with_token_ids(features, run.compact.compact_ids(token_ids))
        width = None if session.packed and not session.model.padding_counts else session.max_seq_length
        chosen, mean, shapes = typical_rows(lengths, updates)
        once = run.is_frozen and bool(session.model.state_columns)
        return self._go(run, (features.batch(rows, width) for rows in chosen), mean, lambda tokens: shapes, once)

    def train_stream(
        self, make_stream: Callable, updates: Updates, factors: Mapping[str, float] | None = None, **how: Any
    ) -> dict[str, Any]:
        """As Session.train_stream, on its first batches."""
        run = TrainingRun(self._session, updates, Saving(), "", None, factors, None)
        batches = (training_batch(features, trim=self._session.packed) for features, _ in make_stream(None))

        def shapes(tokens: list[int]) -> int:
            # The numbers of masked words, which the head has products of, take half of the places.
            return min(numbers_to_come(tokens, updates.steps), _MOST_SHAPES // 2)

        return self._go(run, batches, None, shapes, False)

    def _go(
        self,
        run: TrainingRun,
        batches: Iterable[dict],
        mean: float | None,
        shapes: Callable[[list[int]], int],
        once: bool,
    ) -> dict[str, Any]:
        """mean: tokens of a batch, None for that of those tried. shapes(tokens of each that was tried): how many different
        numbers of tokens all batches have.
        """
        session = self._session
        step = run.step_function(tensor_specs(session.model.columns))
        seconds: list[float] = []
        tokens: list[int] = []
        taken: list[int] = []
        with memory_advice("train_batch_size"):
            for batch in _for_a_while(batches):
                began = time.monotonic()
                float(step(place(batch, session.strategy))[0])  # waits for the device
                seconds.append(time.monotonic() - began)
                tokens.append(int(batch["input_mask"].sum()))
                taken.append(memory_now())
        began = time.monotonic()
        tensors = training_tensors(session.variables, run.optimizer, run.compact, run.loss_scale)
        saving = time.monotonic() - began
        memory, of = most_memory()
        if of == _OF_PROCESS and session.packed:
            memory += more_memory(taken, shapes(tokens))
        # Where one batch is all that there is, its first step is all that can be told.
        self.trial = Trial(
            first=seconds[0],
            seconds=seconds[1:] or seconds,
            tokens=tokens[1:] or tokens,
            mean_tokens=float(np.mean(tokens)) if mean is None else mean,
            saving=saving,
            checkpoint_bytes=sum(np.asarray(values).nbytes for values in tensors.values()),
            memory=memory,
            memory_of=of,
            passes_once=once,
        )
        return {}


def _for_a_while(batches: Iterable[dict]) -> Iterator[dict]:
    """One batch, and then some for as long as a trial may last."""
    until = float("inf")
    for number, batch in enumerate(batches):
        if number > _LEAST and (number > _MOST or time.monotonic() > until):
            return
        yield batch
        if number == 0:
            until = time.monotonic() + _SECONDS


def numbers_to_come(tokens: list[int], steps: int) -> int:
    """How many different numbers of tokens so many batches will have, to expectation, if they vary as those that were seen.

    Σ 1 − (1 − p)^steps over all numbers, p being that of a normal distribution with the mean and deviation of `tokens`.
    """
    mean, deviation = np.mean(tokens), np.std(tokens)
    if not deviation:
        return 1
    numbers = np.arange(math.floor(mean - 5 * deviation), math.ceil(mean + 5 * deviation) + 1)
    shares = np.exp(-0.5 * ((numbers - mean) / deviation) ** 2)
    return round(float(np.sum(1.0 - (1.0 - shares / shares.sum()) ** steps)))


def more_memory(taken: list[int], shapes: int) -> int:
    """Bytes that the process will take beyond those after some steps, each on another number of tokens.

    On a CPU, oneDNN keeps what it prepared for each number of tokens, some megabytes. taken: bytes after each step, of which
    the first two have the compilation in them.
    """
    later = taken[2:]
    if len(later) < 2:
        return 0
    each = max(0, later[-1] - later[0]) / (len(later) - 1)
    return int(each * max(0, min(shapes, _MOST_SHAPES) - len(taken)))


def most_memory() -> tuple[int, str]:
    """The most bytes that this process has taken until now, and of which memory: that of the first GPU, where there is one."""
    of_device = peak_device_memory()
    return (peak_memory() or 0, _OF_PROCESS) if of_device is None else (of_device, _OF_GPU)
