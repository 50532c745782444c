"""An encoder with one head in Keras, from its checkpoint: what bert-export writes, or compares with. Imports TensorFlow."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, POOLER, SPANS, TAGGER, HeadSpec, head_of
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.squad import BertSpanModel
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.weights.checkpoint import NO_BERT, Reader, load_weights


@dataclasses.dataclass(frozen=True)
class HeadModel:
    """A Keras model with its weights; `tensors` are the same under Google's names."""

    spec: HeadSpec
    problem_type: ProblemType
    model: keras.Model
    tensors: dict[str, np.ndarray]

    def outputs(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the ONNX model should give."""
        results, kind = self.model({name: tf.constant(values) for name, values in inputs.items()}), self.spec.kind
        if kind == CLASSIFIER:
            return {self.problem_type.exported_name: self.model.activated(results).numpy()}
        if kind == TAGGER:
            return {"probabilities": tf.nn.softmax(results).numpy()}
        if kind == SPANS:
            return {"start_logits": results[0].numpy(), "end_logits": results[1].numpy()}
        return {name: results[name].numpy() for name in ("sequence_output", "pooled_output")}


def find_head(reader: Reader, model: ModelBundle[BertConfig], problem_type: ProblemType) -> HeadSpec:
    """The head of a checkpoint. InputError where there are two, or its shape does not fit the encoder or the problem type."""
    heads = {head_of(name) for name in reader.shapes}
    if {CLASSIFIER, SPANS} <= heads:
        raise InputError(
            f"{reader.description}: has a classifier and a span head; bert-convert --head leaves one of them"
        )
    count, width = reader.shapes.get("output_weights", (0, 0))
    kind = SPANS if SPANS in heads else ENCODER
    if CLASSIFIER in heads:
        kind = TAGGER if model.classifier_kind == TAGGER else CLASSIFIER
    if kind == CLASSIFIER and problem_type.is_numeric and count != 1:
        raise InputError(f"{reader.description}: has {count} outputs, a number needs one")
    spec = HeadSpec(kind, 2 if kind == SPANS else count, model.text_input, (-1,), problem_type.activation)
    if kind == TAGGER:
        spec = dataclasses.replace(spec, layers=model.layers)
    if count and (count, width) != spec.shapes(model.config.hidden_size)["output_weights"]:
        raise InputError(
            f"{reader.description}: output_weights has the shape {[count, width]}, which does not fit the encoder"
        )
    return spec


def load_head_model(
    reader: Reader,
    config: BertConfig,
    spec: HeadSpec,
    problem_type: ProblemType = SINGLE_LABEL,
    optional: str | tuple[str, ...] = (),
) -> HeadModel:
    """Load encoder and head. problem_type: of a classifier of texts.

    InputError where a weight is missing whose name does not begin with `optional`.
    """
    model = {
        ENCODER: lambda: BertEncoder(config),
        CLASSIFIER: lambda: BertClassifier(
            config, spec.count, problem_type=problem_type.name, text_input=spec.text_input
        ),
        TAGGER: lambda: BertTagger(config, spec.count, spec.layers),
        SPANS: lambda: BertSpanModel(config),
    }[spec.kind]()
    variables = named_weights(model)
    report = load_weights(variables, reader)
    report.check_whole(NO_BERT, optional)
    return HeadModel(spec, problem_type, model, {name: variables[name].numpy() for name in report.loaded})


def load_classifier(
    reader: Reader, model: ModelBundle[BertConfig], labels: tuple[str, ...] | None, problem_type: ProblemType
) -> BertClassifier:
    """The classifier of texts; InputError where the checkpoint holds no classifier of these labels (None: of a number)."""
    shape = reader.shapes.get("output_weights")
    if shape is None:
        raise InputError(
            f"{reader.description}: has no classifier (no output_weights); give the output_dir of bert-classify, or "
            "--format=hub for the encoder alone"
        )
    spec = HeadSpec(CLASSIFIER, len(labels) if labels else 1, model.text_input, activation=problem_type.activation)
    wanted = spec.shapes(model.config.hidden_size)["output_weights"]
    if tuple(shape) != wanted:
        what = f"{spec.count} labels ({', '.join(labels)}) need" if labels else "a number needs"
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, {what} {list(wanted)}; check --labels"
        )
    return load_head_model(reader, model.config, spec, problem_type).model


def load_for_onnx(reader: Reader, model: ModelBundle[BertConfig], problem_type: ProblemType) -> HeadModel:
    """What an ONNX file is written of. A pooler may be missing but for a classifier of texts."""
    spec = find_head(reader, model, problem_type)
    return load_head_model(reader, model.config, spec, problem_type, () if spec.is_of_texts else POOLER)
