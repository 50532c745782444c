"""Models that answer questions about new contexts."""

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.head_types import SPANS, HeadSpec
from bert_cli.examples.squad.records import SquadExample
from bert_cli.features.packing import CutCounts
from bert_cli.features.squad import SquadFeatures, check_lengths, squad_features
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.outputs.answers.answer_text import sentence_span
from bert_cli.outputs.answers.squad import SpanDecoder, SquadPrediction, check_search
from bert_cli.predicting.opening import AnswererSettings, open_for_new_texts
from bert_cli.settings.answering import Squad
from bert_cli.settings.groups import Encoding
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel


def make_question_windows(
    encoding: Encoding,
    flags: Squad,
    examples: Sequence[SquadExample],
    tokenizer: FullTokenizer,
    is_training: bool = False,
) -> SquadFeatures:
    """Return windows over the contexts, with the questions.

    Args:
        encoding: flags with the windows' length.
        flags: flags with the windows' stride, and the questions' length.
        examples: questions with contexts.
        is_training: whether to add the answers' positions.
    """
    length = encoding.max_seq_length
    return squad_features(examples, tokenizer, length, flags.doc_stride, flags.max_query_length, is_training)


def answer_windows(
    settings: AnswererSettings,
    predictor: Predictor,
    examples: Sequence[SquadExample],
    features: SquadFeatures,
    tokenizer: FullTokenizer,
    title: str | None,
) -> tuple[list[SquadPrediction], float]:
    """Return the answers to questions, and the number of windows per second.

    Args:
        settings: flags about answers.
        predictor: the opened model.
        examples: questions with contexts.
        features: windows over the contexts.
        title: title for the progress, None to show no progress.
    """
    answers, batch_size = settings.answers, settings.inference.predict_batch_size
    decoder = SpanDecoder(features, answers, settings.task.version_2_with_negative)
    rate = feed_decoder(predictor, decoder, features, batch_size, title, answers.keep_padding)
    return decoder.finish(examples, tokenizer), rate


def feed_decoder(
    predictor: Predictor,
    decoder: SpanDecoder,
    windows: SquadFeatures,
    batch_size: int,
    title: str | None = None,
    keeps_padding: bool = False,
) -> float:
    """Give the logits of all windows to a decoder; return the number of windows per second.

    Args:
        predictor: the opened model.
        decoder: collects the logits.
        windows: windows to predict.
        batch_size: full windows per batch.
        title: title for the progress, None to show no progress.
        keeps_padding: whether padding has logits like tokens, as in the original.
    """
    began = time.monotonic()
    lengths = windows.sequences.lengths
    for rows, logits in predictor.predict_batches(windows, batch_size, title, unit="windows"):
        if not keeps_padding:
            # No answer begins or ends in padding.
            is_token = np.arange(logits.shape[1]) < lengths[rows, np.newaxis]
            logits = np.where(is_token[:, :, np.newaxis], logits, np.float32(-np.inf))
        decoder.add(rows, logits[..., 0], logits[..., 1])
    return round(len(windows) / max(time.monotonic() - began, 1e-9), 2)


def answer_record(example: SquadExample, prediction: SquadPrediction) -> dict:
    """Return an answer as a record for JSON lines and the terminal.

    "answer" is "" if there is no answer. "start" and "end" are its characters in the context,
    without the end, and "sentence" is the sentence around it; these are null if there is no answer.
    "probability" is the answer's probability in the list "nbest".

    Args:
        example: question with context.
        prediction: answer to the question.
    """
    entries = prediction.nbest if prediction.found else [entry for entry in prediction.nbest if not entry.text]
    chosen_entry = next((entry for entry in entries if entry.span == prediction.span), None)
    start, end = prediction.span or (None, None)
    sentence = None
    if prediction.span:
        first, last = sentence_span(example.paragraph.context, *prediction.span)
        sentence = example.paragraph.context[first:last]
    record = {
        "id": prediction.qas_id,
        "question": example.question,
        "answer": prediction.text if prediction.span else "",
        "probability": chosen_entry.probability if chosen_entry else None,
        "start": start,
        "end": end,
        "sentence": sentence,
        "nbest": [
            {"text": entry.text, "probability": entry.probability, "start": start, "end": end}
            for entry in entries
            for start, end in [entry.span or (None, None)]
        ],
    }
    return record if prediction.null_odds is None else record | {"null_odds": prediction.null_odds}


def answerer_network(keeps_padding: bool) -> FineTunedNetwork:
    """Return the description of a network that answers questions; see Head for the argument."""
    return FineTunedNetwork(HeadSpec(SPANS, 2), "fine-tuned to answer questions", keeps_padding)


def build_answerer(
    config: BertConfig | ModuleConfig, options: "NetworkOptions", skips_padding: bool = False
) -> "TaskModel":
    """Return the encoder with a head for spans, a keras.Model; import TensorFlow.

    Args:
        options: keyword arguments that all networks share.
        skips_padding: whether the loss excludes padding.
    """
    from bert_cli.heads.squad import BertSpanModel

    return BertSpanModel(config, skips_padding, **options)


@dataclasses.dataclass(frozen=True)
class TextAnswerer:
    """An opened model that answers questions.

    Attributes:
        predictor: the model on its engine.
        tokenizer: the model's tokenizer.
        settings: flags about windows and answers.
    """

    predictor: Predictor
    tokenizer: FullTokenizer
    settings: AnswererSettings

    def answer(self, examples: Sequence[SquadExample]) -> tuple[list[SquadPrediction], CutCounts]:
        """Return the answers to questions, and the number of tokens cut by --max_query_length.

        Args:
            examples: one question or more, with contexts.
        """
        settings, tokenizer = self.settings, self.tokenizer
        features = make_question_windows(settings.encoding, settings.task, examples, tokenizer)
        predictions, _ = answer_windows(settings, self.predictor, examples, features, tokenizer, None)
        return predictions, features.cuts

    def count_cut(self, question: str) -> int:
        """Return the number of tokens that a question loses to --max_query_length."""
        return max(0, len(self.tokenizer.encode(question)) - self.settings.task.max_query_length)


def open_answerer(settings: AnswererSettings, model: AnyModel) -> TextAnswerer:
    """Return a trained model with its weights.

    Args:
        settings: flags, including the training run's values.
        model: the model's files.

    Raises:
        InputError: if the flags allow no window or no answer.
    """
    encoding, flags = settings.encoding, settings.task
    # Check combinations here: saved flags and arguments may conflict.
    check_lengths(encoding.max_seq_length, flags.doc_stride, flags.max_query_length)
    check_search(settings.answers)

    def build(compute_dtype: str) -> "TaskModel":
        return build_answerer(model.config, {"compute_dtype": compute_dtype})

    network = answerer_network(settings.answers.keep_padding)
    predictor = open_for_new_texts(
        network, build, model, settings.devices, encoding.max_seq_length, settings.model.strict
    )
    return TextAnswerer(predictor, model.tokenizer, settings)
