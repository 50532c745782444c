"""Ensembles: mean predictions by several models for the same rows."""

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.metrics.doubts import DOUBTS
from bert_cli.predicting.classifier import TextClassifier, TextPair
from bert_cli.predicting.decoder import Decoder
from bert_cli.problem_types.parts import OutputDecoder, PredictionArrays, measure_doubt

AnyDecoder = TypeVar("AnyDecoder", bound=Decoder)


def mean_array(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of equally shaped arrays, float32, computed in float64."""
    return np.mean(np.asarray(arrays, np.float64), axis=0).astype(np.float32)


def average(decoder: OutputDecoder, members: Sequence[PredictionArrays], label_ids: np.ndarray) -> PredictionArrays:
    """Return the members' mean probabilities or numbers, with losses.

    Args:
        decoder: the decoder that all members have.
        members: each model's predictions for the same rows.
        label_ids: correct labels, see LabelReader.label_array.
    """
    output = mean_array([predictions[decoder.output_name] for predictions in members])
    logits = decoder.logits(output)
    return {**decoder.postprocess(logits, label_ids), decoder.output_name: output, "logits": logits}


def disagreement(decoder: Decoder, members: Sequence[PredictionArrays]) -> np.ndarray:
    """Return how much of the mean's entropy comes from differences, 0 to 1, float64 [n].

    It is the mean's entropy without the members' mean entropy, which is 0 if all members have the
    same probabilities (Houlsby et al., 2011).

    Args:
        decoder: a decoder with probabilities.
        members: each member's predictions for the same rows.
    """

    def entropy(probabilities: np.ndarray) -> np.ndarray:
        return measure_doubt(DOUBTS["entropy"], probabilities, decoder.labels.thresholds)

    arrays = np.asarray([predictions["probabilities"] for predictions in members], np.float64)
    return np.maximum(entropy(arrays.mean(axis=0)) - np.mean([entropy(array) for array in arrays], axis=0), 0.0)


def label_order(names: Sequence[str], decoders: Sequence[Decoder]) -> list[list[int]]:
    """Return for each model the columns with the first model's labels, in their order.

    Args:
        names: model names, for messages.
        decoders: their decoders.

    Raises:
        InputError: if they have different problem types or labels.
    """
    first, orders = decoders[0], []
    for name, decoder in zip(names, decoders, strict=True):
        if decoder.problem_type.name != first.problem_type.name:
            raise InputError(
                f"{name}: is a model for {decoder.problem_type.name}, and {names[0]} for {first.problem_type.name}; an "
                "ensemble needs models of one kind"
            )
        labels = decoder.labels.names
        if set(labels) != set(first.labels.names):
            raise InputError(
                f"{name}: has the labels {list_names(labels)}, and {names[0]} has {list_names(first.labels.names)}; an "
                "ensemble needs models with the same labels"
            )
        orders.append([labels.index(label) for label in first.labels.names])
    return orders


def reorder(decoder: OutputDecoder, predictions: PredictionArrays, order: Sequence[int]) -> PredictionArrays:
    """Return predictions with columns in another order.

    Args:
        order: columns, see `label_order`; [] to change nothing.
    """
    if not order:
        return predictions
    return {**predictions, decoder.output_name: predictions[decoder.output_name][:, list(order)]}


def mean_decoder(decoders: Sequence[AnyDecoder], orders: Sequence[Sequence[int]]) -> AnyDecoder:
    """Return the first decoder with the mean of all thresholds, for calibrated predictions.

    Args:
        decoders: the models' decoders.
        orders: see `label_order`.
    """
    decoder = decoders[0].with_calibration(None)
    thresholds = mean_thresholds(decoders, orders)
    return dataclasses.replace(decoder, labels=decoder.labels._replace(thresholds=thresholds))


def mean_thresholds(decoders: Sequence[Decoder], orders: Sequence[Sequence[int]]) -> np.ndarray | None:
    """Return mean thresholds in the first model's label order, see LabelSet.

    Args:
        decoders: the models' decoders.
        orders: see `label_order`.
    """
    thresholds = [
        decoder.labels.thresholds[list(order)]
        for decoder, order in zip(decoders, orders, strict=True)
        if decoder.labels.thresholds is not None
    ]
    rule = decoders[0].problem_type.thresholds
    return rule.mean(thresholds, len(decoders)) if rule and thresholds else None


@dataclasses.dataclass(frozen=True)
class MeanClassifier(TextClassifier):
    """The first of several opened classifiers, with the mean prediction of all of them.

    Attributes:
        members: the classifiers.
        orders: see `label_order`.
    """

    members: tuple[TextClassifier, ...]
    orders: Sequence[Sequence[int]]

    def predict(self, pairs: Sequence[TextPair], features: ClassificationFeatures) -> PredictionArrays:
        decoder = self.decoder.problem_type.decoder
        # Members may differ in vocabulary and length, so each one encodes the texts.
        encoded = [features, *(member.encode(pairs) for member in self.members[1:])]
        computed = [
            reorder(decoder, member.infer(rows), order)
            for member, rows, order in zip(self.members, encoded, self.orders, strict=True)
        ]
        return average(decoder, computed, features.label_ids)


def open_mean(names: Sequence[str], members: Sequence[TextClassifier]) -> MeanClassifier:
    """Return the mean of opened classifiers.

    Args:
        names: their names, for messages.

    Raises:
        InputError: if they differ in problem type, labels, or texts per row.
    """
    first, decoders = members[0], [member.decoder for member in members]
    orders = label_order(names, decoders)
    for name, member in zip(names, members, strict=True):
        check_same_texts((names[0], name), (first.takes_pairs, member.takes_pairs))
    shared = vars(first) | {"decoder": mean_decoder(decoders, orders)}
    return MeanClassifier(**shared, members=tuple(members), orders=orders)


def check_same_texts(names: tuple[str, str], take_pairs: tuple[bool, bool]) -> None:
    """Raise InputError if one of two models takes pairs of texts, and the other one does not.

    Args:
        names: names of the models, for messages.
        take_pairs: whether each of them takes pairs.
    """
    texts = ["pairs of texts" if takes_pairs else "single texts" for takes_pairs in take_pairs]
    refuse_if(
        texts[0] != texts[1],
        f"{names[1]}: takes {texts[1]}, and {names[0]} takes {texts[0]}; an ensemble needs models of one kind",
    )
