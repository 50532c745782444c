"""Rows through an engine: batches by length, results in row order, progress and throughput."""

import collections
import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bert_cli.features.ragged import Features, RaggedFeatures, row_lengths, sequence_starts, take_ranges
from bert_cli.features.row_batches import length_groups
from bert_cli.inference.engine import LOGITS, Arrays, Engine, Network
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.progress import Progress
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.devices import ONNXRUNTIME, OPENVINO, Devices
from bert_cli.settings.groups import LEAST_TOKENS
from bert_cli.weights.path import CheckpointPath

BatchFunction = Callable[[Arrays], Arrays]
Item = TypeVar("Item")
Result = TypeVar("Result")
# Check of all sequences before a prediction, such as opening.checks.PairCheck.
Check = Callable[[RaggedFeatures], None]
# If rows have several sequences, keep the results for this many batches together.
_BATCHES_TOGETHER = 8


class TrainedEngine(NamedTuple):
    """An engine with the weights of a trained model.

    Attributes:
        engine: the engine.
        step: global_step of the checkpoint, or 0.
        missing: names of optional variables that the checkpoint lacks.
    """

    engine: Engine
    step: int
    missing: Sequence[str]


def open_trained(
    network: Network,
    config: BertConfig | ModuleConfig,
    checkpoint: CheckpointPath,
    devices: Devices,
    max_seq_length: int,
    make_model: Callable[[str], Any] | None = None,
    many: bool = False,
    in_background: bool = False,
) -> TrainedEngine:
    """Return a trained model on the engine that the flags choose; no other function opens one.

    Args:
        network: the network to compute.
        checkpoint: the model's weights.
        devices: flags that select engine, devices and precision.
        max_seq_length: maximum number of tokens in a sequence.
        make_model: make_model(compute dtype) returns the Keras model; only a head needs it.
        many: whether to compute several batches at a time, which is faster for many. If not, all
            processors share one batch, so that a single text is answered sooner.
        in_background: whether a thread may read the weights (see Engine.compilation). `step` and
            `missing` are not known then.

    Raises:
        InputError: if a variable is missing that is not optional.
    """
    engine = _open_engine(network, config, devices, max_seq_length, make_model, many)
    if in_background and devices.inference:
        from bert_cli.inference.onnx import OnnxEngine

        assert isinstance(engine, OnnxEngine), "both engines that compute ONNX graphs are"
        engine.start_loading(checkpoint)
        return TrainedEngine(engine, 0, ())
    report, step = engine.load(checkpoint)
    report.log()
    return TrainedEngine(engine, step, report.missing)


def load_trained(engine: Engine, checkpoint: CheckpointPath) -> int:
    """Load a checkpoint of the same training into its engine, and return its global_step, or 0."""
    report, step = engine.load(checkpoint)
    report.log()
    return step


def _open_engine(
    network: Network,
    config: BertConfig | ModuleConfig,
    devices: Devices,
    max_seq_length: int,
    make_model: Callable[[str], Any] | None,
    many: bool,
) -> Engine:
    """Return the engine that the flags choose, without weights; see `open_trained`."""
    # Import late: a command needs only one engine.
    inference = devices.inference
    if inference is None:
        setup_tensorflow()
        from bert_cli.inference.tensorflow import open_tensorflow

        return open_tensorflow(network, config, devices, max_seq_length, make_model)
    if inference.engine == ONNXRUNTIME:
        from bert_cli.inference.onnx import open_onnxruntime

        return open_onnxruntime(network, config, inference, many)
    assert inference.engine == OPENVINO, inference.engine
    from bert_cli.inference.openvino import open_openvino

    return open_openvino(network, config, inference, many)


def run_sequences(
    engine: Engine,
    sequences: RaggedFeatures,
    max_tokens: int,
    columns: Mapping[str, np.ndarray] | None = None,
    run: BatchFunction | None = None,
) -> Iterator[tuple[np.ndarray, Arrays]]:
    """Yield batches of (row numbers, outputs).

    Args:
        engine: engine with weights. Its `concurrency` is the number of batches that are computed at a time.
        sequences: n sequences.
        max_tokens: see Engine.groups.
        columns: more arrays of a batch, [n, …].
        run: function to use instead of Engine.run.
    """
    lengths = sequences.lengths
    run = run or engine.run

    def compute(rows: np.ndarray) -> tuple[np.ndarray, Arrays]:
        batch = sequences.pad(rows, engine.width(int(lengths[rows].max())))
        return rows, run(batch | {name: values[rows] for name, values in (columns or {}).items()})

    groups = engine.groups(lengths, max_tokens)
    yield from map_in_threads(compute, groups, min(len(groups), engine.concurrency))


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], count: int) -> Iterator[Result]:
    """Yield function(item) in the order of the items, like map.

    Args:
        function: function that several threads may call.
        items: its arguments.
        count: number of threads. With less than 2, this thread calls the function.

    Raises:
        Exception: what the function raised for the first item with an error.
    """
    if count < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(count) as threads:
        waiting: collections.deque[Future[Result]] = collections.deque()
        try:
            for item in items:
                waiting.append(threads.submit(function, item))
                # One call waits for the thread that is done
                # first. More results would fill the memory.
                if len(waiting) > count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for call in waiting:
                call.cancel()


