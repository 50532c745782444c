"""Pre-trained models that are opened to predict masked words."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.features.encoded_text import MaskedText, encode_masked_text
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import iterate_chunks
from bert_cli.inference.engine import LOGITS, MASKS, NEXT_SENTENCE_LOGITS, Engine, MaskedWordsNetwork
from bert_cli.inference.rows import open_trained, run_sequences
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.checks import PairCheck
from bert_cli.opening.loader import load_model
from bert_cli.predicting.opening import MaskFillerSettings
from bert_cli.problem_types.exclusive import log_softmax
from bert_cli.settings.devices import Devices
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.weights.path import CheckpointPath

Encode = Callable[[str, FullTokenizer, int, str], MaskedText]
Predict = Callable[[Sequence[MaskedText]], Iterator[JsonObject]]


@dataclasses.dataclass(frozen=True)
class PretrainedModel:
    """A pre-trained model with its heads, on its engine.

    Attributes:
        engine: engine with weights.
        batch_size: texts per batch.
        check_pairs: check of second texts.
        num_positions: the most tokens of a sequence.
        no_next_sentence: the reason why the model has no next-sentence head, "" if it has one.
    """

    engine: Engine
    batch_size: int
    check_pairs: PairCheck
    num_positions: int
    no_next_sentence: str

    def check_next_sentence(self, place: str) -> None:
        """Raise InputError, naming `place`, if the model has no next-sentence head."""
        if self.no_next_sentence:
            raise InputError(
                f"{place}: {self.no_next_sentence}, so it cannot predict whether a text follows another; leave ||| out"
            )


def open_masked_words(
    model: ModelBundle[BertConfig],
    devices: Devices,
    strict: bool = False,
    many: bool = False,
) -> PretrainedModel:
    """Return the pre-trained model on its devices, with its weights.

    Args:
        model: the model's files.
        devices: device flags; Devices.for_answers chooses the engine.
        strict: whether a doubt about the model is an error, see base.log.warn_or_fail.
        many: see inference.rows.open_trained.

    Raises:
        InputError: if the checkpoint has no masked-LM head.
    """
    config = model.config
    network = MaskedWordsNetwork(model.vocabulary.size)
    checkpoint, num_positions = model.required_checkpoint, config.max_position_embeddings
    opened = open_trained(network, config, checkpoint, devices.for_answers(), num_positions, many=many)
    no_next_sentence = ""
    if opened.missing:
        no_next_sentence = f"{checkpoint.name} lacks {opened.missing[0]}"
    elif model.head.has_untrained_next_sentence:
        no_next_sentence = f"{checkpoint.name} was trained with --no_nsp"
    check_pairs = PairCheck(config, model.config_name, strict)
    return PretrainedModel(opened.engine, devices.batch_size, check_pairs, num_positions, no_next_sentence)


def predict_masks(
    pretrained: PretrainedModel, tokenizer: FullTokenizer, top_k: int, chunk: Sequence[MaskedText]
) -> Iterator[JsonObject]:
    """Yield one record per text, with `top_k` candidates per mask.

    Args:
        pretrained: the opened model.
        top_k: number of candidates.
        chunk: texts, see encoded_text.encode_masked_text.

    Raises:
        InputError: if there is a pair, and the model has no next-sentence head.
    """
    for text in chunk:
        if text.is_pair:
            pretrained.check_next_sentence(text.place)
    sequences, positions = pack_masked_texts(chunk)
    pretrained.check_pairs(sequences)
    max_tokens = pretrained.batch_size * int(sequences.lengths.max())
    candidates = np.zeros((*positions.shape, top_k), np.int64)
    probabilities = np.zeros((*positions.shape, top_k), np.float32)
    follows = np.zeros(len(chunk), np.float32)
    for rows, outputs in run_sequences(pretrained.engine, sequences, max_tokens, {MASKS: positions}):
        texts, columns = np.nonzero(positions[rows])
        masks = (rows[texts], columns)
        candidates[masks], probabilities[masks] = _most_probable(outputs[LOGITS], top_k)
        if NEXT_SENTENCE_LOGITS in outputs:
            # Column 0 is "follows" in the original: label 1 is a random next sentence.
            follows[rows] = np.exp(log_softmax(outputs[NEXT_SENTENCE_LOGITS]))[:, 0]
    for row, text in enumerate(chunk):
        count = len(text.positions)
        tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in candidates[row, :count].tolist()]
        next_sentence = float(follows[row]) if text.is_pair else None
        masks_of_text = [
            [candidate_entry(token, round(float(value), 6)) for token, value in zip(names, values, strict=True)]
            for names, values in zip(tokens, probabilities[row, :count], strict=True)
        ]
        yield fill_mask_record(text.text, masks_of_text, next_sentence)


def pack_masked_texts(texts: Sequence[MaskedText]) -> tuple[RaggedFeatures, np.ndarray]:
    """Return the texts as n sequences, and their mask positions.

    Returns:
        The sequences, and int32 [n, masks] with zeros after a text's last mask.
    """
    sequences = RaggedFeatures(
        np.concatenate([text.token_ids for text in texts]).astype(np.int32),
        np.concatenate([text.segment_ids for text in texts]).astype(np.int8),
        np.cumsum([0, *(len(text.token_ids) for text in texts)]),
    )
    # Keep at least one column: a pair of texts may have no mask.
    max_masks = max(1, *(len(text.positions) for text in texts))
    return sequences, np.array([text.positions + [0] * (max_masks - len(text.positions)) for text in texts], np.int32)


def _most_probable(logits: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the most probable tokens of each mask, best first, and the smallest id first in a tie.

    Args:
        logits: float32 [M, V].
        count: k, the tokens per mask.

    Returns:
        Token ids, int64 [M, k], and probabilities, float32 [M, k].
    """
    probabilities = np.exp(log_softmax(logits))
    candidates = np.empty((len(logits), count), np.int64)
    for row, values in enumerate(probabilities):
        # Sort only the best tokens: sorting a vocabulary of 30,000 takes milliseconds.
        best = np.flatnonzero(values >= np.partition(values, -count)[-count])
        candidates[row] = best[np.argsort(-values[best], kind="stable")[:count]]
    return candidates, np.take_along_axis(probabilities, candidates, axis=1)


