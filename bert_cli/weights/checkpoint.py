"""Weights from and to files under Google's TF1 variable names, and into the variables of a model."""

import contextlib
import dataclasses
import os
import types
from collections.abc import Iterator, Mapping

import numpy as np

from bert_cli.base.errors import InputError, first_line
from bert_cli.base.head_types import MASKED_LM, head_of
from bert_cli.base.messages import list_some
from bert_cli.base.names import CHECKPOINT
from bert_cli.weights.electra import ElectraReader, networks_in
from bert_cli.weights.formats.checkpoint_index import read_array, read_index
from bert_cli.weights.hugging_face import HuggingFaceReader
from bert_cli.weights.model_garden import ModelGardenReader, is_object_checkpoint
from bert_cli.weights.names import STEP_NAME, is_of_training
from bert_cli.weights.path import HUB, HUGGING_FACE, KERAS, TF1, CheckpointPath
from bert_cli.weights.reader import Reader
from bert_cli.weights.training_folder import numbered_checkpoints, step_number

NO_BERT = "it is not a complete BERT"
_ENCODER = "bert/"


class Tf1Reader(Reader):
    """Variables of a TF1 checkpoint (`prefix`.index and its data files)."""

    def __init__(self, prefix: str):
        """InputError for a checkpoint that is damaged or cut short."""
        self.description = prefix
        with _damage_reported(prefix):
            self._entries = read_index(prefix, checks_itself=True)
        self.shapes = {name: entry.shape for name, entry in self._entries.items()}
        self.unused: list[str] = []

    def read(self, name: str) -> np.ndarray:
        """The values of a variable; InputError where they are not what was written."""
        entry = self._entries[name]
        with _damage_reported(self.description):
            return read_array(entry, name) if entry.is_plain else self._read_foreign(name)

    def _read_foreign(self, name: str) -> np.ndarray:
        """Texts, and variables in parts, as TensorFlow reads them."""
        import tensorflow as tf

        try:
            # load_checkpoint would take a folder of the same name for the checkpoint.
            return tf.compat.v1.train.NewCheckpointReader(self.description).get_tensor(name)
        # The reader turns a short data file into one of several exceptions, by the place of the
        # cut.
        except (tf.errors.OpError, RuntimeError, IndexError) as error:
            raise ValueError(first_line(error)) from None


@contextlib.contextmanager
def _damage_reported(prefix: str) -> Iterator[None]:
    """Within it, damage of the files of a checkpoint becomes an InputError."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise InputError(
            f"{prefix}: this checkpoint is damaged or cut short ({first_line(error)}); download or copy it again"
        ) from None


class AverageReader(Reader):
    """The mean of the last checkpoints of a training run up to one of them; values that are not of
    the model are from that one.
    """

    def __init__(self, path: CheckpointPath, count: int):
        """path: a model.ckpt-N; count: how many, that one among them. InputError where there are
        fewer, or it is none such.
        """
        if path.kind != TF1 or not os.path.basename(path.location).startswith(CHECKPOINT):
            raise InputError(f"--average_last={count} is about the {CHECKPOINT}N of a training run, not {path.name}")
        last = step_number(path.location)
        numbers = [number for number in numbered_checkpoints(path.folder) if number <= last][-count:]
        if len(numbers) < count:
            raise InputError(
                f"--average_last={count}: {path.folder} holds {len(numbers)} checkpoints up to "
                f"{CHECKPOINT}{last}; give a smaller number, or train with a larger "
                "--keep_checkpoint_max"
            )
        self._readers = [
            _open_tf1(os.path.join(path.folder, f"{CHECKPOINT}{number}"), path.network) for number in numbers
        ]
        self.description = f"{path.location} (mean of {count}, from {CHECKPOINT}{numbers[0]} on)"
        self.shapes = self._readers[-1].shapes
        self.unused: list[str] = []

    def read(self, name: str) -> np.ndarray:
        if is_of_training(name):
            return self._readers[-1].read(name)
        # The mean in float64: a sum of float32 would be rounded once for each checkpoint.
        values = np.stack([reader.read(name) for reader in self._readers])
        return np.asarray(values.mean(axis=0, dtype=np.float64), np.float32)


_SHARED: dict[CheckpointPath, Reader] = {}


def register_shared(path: CheckpointPath, reader: Reader) -> None:
    """Let open_checkpoint give this reader for the checkpoint, see weights.shared."""
    _SHARED[path] = reader


def open_checkpoint(path: CheckpointPath) -> Reader:
    """The reader of the checkpoint's format."""
    if path in _SHARED:
        return _SHARED[path]
    if path.kind == HUGGING_FACE:
        return HuggingFaceReader(path.location)
    if path.kind == HUB:
        from bert_cli.weights.hub import HubReader  # imports TensorFlow

        return HubReader(path.location, path.name)
    if path.kind == KERAS:
        from bert_cli.weights.keras_weights import KerasReader  # h5py takes a moment to import

        return KerasReader(path.location)
    return _open_tf1(path.location, path.network)


def _open_tf1(prefix: str, network: str) -> Reader:
    reader = Tf1Reader(prefix)
    if is_object_checkpoint(reader.shapes):
        return ModelGardenReader(reader)
    return ElectraReader(reader, network) if network or networks_in(reader.shapes) else reader


def saved_step(reader: Reader) -> int:
    """The global_step of a checkpoint, 0 where it has none."""
    return int(reader.read(STEP_NAME)) if STEP_NAME in reader.shapes else 0


