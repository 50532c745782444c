"""What predicts masked words: the interface, and a model that an inference engine computes. Imports
no TensorFlow.
"""

import abc
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import HEADS, NEXT_SENTENCE, POOLER, pretraining_shapes
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import equal_length_groups
from bert_cli.model.config import BertConfig
from bert_cli.model.shapes import encoder_shapes
from bert_cli.runs.engine.inference_session import MAX_TOKENS, checked_config, load_tensors
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.settings.devices import Devices
from bert_cli.weights.path import CheckpointPath

NO_HEAD = (
    "it has no masked-LM head (a fine-tuned model has none, nor has the discriminator of an ELECTRA; its generator "
    "has); give a pre-trained one to --init_checkpoint"
)


class MaskedWords(abc.ABC):
    """A model with its pre-trained heads. vocab_size, of __init__: entries of the vocabulary; rows
    of the model beyond them are never a candidate. check_pairs: see Predictor.
    """

    _no_next_sentence: str | None = None
    check_pairs: PairCheck | None = None

    @abc.abstractmethod
    def load(self, checkpoint: CheckpointPath, trained_without: bool) -> None:
        """Take the weights. A next-sentence head that is missing, or that was `trained_without` its
        loss, only counts where it is asked for; InputError where anything else is missing.
        """

    @abc.abstractmethod
    def fill(self, sequences: RaggedFeatures, positions: np.ndarray, top_k: int) -> dict[str, np.ndarray]:
        """positions int32 [n, P], 0 where a text has fewer masks -> `candidates` and float32
        `probabilities` [n, P, top_k], best first, and `follows` float32 [n], the probability that
        the second text follows the first.
        """

    def note_next_sentence(self, source: str, missing: Sequence[str], trained_without: bool) -> None:
        """Keep why there is no next-sentence head, where there is none. missing: names of
        variables.
        """
        if missing:
            self._no_next_sentence = f"{source} lacks {missing[0]}"
        elif trained_without:
            self._no_next_sentence = f"{source} was trained with --no_nsp"

    def check_next_sentence(self, place: str) -> None:
        """InputError, naming `place`, where the model has no next-sentence head."""
        if self._no_next_sentence:
            raise InputError(
                f"{place}: {self._no_next_sentence}, so it cannot predict whether a text follows another; leave ||| out"
            )


class InferenceMaskedWords(MaskedWords):
    """By an inference engine, see engine.InferenceEngine.masked_words."""

    def __init__(self, config: BertConfig, devices: Devices, vocab_size: int, check_pairs: PairCheck):
        """See MaskedWords."""
        self.check_pairs = check_pairs
        inference = devices.inference
        assert inference, "open_masked_words asks for it"
        self._config = checked_config(config, inference)
        self._engine = inference.engine
        self._precision = inference.precision
        self._vocab_size = vocab_size

    def load(self, checkpoint: CheckpointPath, trained_without: bool) -> None:
        config = self._config
        shapes = encoder_shapes(config) | pretraining_shapes(
            config.hidden_size, config.embedding_width, config.vocab_size
        )
        optional = (HEADS[NEXT_SENTENCE], POOLER)
        tensors, _, _ = load_tensors(checkpoint, shapes, optional, NO_HEAD)
        missing = [name for name in shapes if name not in tensors]
        self.note_next_sentence(checkpoint.name, missing, trained_without)
        if missing:
            tensors = {name: value for name, value in tensors.items() if not name.startswith(optional)}
        self._network = self._engine.masked_words(self._precision, tensors, config, self._vocab_size)

    def fill(self, sequences: RaggedFeatures, positions: np.ndarray, top_k: int) -> dict[str, np.ndarray]:
        count, most = positions.shape
        best = np.array([top_k], np.int64)
        found: dict[str, np.ndarray] = {
            "probabilities": np.zeros((count, most, top_k), np.float32),
            "candidates": np.zeros((count, most, top_k), np.int64),
            "follows": np.zeros(count, np.float32),
        }
        lengths = sequences.lengths
        for rows in equal_length_groups(lengths, MAX_TOKENS):
            batch = sequences.padded(rows, int(lengths[rows[0]]))
            # Position 0 is [CLS], so it marks the places of texts that have fewer masks than
            # others.
            texts, columns = np.nonzero(positions[rows])
            masked = np.stack([texts, positions[rows][texts, columns]], axis=1).astype(np.int64)
            # At least one row, as operators differ in what they make of none.
            asked = masked if len(masked) else np.zeros((1, 2), np.int64)
            given = self._network(batch | {"masked": asked, "top_k": best})
            for name in ("probabilities", "candidates"):
                found[name][rows[texts], columns] = given[name][: len(masked)]
            if "next_sentence" in given:
                found["follows"][rows] = given["next_sentence"][:, 0]
        return found