def one_ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the items in order; a thread makes the next one while the caller uses the last.

    Closing this generator waits for the item in the thread.

    Args:
        items: iterator without None.

    Raises:
        Exception: what `items` raised.
    """

    def make() -> Item | None:
        return next(items, None)

    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(make)
        while (item := waiting.result()) is not None:
            waiting = thread.submit(make)
            yield item


def put_rows(results: Arrays, rows: np.ndarray, batch_results: Arrays, total: int) -> None:
    """Write a batch's results into arrays for all rows.

    Args:
        results: name -> array; missing arrays are created.
        rows: row indices of the batch.
        batch_results: name -> values for these rows.
        total: number of rows in the data set.
    """
    for name, values in batch_results.items():
        if name not in results:
            results[name] = np.empty((total, *values.shape[1:]), values.dtype)
        results[name][rows] = values


class InferenceResult(NamedTuple):
    """Logits for all rows in their order, and the rate of the computation."""

    logits: np.ndarray
    examples_per_second: float


class Predictor:
    """A trained model on its engine.

    Attributes:
        engine: the engine.
        precision: dtype of matrix products.
        is_chief: whether this process writes files.
        max_seq_length: maximum number of tokens in a sequence.
        is_quiet: whether progress is hidden, see `quietly`.
    """

    is_quiet = False

    def __init__(self, engine: Engine, max_seq_length: int, check: Check | None = None):
        """Wrap an engine.

        Args:
            engine: engine for a network with a head.
            max_seq_length: maximum number of tokens in a sequence.
            check: called with all sequences; None if the data has already been checked.
        """
        self.engine = engine
        self.precision = engine.precision
        self.is_chief = engine.is_chief
        self.max_seq_length = max_seq_length
        self._check = check

    @contextlib.contextmanager
    def quietly(self) -> Iterator[None]:
        """Hide the progress of predictions, for example while training shows its own."""
        self.is_quiet = True
        try:
            yield
        finally:
            self.is_quiet = False

    def predict_batches(
        self,
        features: Features,
        batch_size: int,
        title: str | None,
        unit: str = "examples",
        run: BatchFunction | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (row indices, logits for these rows), the longest rows first.

        The logits of a text in windows are the mean over its windows. If rows have several choices,
        the choices' logits are side by side.

        Args:
            features: rows to predict.
            batch_size: rows per batch with max_seq_length tokens each. A batch with shorter rows
                has more of them.
            title: title used for the progress; None to hide it.
            unit: noun used for the rows in the progress.
            run: function that returns other arrays under the name `logits`; see run_sequences.
        """
        if self._check:
            self._check(features.sequences)
        # Show four lines per prediction, independent of its length.
        every = max(1, len(features) // 4)
        is_shown = title is not None and not self.is_quiet
        max_tokens = batch_size * self.max_seq_length
        progress = Progress(title or "", len(features), every=every, unit=unit, is_shown=is_shown, overlaps=True)
        with progress:
            for rows, logits in self._compute(features, max_tokens, run):
                yield rows, logits
                progress.update(progress.position + len(rows))

    def _compute(
        self, features: Features, max_tokens: int, run: BatchFunction | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        sequences = features.sequences
        if len(sequences) == len(features):
            for rows, outputs in run_sequences(self.engine, sequences, max_tokens, run=run):
                yield rows, outputs[LOGITS]
            return
        starts = sequence_starts(features)
        has_windows = getattr(features, "row_starts", None) is not None
        # Take many rows together: the sequences in a row have different lengths, but batches should
        # have similar ones.
        for rows in length_groups(row_lengths(features), _BATCHES_TOGETHER * max(max_tokens, LEAST_TOKENS)):
            indices, offsets = take_ranges(starts, rows)
            results: Arrays = {}
            for group, outputs in run_sequences(self.engine, sequences.take(indices), max_tokens, run=run):
                put_rows(results, group, outputs, len(indices))
            logits = results[LOGITS]
            yield rows, average_windows(logits, offsets) if has_windows else logits.reshape(len(rows), -1)

    def infer(self, features: Features, batch_size: int, title: str | None) -> InferenceResult:
        """Return the logits for all rows, see `predict_batches`."""
        start = time.monotonic()
        results: Arrays = {}
        for rows, logits in self.predict_batches(features, batch_size, title):
            put_rows(results, rows, {LOGITS: logits}, len(features))
        seconds = time.monotonic() - start
        return InferenceResult(results[LOGITS], round(len(features) / seconds, 2))


def average_windows(logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Average each text's logits over its windows.

    Args:
        logits: float32 [windows, n].
        offsets: int64 [texts + 1], each text's first window.
    """
    counts = np.diff(offsets)[:, np.newaxis].astype(np.float32)
    return np.add.reduceat(logits, offsets[:-1]) / counts
