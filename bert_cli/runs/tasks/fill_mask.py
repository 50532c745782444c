"""A pre-trained BERT that fills blanks. Imports TensorFlow."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import HEADS, NEXT_SENTENCE, POOLER
from bert_cli.features.fill_mask import MaskedText, masked_text
from bert_cli.features.ragged import RaggedFeatures, length_groups
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.model.config import BertConfig
from bert_cli.outputs.fill_mask import fill_mask_record
from bert_cli.runs.engine.session import Session, memory_advice
from bert_cli.settings.devices import Devices
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.scatter import infer
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import CheckpointPath


class FillMaskSession(Session):
    """A BertPretrainer with its strategy and precision."""

    def __init__(self, config: BertConfig, devices: Devices, batch_size: int, top_k: int, vocab_size: int):
        """batch_size: texts of full length that are computed at once; top_k: candidates for each
        mask.

        vocab_size: entries of the vocabulary; rows of the model beyond them are never a candidate.
        """
        positions = config.max_position_embeddings
        super().__init__(
            lambda precision: BertPretrainer(config, compute_dtype=precision), devices, positions, weights_follow=True
        )
        self._batch_size = batch_size
        self._top_k = top_k
        self._vocab_size = vocab_size
        self._no_next_sentence: str | None = None
        self._runner = self.runner(self._forward, spec.FILL_MASK)

    def load(self, checkpoint: CheckpointPath, trained_without: bool) -> None:
        """Take the weights. A next-sentence head that is missing, or that was `trained_without` its
        loss, only counts where it is asked for; InputError where anything else is missing.
        """
        report = self._fill_to_predict(
            open_checkpoint(checkpoint),
            "it has no masked-LM head (a fine-tuned model has none); give a pre-trained one to --init_checkpoint",
            (HEADS[NEXT_SENTENCE], POOLER),
        )
        if report.missing:
            self._no_next_sentence = f"{report.source} lacks {report.missing[0]}"
        elif trained_without:
            self._no_next_sentence = f"{report.source} was trained with --no_nsp"

    def keep_best(self, top_k: int) -> None:
        """Give `top_k` candidates for each mask from now on."""
        if top_k != self._top_k:
            self._top_k = top_k
            self._runner = self.runner(self._forward, spec.FILL_MASK)

    def check_next_sentence(self, place: str) -> None:
        """InputError, naming `place`, where the model has no next-sentence head."""
        if self._no_next_sentence:
            raise InputError(
                f"{place}: {self._no_next_sentence}, so it cannot predict whether a text follows another; leave ||| out"
            )

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        outputs = self.model(batch, packed=self.packed)
        logits = outputs["masked_lm_logits"][..., : self._vocab_size]  # [B, P, V]
        # On the device: of a vocabulary's probabilities only k leave it.
        best, candidates = tf.math.top_k(tf.nn.softmax(logits), self._top_k)
        # Column 0 is "follows" in the original: label 1 is a random next sentence.
        follows = tf.nn.softmax(outputs["next_sentence_logits"])[:, 0]
        return {"probabilities": best, "candidates": candidates, "follows": follows}

    def fill(self, sequences: RaggedFeatures, positions: np.ndarray) -> dict[str, np.ndarray]:
        """positions int32 [n, P], 0 where a text has fewer masks -> `candidates` int32 and
        `probabilities` float32 [n, P, k], best first, and `follows` float32 [n], the probability
        that the second text follows the first.
        """
        lengths = sequences.lengths
        groups = length_groups(lengths, self._batch_size * int(lengths.max()))

        def make_batch(rows: np.ndarray) -> dict[str, np.ndarray]:
            width = int(lengths[rows].max()) if self.packed else self.max_seq_length
            return sequences.padded(rows, width) | {"masked_lm_positions": positions[rows]}

        with memory_advice("batch_size"):
            return infer(self._runner, groups, make_batch, lambda count: None)


def masked_texts(
    session: FillMaskSession, texts: Iterable[tuple[str, str]], tokenizer: FullTokenizer, positions: int
) -> Iterator[tuple[str, MaskedText]]:
    """(text, its tokens) of each (place for error messages, text), in order; `positions`: see the
    model's config.

    InputError for a text that cannot be answered.
    """
    for place, text in texts:
        masked = masked_text(text, tokenizer, positions, place)
        if masked.is_pair:
            session.check_next_sentence(place)
        yield text, masked


def answers(
    session: FillMaskSession, tokenizer: FullTokenizer, chunk: Sequence[tuple[str, MaskedText]]
) -> Iterator[dict]:
    """One record for each of some masked_texts, in order."""
    masked = [text for _, text in chunk]
    sequences = RaggedFeatures(
        np.concatenate([text.token_ids for text in masked]).astype(np.int32),
        np.concatenate([text.segment_ids for text in masked]).astype(np.int8),
        np.cumsum([0, *(len(text.token_ids) for text in masked)]),
    )
    # At least one column: a text may have no mask and still be a pair.
    most = max(1, *(len(text.positions) for text in masked))
    positions = np.array([text.positions + [0] * (most - len(text.positions)) for text in masked], np.int32)
    results = session.fill(sequences, positions)
    for row, (text, found) in enumerate(chunk):
        count = len(found.positions)
        tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in results["candidates"][row, :count].tolist()]
        follows = float(results["follows"][row]) if found.is_pair else None
        yield fill_mask_record(text, tokens, results["probabilities"][row, :count], follows)
