"""Opening checkpoints of any format, and loading weights into a model."""

import contextlib
import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from bert_cli.base.errors import InputError, first_line
from bert_cli.base.formats import list_some
from bert_cli.base.head_types import (
    CLASSIFIER,
    HEADS,
    MASKED_LM,
    POOLER,
    REPLACED_TOKENS,
    SPANS,
    HeadSpec,
    head_of,
    pretraining_shapes,
)
from bert_cli.base.log import LOG
from bert_cli.base.names import CHECKPOINT
from bert_cli.model.config import WORD_EMBEDDINGS, BertConfig, encoder_shapes
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.weights.electra import ElectraReader, networks_in
from bert_cli.weights.formats.checkpoint_index import read_array, read_index
from bert_cli.weights.hugging_face import HuggingFaceReader
from bert_cli.weights.leftovers import is_of_bert, pooler_advice, refuse_of_encoder, refuse_of_head, report_unused
from bert_cli.weights.model_garden import ModelGardenReader, is_object_checkpoint
from bert_cli.weights.path import HUB, HUGGING_FACE, KERAS, KERAS_HUB, TF1, CheckpointPath
from bert_cli.weights.training_folder import numbered_checkpoints, step_number
from bert_cli.weights.variables import STEP_NAME, Reader, is_training_state

NO_BERT = "it is not a complete BERT"
_ENCODER = "bert/"


class Tf1Reader(Reader):
    """Reader for a TF1 checkpoint (`prefix`.index and its data files)."""

    def __init__(self, prefix: str):
        """Read the index; raise InputError if it is damaged or cut short."""
        self.description = prefix
        with _reporting_damage(prefix):
            self._entries = read_index(prefix, verify_checksums=True)
        self.shapes = {name: entry.shape for name, entry in self._entries.items()}
        self.unused: list[str] = []

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values; raise InputError if their checksum is wrong."""
        entry = self._entries[name]
        with _reporting_damage(self.description):
            return read_array(entry, name) if entry.is_plain else self._read_foreign(name)

    def _read_foreign(self, name: str) -> np.ndarray:
        """Return strings or a partitioned variable, using TensorFlow."""
        import tensorflow as tf

        try:
            # Avoid load_checkpoint: it would prefer a directory with the same name.
            return tf.compat.v1.train.NewCheckpointReader(self.description).get_tensor(name)
        # For a data file that is cut short, the exception depends on the position of the cut.
        except (tf.errors.OpError, RuntimeError, IndexError) as error:
            raise ValueError(first_line(error)) from None


@contextlib.contextmanager
def _reporting_damage(prefix: str) -> Iterator[None]:
    """Convert errors from damaged checkpoint files to InputError within the block."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise InputError(
            f"{prefix}: this checkpoint is damaged or cut short ({first_line(error)}); download or copy it again"
        ) from None


class AverageReader(Reader):
    """Reader for the mean of several checkpoints from one training run.

    Values that belong to the training state are not averaged, but read from the last checkpoint.
    """

    def __init__(self, path: CheckpointPath, count: int):
        """Open the checkpoints.

        Args:
            path: the last checkpoint, which must be a model.ckpt-N.
            count: number of checkpoints, including the last one.

        Raises:
            InputError: if there are fewer checkpoints, or `path` has another form.
        """
        if path.kind != TF1 or not os.path.basename(path.location).startswith(CHECKPOINT):
            raise InputError(f"--average_last={count} is about the {CHECKPOINT}N of a training run, not {path.name}")
        last = step_number(path.location)
        numbers = [number for number in numbered_checkpoints(path.folder) if number <= last][-count:]
        if len(numbers) < count:
            raise InputError(
                f"--average_last={count}: {path.folder} holds {len(numbers)} checkpoints up to "
                f"{CHECKPOINT}{last}; give a smaller number, or keep more in the training"
            )
        self._readers = [
            _open_tf1(os.path.join(path.folder, f"{CHECKPOINT}{number}"), path.network) for number in numbers
        ]
        self.description = f"{path.location} (mean of {count}, from {CHECKPOINT}{numbers[0]} on)"
        self.shapes = self._readers[-1].shapes
        self.unused: list[str] = []

    def read(self, name: str) -> np.ndarray:
        """Return a weight's mean, or the last value if the variable is not a weight."""
        if is_training_state(name):
            return self._readers[-1].read(name)
        # Sum in float64: float32 would round once per checkpoint.
        values = np.stack([reader.read(name) for reader in self._readers])
        return np.asarray(values.mean(axis=0, dtype=np.float64), np.float32)


