"""A pre-trained BERT that predicts masked words. Imports no TensorFlow."""

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
    model: ModelBundle[BertConfig], checkpoint: CheckpointPath, devices: Devices, strict: bool = False
) -> MaskedWords:
    """Return the pre-trained model on its devices, with its weights; strict: see checks.doubt.

    Devices.for_answers chooses the engine.
    """
    devices = devices.for_answers()
    kind: Callable[[BertConfig, Devices, int, PairCheck], MaskedWords] = InferenceMaskedWords
    if not devices.inference:
        setup_tensorflow()
        from bert_cli.runs.tasks.fill_mask_session import FillMaskSession

        kind = FillMaskSession
    session = kind(model.config, devices, model.vocabulary.size, PairCheck(model.config, model.config_name, strict))
    session.load(checkpoint, trained_without=model.saved_flags.get("no_nsp") == "true")
    return session


def masked_texts(
    session: MaskedWords, texts: Iterable[tuple[str, str]], tokenizer: FullTokenizer, positions: int
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
    session: MaskedWords, tokenizer: FullTokenizer, top_k: int, chunk: Sequence[tuple[str, MaskedText]]
) -> Iterator[dict]:
    """One record for each of some masked_texts, in order, with `top_k` candidates for each mask."""
    masked = [text for _, text in chunk]
    sequences = RaggedFeatures(
        np.concatenate([text.token_ids for text in masked]).astype(np.int32),
        np.concatenate([text.segment_ids for text in masked]).astype(np.int8),
        np.cumsum([0, *(len(text.token_ids) for text in masked)]),
    )
    # At least one column: a text may have no mask and still be a pair.
    most = max(1, *(len(text.positions) for text in masked))
    positions = np.array([text.positions + [0] * (most - len(text.positions)) for text in masked], np.int32)
    if session.check_pairs:
        session.check_pairs(sequences)
    results = session.fill(sequences, positions, top_k)
    for row, (text, found) in enumerate(chunk):
        count = len(found.positions)
        tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in results["candidates"][row, :count].tolist()]
        follows = float(results["follows"][row]) if found.is_pair else None
        yield fill_mask_record(text, tokens, results["probabilities"][row, :count], follows)
