"""Taggers that are opened for new texts."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import EMBEDDING, TAGGER, HeadSpec, parse_layers
from bert_cli.base.names import LABELS, OUTSIDE
from bert_cli.examples.tag_schemes import describe_tag_problem
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.text_lines import make_text_example
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.tagging import TaggingFeatures, tagging_features
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.outputs.answers.tagging import TagPrediction, predict_tags
from bert_cli.predicting.opening import TaggerSettings, open_for_new_texts
from bert_cli.problem_types.exclusive import log_softmax
from bert_cli.settings.answering import TaggerModel, Tagging, window_stride
from bert_cli.settings.controls import LayerRates
from bert_cli.settings.groups import Encoding
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel


def read_trained_labels(model: AnyModel) -> tuple[str, ...]:
    """Return a trained model's labels; raise InputError if they are missing, or are not BIO."""
    checkpoint = model.required_checkpoint
    path = os.path.join(checkpoint.folder, LABELS)
    labels = model.head.label_names(None, may_number=False)
    if not labels:
        config = (
            f", and id2label in {checkpoint.hugging_face_config} does not name them"
            if checkpoint.hugging_face_config
            else ""
        )
        raise InputError(
            f"{path}: no such file{config}; it has to list the labels of the model (O, B-x, I-x …), one per line, in the "
            "order of its outputs"
        )
    problem = next((problem for label in labels if (problem := describe_tag_problem(label, "BIO"))), "")
    if problem or OUTSIDE not in labels:
        raise InputError(f"{path}: {problem or f'lacks {OUTSIDE}'}; is it a model of bert-tag?")
    return labels


def choose_layers(flags: TaggerModel, rates: LayerRates, model: AnyModel) -> tuple[int | str, ...]:
    """Return the encoder layers that the classifier reads.

    Without --layers, this is the last layer, or the last four if the encoder is frozen.

    Args:
        flags: flags with --layers.
        rates: flags with --freeze_encoder.
        model: the model's files.

    Raises:
        InputError: for a layer that the model does not have, or that --layers names twice.
    """
    layers_flag, num_layers = flags.layers, model.config.num_hidden_layers
    if layers_flag is None:
        return tuple(range(-1, -1 - min(4, num_layers), -1)) if rates.freeze_encoder else (-1,)
    layers = parse_layers(layers_flag, num_layers)
    if len({layer.place for layer in layers}) < len(layers):
        raise InputError(f"--layers={layers_flag}: a layer is named twice (-1 is {num_layers - 1})")
    chosen_layers = tuple(layer.asked for layer in layers)
    if EMBEDDING in chosen_layers and isinstance(model.config, ModuleConfig):
        raise InputError(
            f"--layers={layers_flag}: a module for tensorflow-hub gives no {EMBEDDING}; name its layers alone"
        )
    return chosen_layers


def make_sentence_windows(
    examples: Sequence[TaggingExample],
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    encoding: Encoding,
    flags: Tagging,
    all_pieces: bool = False,
) -> TaggingFeatures:
    """Return windows over sentences.

    Args:
        examples: sentences.
        labels: labels in BIO.
        encoding: flags with the windows' length.
        flags: flags with the windows' stride.
        all_pieces: whether all word pieces have labels, see tagging_features.
    """
    length = encoding.max_seq_length
    stride = window_stride(flags.doc_stride, length)
    return tagging_features(examples, labels, tokenizer, length, stride, all_pieces)


def predict_windows(
    predictor: Predictor, features: TaggingFeatures, batch_size: int, title: str | None
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each window's index and log-probabilities, float32 [S, L].

    Rows after the window's tokens are undefined.

    Args:
        predictor: the opened model.
        features: windows to predict.
        batch_size: full windows per batch.
        title: title for the progress, None to show no progress.
    """
    # If all texts are blank, there are no windows, and a batch must not be empty.
    for rows, logits in predictor.predict_batches(features, batch_size, title) if len(features) else ():
        yield from zip(rows.tolist(), log_softmax(logits), strict=True)


def tagger_network(num_labels: int, layers: tuple[int | str, ...]) -> FineTunedNetwork:
    """Return a tagger's description, for all engines."""
    return FineTunedNetwork(HeadSpec(TAGGER, num_labels, layers=layers), "a model that bert-tag trained")


def build_tagger(
    config: BertConfig | ModuleConfig, num_labels: int, layers: tuple[int | str, ...], options: "NetworkOptions"
) -> "TaskModel":
    """Return the encoder with a tagger's head, a keras.Model; import TensorFlow.

    Args:
        num_labels: number of labels.
        layers: encoder layers that the head uses.
        options: keyword arguments that all networks share.
    """
    from bert_cli.heads.tagging import BertTagger

    return BertTagger(config, num_labels, layers, **options)


@dataclasses.dataclass(frozen=True)
class TextTagger:
    """An opened tagger.

    Attributes:
        predictor: the model on its engine.
        labels: L label names, one per output, in order.
        tokenizer: the model's tokenizer.
        settings: flags about windows and decoding.
    """

    predictor: Predictor
    labels: tuple[str, ...]
    tokenizer: FullTokenizer
    settings: TaggerSettings

    def split(self, texts: Iterable[str]) -> list[TaggingExample]:
        """Return the texts' words, also of texts without words."""
        return [make_text_example(text, self.tokenizer) for text in texts]

    def tag(
        self,
        examples: Sequence[TaggingExample],
        title: str | None = None,
        check: Callable[[RaggedFeatures], None] = lambda sequences: None,
    ) -> list[TagPrediction]:
        """Return the predicted tags of new sentences.

        Args:
            examples: sentences.
            title: title for the progress, None to show no progress.
            check: function to call with the token sequences before the prediction.
        """
        settings = self.settings
        features = make_sentence_windows(examples, self.labels, self.tokenizer, settings.encoding, settings.task)
        check(features.sequences)
        windows = predict_windows(self.predictor, features, settings.inference.predict_batch_size, title)
        return predict_tags(features, windows, self.labels, settings.inference.decoding)


def open_tagger(settings: TaggerSettings, model: AnyModel, many: bool = False) -> TextTagger:
    """Return a trained tagger with its weights.

    Args:
        settings: flags, including the training run's values.
        model: the model's files.
        many: see inference.rows.open_trained.

    Raises:
        InputError: if the labels are missing or not BIO, or the model lacks a layer.
    """
    layers = choose_layers(settings.tagger, settings.rates, model)
    labels = read_trained_labels(model)

    def build(compute_dtype: str) -> "TaskModel":
        return build_tagger(model.config, len(labels), layers, {"compute_dtype": compute_dtype})

    network = tagger_network(len(labels), layers)
    length = settings.encoding.max_seq_length
    predictor = open_for_new_texts(network, build, model, settings.devices, length, settings.model.strict, many)
    return TextTagger(predictor, labels, model.tokenizer, settings)