def candidate_entry(token: str, probability: float) -> JsonObject:
    """Return a candidate for a mask as a JSON object."""
    return {"token": token, "probability": probability}


def fill_mask_record(text: str, masks: list[list[JsonObject]], next_sentence: float | None) -> JsonObject:
    """Return the candidates for a text's masks as a JSON object.

    Args:
        text: the text with its masks.
        masks: candidates per mask, best first.
        next_sentence: probability that the second text follows the first, None if it was not
            computed.
    """
    record: JsonObject = {"text": text, "masks": masks}
    if next_sentence is not None:
        record["next_sentence_probability"] = round(next_sentence, 6)
    return record


@dataclasses.dataclass(frozen=True)
class TextMaskFiller:
    """An opened pre-trained model for texts in memory.

    Texts may be pairs separated by ` ||| `.

    Attributes:
        pretrained: the model on its engine.
        model: the model's files.
    """

    pretrained: PretrainedModel
    model: ModelBundle[BertConfig]

    def records(self, texts: Sequence[str], top_k: int, places: Sequence[str] | None = None) -> list[JsonObject]:
        """Return one object per text, as in the JSON lines of bert-fill-mask.

        Args:
            top_k: number of candidates per mask.
            places: see `predict`.
        """
        count = min(top_k, self.model.vocabulary.size)
        predict = functools.partial(predict_masks, self.pretrained, self.model.tokenizer, count)
        return self.predict(texts, encode_masked_text, predict, places)

    def predict(
        self, texts: Sequence[str], encode: Encode, predict: Predict, places: Sequence[str] | None = None
    ) -> list[JsonObject]:
        """Return one object per text.

        Args:
            encode: function that tokenizes a text, see encoded_text.encode_masked_text.
            predict: function that yields the objects for a chunk of texts.
            places: the texts' names in errors; by default texts[0], texts[1], …
        """
        tokenizer, num_positions = self.model.tokenizer, self.pretrained.num_positions
        # Encode all texts before the first is computed: a wrong text must fail fast.
        names = [f"texts[{row}]" for row in range(len(texts))] if places is None else places
        encoded = [encode(text, tokenizer, num_positions, name) for text, name in zip(texts, names, strict=True)]
        return [record for chunk in iterate_chunks(iter(encoded)) for record in predict(chunk)]


def open_mask_filler(settings: MaskFillerSettings, checkpoint: CheckpointPath) -> TextMaskFiller:
    """Return a pre-trained model with its weights.

    Args:
        settings: flags for the model's files and devices.

    Raises:
        InputError: if the checkpoint has no masked-LM head.
    """
    model = load_model(settings.model, checkpoint, 3, needs_bert=True)
    return TextMaskFiller(open_masked_words(model, settings.devices), model)
