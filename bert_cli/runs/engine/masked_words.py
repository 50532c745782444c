"""Prediction of masked words: the interface, and its implementation with an inference engine."""

import abc
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import HEADS, NEXT_SENTENCE, POOLER, pretraining_shapes
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import equal_length_groups
from bert_cli.model.config import BertConfig
from bert_cli.model.shapes import encoder_shapes
from bert_cli.runs.engine.inference_session import MAX_TOKENS, load_tensors, require_bert_config
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.settings.devices import Devices
from bert_cli.weights.path import CheckpointPath

NO_HEAD = (
    "it has no masked-LM head (a fine-tuned model has none, nor has the discriminator of an ELECTRA; its generator "
    "has); give a pre-trained one to --init_checkpoint"
)


class MaskedWords(abc.ABC):
    """A model with its pre-training heads.

    Attributes:
        check_pairs: see Predictor.
    """

    _no_next_sentence: str | None = None
    check_pairs: PairCheck | None = None

    @abc.abstractmethod
    def load(self, checkpoint: CheckpointPath, without_next_sentence: bool) -> None:
        """Load the weights. The next-sentence head may be missing, see `check_next_sentence`.

        Args:
            checkpoint: checkpoint to read.
            without_next_sentence: whether the model was trained without the next-sentence loss.

        Raises:
            InputError: if another variable is missing.
        """

    @abc.abstractmethod
    def fill(self, sequences: RaggedFeatures, positions: np.ndarray, top_k: int) -> dict[str, np.ndarray]:
        """Predict the masked words.

        Args:
            sequences: n sequences.
            positions: mask positions, int32 [n, P], padded with 0.
            top_k: candidates per mask.

        Returns:
            `candidates`, int64 [n, P, top_k], and their `probabilities`, float32 [n, P, top_k],
            best first. `follows`, float32 [n], is the probability that the second text follows the
            first.
        """

    def note_next_sentence(self, source: str, missing: Sequence[str], without_next_sentence: bool) -> None:
        """Note whether and why a model has no next-sentence head.

        Args:
            source: checkpoint name, used in the error message.
            missing: names of missing variables.
            without_next_sentence: see `load`.
        """
        if missing:
            self._no_next_sentence = f"{source} lacks {missing[0]}"
        elif without_next_sentence:
            self._no_next_sentence = f"{source} was trained with --no_nsp"

    def check_next_sentence(self, place: str) -> None:
        """Raise InputError, naming `place`, if the model has no next-sentence head."""
        if self._no_next_sentence:
            raise InputError(
                f"{place}: {self._no_next_sentence}, so it cannot predict whether a text follows another; leave ||| out"
            )


class InferenceMaskedWords(MaskedWords):
    """A model with its pre-training heads, which an inference engine computes on the CPU."""

    def __init__(self, config: BertConfig, devices: Devices, vocab_size: int, check_pairs: PairCheck):
        """Prepare a model without weights; `load` reads them.

        Args:
            config: the model's config.
            devices: flag values, which select the engine.
            vocab_size: entries in the vocabulary. If the model has more rows, they are never
                candidates.
            check_pairs: see Predictor.
        """
        self.check_pairs = check_pairs
        inference = devices.inference
        assert inference, "open_masked_words asks for it"
        self._config = require_bert_config(config, inference)
        self._engine = inference.engine
        self._precision = inference.precision
        self._vocab_size = vocab_size

    def load(self, checkpoint: CheckpointPath, without_next_sentence: bool) -> None:
        config = self._config
        shapes = encoder_shapes(config) | pretraining_shapes(
            config.hidden_size, config.embedding_width, config.vocab_size
        )
        optional = (HEADS[NEXT_SENTENCE], POOLER)
        tensors, _, _ = load_tensors(checkpoint, shapes, optional, NO_HEAD)
        missing = [name for name in shapes if name not in tensors]
        self.note_next_sentence(checkpoint.name, missing, without_next_sentence)
        if missing:
            tensors = {name: value for name, value in tensors.items() if not name.startswith(optional)}
        self._network = self._engine.masked_words(self._precision, tensors, config, self._vocab_size)

    def fill(self, sequences: RaggedFeatures, positions: np.ndarray, top_k: int) -> dict[str, np.ndarray]:
        count, num_masks = positions.shape
        top_k_input = np.array([top_k], np.int64)
        predictions: dict[str, np.ndarray] = {
            "probabilities": np.zeros((count, num_masks, top_k), np.float32),
            "candidates": np.zeros((count, num_masks, top_k), np.int64),
            "follows": np.zeros(count, np.float32),
        }
        lengths = sequences.lengths
        for rows in equal_length_groups(lengths, MAX_TOKENS):
            batch = sequences.pad(rows, int(lengths[rows[0]]))
            # Position 0 is [CLS], so it can mark padding.
            texts, columns = np.nonzero(positions[rows])
            masked = np.stack([texts, positions[rows][texts, columns]], axis=1).astype(np.int64)
            # Pass at least one row: operators handle empty inputs differently.
            masked_input = masked if len(masked) else np.zeros((1, 2), np.int64)
            outputs = self._network(batch | {"masked": masked_input, "top_k": top_k_input})
            for name in ("probabilities", "candidates"):
                predictions[name][rows[texts], columns] = outputs[name][: len(masked)]
            if "next_sentence" in outputs:
                predictions["follows"][rows] = outputs["next_sentence"][:, 0]
        return predictions
