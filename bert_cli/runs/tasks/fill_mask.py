"""Predictions of masked words by a pre-trained BERT; this module does not import TensorFlow."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from bert_cli.features.fill_mask import MaskedText, masked_text
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig
from bert_cli.outputs.fill_mask import fill_mask_record
from bert_cli.runs.engine.masked_words import InferenceMaskedWords, MaskedWords
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.devices import Devices
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.weights.path import CheckpointPath


def open_masked_words(
    model: ModelBundle[BertConfig],
    checkpoint: CheckpointPath,
    devices: Devices,
    strict: bool = False,
) -> MaskedWords:
    """Return the pre-trained model on its devices, with its weights.

    Args:
        model: the model's files.
        checkpoint: its weights.
        devices: device flags; Devices.for_answers chooses the engine.
        strict: whether a doubt about the model is an error, see checks.warn_or_fail.
    """
    devices = devices.for_answers()
    session_class: Callable[[BertConfig, Devices, int, PairCheck], MaskedWords] = InferenceMaskedWords
    if not devices.inference:
        setup_tensorflow()
        from bert_cli.runs.tasks.fill_mask_session import FillMaskSession

        session_class = FillMaskSession
    session = session_class(
        model.config,
        devices,
        model.vocabulary.size,
        PairCheck(model.config, model.config_name, strict),
    )
    session.load(checkpoint, without_next_sentence=model.saved_flags.get("no_nsp") == "true")
    return session


def tokenize_masked_texts(
    session: MaskedWords,
    texts: Iterable[tuple[str, str]],
    tokenizer: FullTokenizer,
    max_length: int,
) -> Iterator[tuple[str, MaskedText]]:
    """Yield each text with its tokens.

    Args:
        session: the opened model.
        texts: pairs (place for error messages, text).
        tokenizer: the model's tokenizer.
        max_length: the model's maximal number of tokens.

    Raises:
        InputError: a text has nothing to predict, or is too long.
    """
    for place, text in texts:
        masked = masked_text(text, tokenizer, max_length, place)
        if masked.is_pair:
            session.check_next_sentence(place)
        yield text, masked


def predict_masks(
    session: MaskedWords,
    tokenizer: FullTokenizer,
    top_k: int,
    chunk: Sequence[tuple[str, MaskedText]],
) -> Iterator[dict]:
    """Yield one record per text, with `top_k` candidates per mask.

    Args:
        session: the opened model.
        tokenizer: the model's tokenizer.
        top_k: number of candidates.
        chunk: texts with their tokens, see tokenize_masked_texts.
    """
    masked_texts = [text for _, text in chunk]
    sequences = RaggedFeatures(
        np.concatenate([text.token_ids for text in masked_texts]).astype(np.int32),
        np.concatenate([text.segment_ids for text in masked_texts]).astype(np.int8),
        np.cumsum([0, *(len(text.token_ids) for text in masked_texts)]),
    )
    # Keep at least one column: a pair of texts may have no mask.
    max_masks = max(1, *(len(text.positions) for text in masked_texts))
    positions = np.array([text.positions + [0] * (max_masks - len(text.positions)) for text in masked_texts], np.int32)
    if session.check_pairs:
        session.check_pairs(sequences)
    results = session.fill(sequences, positions, top_k)
    for row, (text, masked) in enumerate(chunk):
        count = len(masked.positions)
        tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in results["candidates"][row, :count].tolist()]
        follows = float(results["follows"][row]) if masked.is_pair else None
        yield fill_mask_record(text, tokens, results["probabilities"][row, :count], follows)