def open_checkpoint(path: CheckpointPath) -> Reader:
    """Return a reader for the checkpoint: the opened one, or a new one."""
    if path.opened:
        return path.opened
    if path.kind == HUGGING_FACE:
        return HuggingFaceReader(path.location, path.weights_name, path.adapter_folder, path.is_strict)
    # Import late: TensorFlow takes seconds, and h5py half a second.
    if path.kind == HUB:
        setup_tensorflow()
        from bert_cli.weights.hub import HubReader

        return HubReader(path.location, path.name)
    if path.kind == KERAS:
        from bert_cli.weights.h5_files import KerasReader

        return KerasReader(path.location)
    if path.kind == KERAS_HUB:
        from bert_cli.weights.h5_files import KerasHubReader

        return KerasHubReader(path.location)
    return _open_tf1(path.location, path.network)


def _open_tf1(prefix: str, network: str) -> Reader:
    reader = Tf1Reader(prefix)
    if is_object_checkpoint(reader.shapes):
        return ModelGardenReader(reader)
    return ElectraReader(reader, network) if network or networks_in(reader.shapes) else reader


def saved_step(reader: Reader) -> int:
    """Return a checkpoint's global_step, or 0 if it has no such variable."""
    return int(reader.read(STEP_NAME)) if STEP_NAME in reader.shapes else 0


def data_files(prefix: str) -> list[str]:
    """Return the files of `write_tf1`, the index last: it makes the checkpoint visible."""
    return [f"{prefix}.data-00000-of-00001", f"{prefix}.index"]


def second_data_file(prefix: str) -> str:
    """Return the path for a checkpoint's new data while the old data still exists.

    See training.older_checkpoints.
    """
    return f"{prefix}.data-00000-of-00002"


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """Result of loading a checkpoint: names of loaded, missing and unused variables.

    Attributes:
        source: the checkpoint's description.
        loaded: names in both the model and the checkpoint.
        missing: names in the model only; these variables keep their random initial values.
        unused: names in the checkpoint only.
        stored_only: names among `unused` of weights that a BERT does not have, as they are stored.
    """

    source: str
    loaded: list[str]
    missing: list[str]
    unused: list[str]
    stored_only: list[str] = dataclasses.field(default_factory=list)

    def check_whole(self, reason: str, optional: str | tuple[str, ...] = (), strict: bool = False) -> None:
        """Raise InputError if a variable is missing, or a weight that a BERT does not have matters.

        Args:
            reason: text at the end of the message.
            optional: prefix or prefixes of names that may be missing.
            strict: whether a weight of unknown meaning is an error, and not a warning.
        """
        # Only a model that is used needs its head; training may change it.
        refuse_of_head(self.source, self.loaded, self.stored_only)
        missing = [name for name in self.missing if not name.startswith(optional)]
        if missing:
            advice = pooler_advice(missing, self.stored_only)
            raise InputError(f"{self.source}: lacks {list_some(missing, 3)}: {reason}{advice}")
        self.check_known(strict)

    def check_known(self, strict: bool) -> None:
        """Log weights that a BERT does not have, or raise InputError with `strict`."""
        report_unused(self.source, self.stored_only, strict)

    def log(self) -> None:
        """Log how many variables were loaded for predictions, and which are missing or unused."""
        # After check_whole, only variables are missing that the outputs do not depend on.
        for line in self.lines("missing, and not needed here"):
            LOG.info(line)

    def lines(self, missing: str = "missing (start from random values)") -> list[str]:
        """Return the log lines, with `missing` before the names of missing variables."""
        lines = [
            f"{self.source}: {len(self.loaded)} variables loaded, {len(self.missing)} missing, {len(self.unused)} unused"
        ]
        for title, names in ((missing, self.missing), ("unused", self.unused)):
            if names:
                # Shorten the list: BERT-Large has about 400 variables.
                lines.append(f"  {title}: {list_some(names)}")
        return lines


def load_weights(variables: dict, reader: Reader) -> LoadReport:
    """Assign the checkpoint's values to the variables that it has (see `read_weights`).

    Args:
        variables: the model's variables by Google's name.
        reader: an open checkpoint.
    """
    # Read everything before assigning anything, so that a damaged file does not change the model.
    values, report = read_weights({name: tuple(variable.shape) for name, variable in variables.items()}, reader)
    for name, value in values.items():
        variables[name].assign(value)
    return report


def read_weights(shapes: Mapping[str, tuple[int, ...]], reader: Reader) -> tuple[dict[str, np.ndarray], LoadReport]:
    """Return the values that the checkpoint has for these variables, and a report.

    Args:
        shapes: shapes by Google's name.
        reader: an open checkpoint.

    Raises:
        InputError: if a shape differs, if the checkpoint has no encoder variable, or if a
            masked LM has a separate output matrix.
    """
    # Check this only for a masked LM: other heads do not need the output matrix.
    if any(head_of(name) == MASKED_LM for name in shapes):
        reader.check_tied()
    refuse_of_encoder(reader.description, shapes, reader.unused)
    check_shapes(shapes, reader)
    loaded = [name for name in shapes if name in reader.shapes]
    missing = [name for name in shapes if name not in reader.shapes]
    encoder_names = [name for name in shapes if name.startswith(_ENCODER)]
    if encoder_names and not any(name in reader.shapes for name in encoder_names):
        examples = sorted(reader.shapes)[:3] + reader.unused[:3]
        raise InputError(
            f"{reader.description}: holds no variable of this encoder ({_ENCODER}…); it has "
            f"{', '.join(examples[:3])}…; is it a BERT checkpoint?"
        )
    values = {name: reader.read(name) for name in loaded}
    unused = [name for name in reader.shapes if name not in shapes and not is_training_state(name)]
    unused = [*sorted(unused), *reader.unused]
    stored_only = [name for name in unused if not is_of_bert(name)]
    return values, LoadReport(reader.description, loaded, missing, unused, stored_only)