def write_tf1(prefix: str, tensors: dict[str, np.ndarray]) -> None:
    """Write a TF1 checkpoint that the original's scripts read; the folder must exist."""
    import tensorflow as tf

    def tensor(value: np.ndarray) -> tf.Tensor:
        # TensorFlow's own way copies numbers twice, which takes as long as to write them.
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.flags.c_contiguous and value.size:
            return tf.experimental.dlpack.from_dlpack(_same_memory(value).__dlpack__())
        return tf.convert_to_tensor(value)

    # Sorted, so that the same weights give the same file whatever the order of the dict.
    names = sorted(tensors)
    # The operation itself: tf.compat.v1.train.Saver would need a graph and a session around it.
    tf.raw_ops.SaveV2(
        prefix=tf.constant(prefix),
        tensor_names=tf.constant(names),
        shape_and_slices=tf.constant([""] * len(names)),
        tensors=[tensor(tensors[name]) for name in names],
    )


def _same_memory(values: np.ndarray) -> np.ndarray:
    """The same numbers, for a reader that knows of no memory that is only to be read, as DLPack's."""
    # NumPy refuses to export a read-only array by DLPack. SaveV2 only reads, so the view may claim
    # to be writable.
    interface = values.__array_interface__ | {"data": (values.ctypes.data, False)}
    return np.asarray(types.SimpleNamespace(__array_interface__=interface, owner=values))


def data_files(prefix: str) -> list[str]:
    """The files of a checkpoint written by `write_tf1`; the index, which makes it visible, comes
    last.
    """
    return [f"{prefix}.data-00000-of-00001", f"{prefix}.index"]


def second_name(prefix: str) -> str:
    """The name of a checkpoint's data while it takes the place of other data, see
    training.older_checkpoints.
    """
    return f"{prefix}.data-00000-of-00002"


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What came of loading: names by what happened to them."""

    source: str
    loaded: list[str]
    missing: list[str]  # in the model, not in the checkpoint: they keep their random initial values
    unused: list[str]  # in the checkpoint, not in the model

    def check_whole(self, reason: str, optional: str | tuple[str, ...] = ()) -> None:
        """InputError, ending with `reason`, for a missing variable with a name that begins with no
        `optional` one.
        """
        missing = [name for name in self.missing if not name.startswith(optional)]
        if missing:
            raise InputError(f"{self.source}: lacks {list_some(missing, 3)}: {reason}")

    def lines(self) -> list[str]:
        text = [
            f"{self.source}: {len(self.loaded)} variables loaded, {len(self.missing)} missing, {len(self.unused)} unused"
        ]
        for title, names in (("missing (start from random values)", self.missing), ("unused", self.unused)):
            if names:
                # BERT-Large has about 400 variables: a line of the log shows the first few.
                text.append(f"  {title}: {list_some(names)}")
        return text


def load_weights(variables: dict, reader: Reader) -> LoadReport:
    """Assign the variables (Google's name -> variable) that the checkpoint has, see read_weights."""
    # All is read before anything is assigned: a file that is cut short leaves the model as it was.
    values, report = read_weights({name: tuple(variable.shape) for name, variable in variables.items()}, reader)
    for name, value in values.items():
        variables[name].assign(value)
    return report


def read_weights(shapes: Mapping[str, tuple[int, ...]], reader: Reader) -> tuple[dict[str, np.ndarray], LoadReport]:
    """The values of the variables with these names and shapes that the checkpoint has.

    Raises InputError for a shape that differs, for a masked LM with an output matrix of its own, and
    if the checkpoint has none of the variables of a BERT encoder that is to be loaded.
    """
    # Every command and class loads its weights here. A classifier of such a model can be used.
    if any(head_of(name) == MASKED_LM for name in shapes):
        reader.check_tied()
    check_shapes(shapes, reader)
    loaded = [name for name in shapes if name in reader.shapes]
    missing = [name for name in shapes if name not in reader.shapes]
    wanted = [name for name in shapes if name.startswith(_ENCODER)]
    if wanted and not any(name in reader.shapes for name in wanted):
        known = sorted(reader.shapes)[:3] + reader.unused[:3]
        raise InputError(
            f"{reader.description}: holds no variable of this encoder ({_ENCODER}…); it has "
            f"{', '.join(known[:3])}…; is it a BERT checkpoint?"
        )
    values = {name: reader.read(name) for name in loaded}
    unused = [name for name in reader.shapes if name not in shapes and not is_of_training(name)]
    return values, LoadReport(reader.description, loaded, missing, sorted(unused) + reader.unused)


def check_shapes(shapes: Mapping[str, tuple[int, ...]], reader: Reader) -> None:
    """Raise InputError for the first variable that the checkpoint has with another shape."""
    wrong = [name for name, shape in shapes.items() if reader.shapes.get(name, shape) != shape]
    if wrong:
        name = wrong[0]
        more = f" (and {len(wrong) - 1} more such variables)" if len(wrong) > 1 else ""
        raise InputError(
            f"{reader.description}: {name} has the shape {list(reader.shapes[name])}, this model "
            f"needs {list(shapes[name])}{more}; {_shape_advice(name)}"
        )


def _shape_advice(name: str) -> str:
    if name.startswith("bert/"):
        return "does --bert_config_file belong to this checkpoint?"
    return (
        "it was fine-tuned for another number of labels; start from the pre-trained checkpoint "
        "(or, for bert-classify, give its --labels)"
    )
