"""Pre-training instances from TFRecord files: sizes checked at the first record, any of them read
at any time.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import some_of
from bert_cli.base.spec import pretraining_features
from bert_cli.features.row_batches import training_rows
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import RecordIndex

EVALUATED = 1024  # instances that are evaluated at a time
# The flag that a feature's length is compared with.
_SIZE_FLAGS = {"input_ids": "max_seq_length", "masked_lm_positions": "max_predictions_per_seq"}
# Names of the TensorFlow Model Garden (use_v2_feature_names), and Google's names of the same.
_MODEL_GARDEN = {"input_word_ids": "input_ids", "input_type_ids": "segment_ids"}


class RecordSource:
    """The instances of TFRecord files that bert-create-pretraining-data or Google's script wrote; a
    context.

    digest: see RecordIndex.
    """

    def __init__(
        self, paths: Sequence[str], max_seq_length: int, max_predictions_per_seq: int, vocab_size: int, seed: int
    ):
        """seed: of the order of training. InputError where there is no record, or the first does
        not fit the sizes.
        """
        self._features = pretraining_features(max_seq_length, max_predictions_per_seq)
        self._vocab_size = vocab_size
        self._seed = seed
        with contextlib.ExitStack() as opened:
            self._index = opened.enter_context(RecordIndex(paths))
            if not len(self._index):
                raise InputError(f"{', '.join(paths[:3])}: no record in there")
            self._check_first()
            opened.pop_all()  # all is well: __exit__ closes the files
        self.digest = self._index.digest

    def __len__(self) -> int:
        return len(self._index)

    @property
    def has_pairs(self) -> bool:
        """Whether the first record has a second text."""
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
                    f"{self._index.place(0)} has no {feature.name} (it has {some_of(names)}): "
                    "it is not pre-training data; make it with bert-create-pretraining-data"
                )
            flag = _SIZE_FLAGS.get(feature.name)
            length = len(columns[feature.name])
            # Google's script fails in the middle of its input pipeline here, without naming the
            # flag.
            if flag and length != feature.length:
                raise InputError(
                    f"{self._index.place(0)} was made with --{flag}={length}, but --{flag} is "
                    f"{feature.length}; give --{flag}={length}"
                )

    def _decode(self, number: int, data: bytes) -> dict[str, np.ndarray]:
        """Return the features of a record, under Google's names."""
        try:
            columns = decode_example(data)
        except (ValueError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._index.place(number)} is not a tf.train.Example ({error}); make it again"
            ) from None
        return {_MODEL_GARDEN.get(name, name): values for name, values in columns.items()}

    def read(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Instances as the arrays of spec.pretraining_features, int64 or float32 [n, length of the
        feature].

        InputError, naming file and record, for another length, a token id that is not in the
        model's vocabulary, or a position outside of the sequence.
        """
        numbers = np.asarray(numbers, np.int64)
        columns = {feature.name: np.zeros((len(numbers), feature.length), feature.dtype) for feature in self._features}
        for row, (number, data) in enumerate(zip(numbers.tolist(), self._index.read(numbers), strict=True)):
            found = self._decode(number, data)
            for feature in self._features:
                values = found.get(feature.name, ())
                if len(values) != feature.length:
                    raise InputError(
                        f"{self._index.place(number)}: {len(values)} values of {feature.name}, the "
                        f"first record of all has {feature.length}; put files of other sizes "
                        "elsewhere"
                    )
                columns[feature.name][row] = values
        for name, limit, what in (
            ("input_ids", self._vocab_size, "vocab_size of the model"),
            ("masked_lm_ids", self._vocab_size, "vocab_size of the model"),
            ("masked_lm_positions", columns["input_ids"].shape[1], "sequence length"),
        ):
            # Checked here: on a GPU, TensorFlow reads zeros for an id that is out of range, without
            # an error.
            wrong = (columns[name] < 0) | (columns[name] >= limit)
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                raise InputError(
                    f"{self._index.place(int(numbers[row]))}: {name} holds "
                    f"{columns[name][row, column]}, but the {what} is {limit}; was it made with "
                    "another vocabulary?"
                )
        return columns

    def stream(self, batch_size: int, position: tuple[int, int] | None) -> Iterator[tuple[dict, tuple[int, int]]]:
        """Batches without end, reshuffled in each pass; the second number of a position counts
        instances.
        """
        taken = position[1] if position else 0
        for rows in training_rows(len(self), batch_size, self._seed, taken // batch_size):
            taken += batch_size
            yield self.read(rows), (0, taken)

    def evaluation(self, most: int | None) -> tuple[int, bool, Iterator[dict]]:
        """How many instances are given, at most `most`, whether there are others, and these, in
        file order, in chunks.
        """
        count = min(len(self), most or len(self))
        starts = range(0, count, EVALUATED)
        chunks = (self.read(np.arange(start, min(start + EVALUATED, count))) for start in starts)
        return count, count < len(self), chunks