def check_shapes(shapes: Mapping[str, tuple[int, ...]], reader: Reader) -> None:
    """Raise InputError if a variable has another shape in the checkpoint than in `shapes`."""
    wrong = [name for name, shape in shapes.items() if reader.shapes.get(name, shape) != shape]
    if wrong:
        name = wrong[0]
        more = f" (and {len(wrong) - 1} more such variables)" if len(wrong) > 1 else ""
        raise InputError(
            f"{reader.description}: {name} has the shape {list(reader.shapes[name])}, this model "
            f"needs {list(shapes[name])}{more}; {_shape_advice(name, reader.shapes[name], shapes[name])}"
        )


def _shape_advice(name: str, stored: tuple[int, ...], needed: tuple[int, ...]) -> str:
    if name == WORD_EMBEDDINGS and stored[1:] == needed[1:]:
        return (
            f"set vocab_size in its config to {stored[0]}; if the vocabulary has been extended since, bert-convert "
            f"--resize_vocab={needed[0]} adds rows"
        )
    if name.startswith("bert/"):
        return "does --bert_config_file belong to this checkpoint?"
    return (
        "it was fine-tuned for another number of labels; start from the pre-trained checkpoint "
        "(or, for bert-classify, give its --labels)"
    )


@dataclasses.dataclass(frozen=True)
class CheckpointWeights:
    """The weights of a checkpoint.

    Attributes:
        tensors: float32 weights by Google's name.
        report: report of reading.
    """

    tensors: dict[str, np.ndarray]
    report: LoadReport

    @property
    def has_pooler(self) -> bool:
        """Return whether the checkpoint has a pooler."""
        return any(name.startswith(POOLER) for name in self.tensors)


def open_source(path: CheckpointPath, average_last: int = 1) -> Reader:
    """Open a checkpoint, or the mean of `average_last` checkpoints that end with it.

    Raise InputError if a checkpoint is damaged or missing (see AverageReader).
    """
    return AverageReader(path, average_last) if average_last > 1 else open_checkpoint(path)


def read_with_heads(
    reader: Reader, config: BertConfig, heads: Collection[str], strict: bool = False
) -> CheckpointWeights:
    """Read an encoder with several heads.

    Args:
        reader: an open checkpoint.
        heads: heads to read.
        strict: whether a weight of unknown meaning is an error.

    Raises:
        InputError: if a weight other than the pooler is missing.
    """
    shape = reader.shapes.get("output_weights", (0, 0))
    # Accept a multiple of the width: a tagger may read several concatenated layers.
    if CLASSIFIER in heads and (len(shape) != 2 or shape[1] == 0 or shape[1] % config.hidden_size):
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, a classifier needs "
            f"[labels, {config.hidden_size}]; --head=encoder converts the rest"
        )
    values, report = read_weights(_shapes(config, heads, reader.shapes), reader)
    # The pooler is optional: Hugging Face's classes that do not use it drop it.
    report.check_whole(NO_BERT, POOLER, strict)
    return CheckpointWeights({name: np.asarray(value, np.float32) for name, value in values.items()}, report)


def _shapes(
    config: BertConfig, heads: Collection[str], stored: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of an encoder and its heads by Google's name.

    Args:
        config: the encoder's config.
        heads: keys of HEADS.
        stored: the checkpoint's shapes, which decide a classifier's.
    """
    hidden, tokens = config.hidden_size, HEADS[REPLACED_TOKENS]
    shapes = pretraining_shapes(hidden, config.embedding_width, config.vocab_size)
    shapes |= {f"{tokens}dense/kernel": (hidden, hidden), f"{tokens}dense/bias": (hidden,)}
    shapes |= {f"{tokens}dense_1/kernel": (hidden, 1), f"{tokens}dense_1/bias": (1,)}
    shapes |= HeadSpec(SPANS, 2).shapes(hidden)
    if CLASSIFIER in heads:
        label_count, width = stored["output_weights"]
        shapes |= {"output_weights": (label_count, width), "output_bias": (label_count,)}
    prefixes = tuple(HEADS[head] for head in heads)
    return encoder_shapes(config) | {name: shape for name, shape in shapes.items() if name.startswith(prefixes)}
