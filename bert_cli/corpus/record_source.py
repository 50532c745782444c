"""Pre-training instances in TFRecord files, with checked sizes and random access."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_some
from bert_cli.base.log import LOG
from bert_cli.base.spec import pretraining_features
from bert_cli.features.row_batches import training_rows
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import RecordIndex

EVALUATED = 1024  # instances per evaluated chunk
# Flags that must match the lengths of features.
_SIZE_FLAGS = {"input_ids": "max_seq_length", "masked_lm_positions": "max_predictions_per_seq"}
# Names in the TensorFlow Model Garden (use_v2_feature_names) -> Google's names.
_MODEL_GARDEN = {"input_word_ids": "input_ids", "input_type_ids": "segment_ids"}


class RecordSource:
    """Instances in TFRecord files from bert-create-pretraining-data or Google's script; a context.

    Attributes:
        digest: see RecordIndex.
    """

    def __init__(
        self, paths: Sequence[str], max_seq_length: int, max_predictions_per_seq: int, vocab_size: int, seed: int
    ):
        """Open the files and check the first record.

        Args:
            paths: TFRecord files.
            max_seq_length: length of each sequence.
            max_predictions_per_seq: predictions per sequence.
            vocab_size: the model's vocabulary size.
            seed: seed used for the training order.

        Raises:
            InputError: there is no record, or the first one has other sizes.
        """
        self._features = pretraining_features(max_seq_length, max_predictions_per_seq)
        self._vocab_size = vocab_size
        self._seed = seed
        with contextlib.ExitStack() as opened:
            self._index = opened.enter_context(RecordIndex(paths))
            if not len(self._index):
                raise InputError(f"{', '.join(paths[:3])}: no record in there")
            self._check_first()
            opened.pop_all()  # success: from now on __exit__ closes the files
        self.digest = self._index.digest

    def __len__(self) -> int:
        return len(self._index)

    @property
    def has_pairs(self) -> bool:
        """Return whether the first record has a second text."""
        return bool(self.read(np.array([0]))["segment_ids"].any())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._index.__exit__(*exception)

    def _check_first(self) -> None:
        """Raise InputError unless the first record has the features and their sizes."""
        record = self._index.read([0])[0]
        columns = self._decode(0, record)
        names = sorted(decode_example(record))
        renamed = [f"{name} as {_MODEL_GARDEN[name]}" for name in names if name in _MODEL_GARDEN]
        if renamed:
            path = self._index.paths[0]
            LOG.info("%s: read the TensorFlow Model Garden's %s", path, ", ".join(renamed))
        for feature in self._features:
            if feature.name not in columns:
                raise InputError(
                    f"{self._index.place(0)} has no {feature.name} (it has {list_some(names)}): "
                    "it is not pre-training data; make it with bert-create-pretraining-data"
                )
            flag = _SIZE_FLAGS.get(feature.name)
            length = len(columns[feature.name])
            # Google's script fails here in its input pipeline, without naming the flag.
            if flag and length != feature.length:
                raise InputError(
                    f"{self._index.place(0)} was made with --{flag}={length}, but --{flag} is "
                    f"{feature.length}; give --{flag}={length}"
                )

    def _decode(self, number: int, data: bytes) -> dict[str, np.ndarray]:
        """Return a record's features under Google's names."""
        try:
            columns = decode_example(data)
        except (ValueError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._index.place(number)} is not a tf.train.Example ({error}); make it again"
            ) from None
        return {_MODEL_GARDEN.get(name, name): values for name, values in columns.items()}

    def read(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return instances as arrays in spec.pretraining_features, int64 or float32 [n, length].

        Raises:
            InputError: a feature has another length, a token id is not in the vocabulary, or a
                position is outside the sequence. The message names file and record.
        """
        numbers = np.asarray(numbers, np.int64)
        columns = {feature.name: np.zeros((len(numbers), feature.length), feature.dtype) for feature in self._features}
        for row, (number, data) in enumerate(zip(numbers.tolist(), self._index.read(numbers), strict=True)):
            record = self._decode(number, data)
            for feature in self._features:
                values = record.get(feature.name, ())
                if len(values) != feature.length:
                    raise InputError(
                        f"{self._index.place(number)}: {len(values)} values of {feature.name}, the "
                        f"first record of all has {feature.length}; put files of other sizes "
                        "elsewhere"
                    )
                columns[feature.name][row] = values
        for name, limit, limit_name in (
            ("input_ids", self._vocab_size, "vocab_size of the model"),
            ("masked_lm_ids", self._vocab_size, "vocab_size of the model"),
            ("masked_lm_positions", columns["input_ids"].shape[1], "sequence length"),
        ):
            # Check here: on a GPU, TensorFlow reads zeros for an invalid id, without an error.
            wrong = (columns[name] < 0) | (columns[name] >= limit)
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                raise InputError(
                    f"{self._index.place(int(numbers[row]))}: {name} holds "
                    f"{columns[name][row, column]}, but the {limit_name} is {limit}; was it made with "
                    "another vocabulary?"
                )
        return columns

    def pass_size(self) -> tuple[int, float]:
        """Return the number of instances, and the mean length of the first ones in tokens."""
        masks = self.read(np.arange(min(len(self), EVALUATED)))["input_mask"]
        return len(self), float(masks.sum(axis=1).mean())

    def stream(self, batch_size: int, position: tuple[int, int] | None) -> Iterator[tuple[dict, tuple[int, int]]]:
        """Yield endless batches, reshuffled in each pass, with the position after each batch.

        A position's second number counts instances.
        """
        num_read = position[1] if position else 0
        for rows in training_rows(len(self), batch_size, self._seed, num_read // batch_size):
            num_read += batch_size
            yield self.read(rows), (0, num_read)

    def evaluation(self, most: int | None) -> tuple[int, bool, Iterator[dict]]:
        """Return the number of instances, whether there are more, and the instances in chunks.

        There are at most `most` instances, in file order.
        """
        count = min(len(self), most or len(self))
        starts = range(0, count, EVALUATED)
        chunks = (self.read(np.arange(start, min(start + EVALUATED, count))) for start in starts)
        return count, count < len(self), chunks
