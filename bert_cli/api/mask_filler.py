"""Masked words and next sentences from Python:

    from bert_cli import MaskFiller
    MaskFiller.load().fill("the dog sees a [MASK] .")["masks"][0][0]["token"]

is the most probable word for the [MASK].
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from bert_cli.api import loading
from bert_cli.api.arguments import named_arguments, parse_arguments
from bert_cli.api.texts import check_text, single_texts
from bert_cli.base.errors import InputError
from bert_cli.base.names import PAIR_MARK
from bert_cli.flags.option import build
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.loader import load_model
from bert_cli.settings.devices import refuse_int8
from bert_cli.settings.texts import FillMaskSettings

_TOP_K = FillMaskSettings().candidates.top_k


class MaskFiller:
    """A pre-trained model with its heads for masked words and next sentences. Made by `load`."""

    def __init__(self, session: Any, model: AnyModel):
        self._session = session
        self._model = model

    @classmethod
    @named_arguments(init_checkpoint="path")
    def load(
        cls,
        path: str | os.PathLike | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
    ) -> "MaskFiller":
        """Load an output_dir of bert-pretrain, or a checkpoint of any format; by default the
        pre-trained model in the box.

        precision: auto, float32, bfloat16 or float16; engine: auto, tensorflow, onnxruntime or
        openvino. Raises InputError where something is missing, damaged, or does not fit together,
        and for a model without the head of masked words, such as a fine-tuned one.
        """
        settings = build(FillMaskSettings, parse_arguments(FillMaskSettings, loading.flags_of(locals())))
        refuse_int8(settings.devices.engine, settings.devices.precision)
        checkpoint = loading.find(path)
        model = load_model(settings.model, checkpoint, 3, needs_bert=True)
        from bert_cli.runs.tasks.fill_mask import open_masked_words

        return cls(open_masked_words(model, checkpoint, settings.devices), model)

    @named_arguments()
    def fill(self, text: str | Iterable[str], top_k: int = _TOP_K) -> Any:
        """The top_k most probable tokens for each [MASK] of a text; of a list of texts a list of
        results.

        As the JSON lines of bert-fill-mask: `text`, and `masks`, a list for each [MASK] of
        {"token", "probability"}, best first; of two texts with ` ||| ` between also
        `next_sentence_probability`.
        """
        if top_k < 1:
            raise InputError(f"top_k={top_k}: 1 or more is needed")
        if isinstance(text, str):
            return self._records([text], top_k)[0]
        return self._records(single_texts(text), top_k)

    @named_arguments()
    def next_sentence(self, text: str, text_b: str) -> float:
        """The probability that text_b follows text. InputError for a model without that head."""
        check_text(text)
        check_text(text_b, "text_b")
        return self._records([f"{text}{PAIR_MARK}{text_b}"], 1)[0]["next_sentence_probability"]

    def _records(self, texts: Sequence[str], top_k: int) -> list[dict[str, Any]]:
        from bert_cli.runs.tasks.fill_mask import predict_masks, tokenize_masked_texts
        from bert_cli.runs.tasks.interactive import iterate_chunks

        named = ((f"texts[{number}]", text) for number, text in enumerate(texts))
        tokenizer = self._model.tokenizer
        positions = self._model.config.max_position_embeddings
        masked = tokenize_masked_texts(self._session, named, tokenizer, positions)
        best = min(top_k, self._model.vocabulary.size)
        return [
            record
            for chunk in iterate_chunks(masked)
            for record in predict_masks(self._session, tokenizer, best, chunk)
        ]
