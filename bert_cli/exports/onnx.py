"""A model as an ONNX file: loaded, written, quantized, run with onnxruntime. Imports TensorFlow; needs the extra onnx."""

import dataclasses
import logging

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, POOLER, SPANS, TAGGER, head_of
from bert_cli.exports.conversion import random_inputs
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import length_groups
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.squad import BertSpanModel
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.onnx import bert as onnx_graph
from bert_cli.onnx.session import make_runner
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.weights.checkpoint import NO_BERT, Reader
from bert_cli.weights.load import load_weights

_MAX_DIFFERENCE = 1e-4
_BATCH_TOKENS = 4096


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A model of one `kind` (see base.head_types) with its tensors; `layers` are those that a tagger reads, problem_type and
    `head_input` are those of a classifier.
    """

    kind: str
    layers: tuple[int, ...]
    problem_type: ProblemType
    model: keras.Model
    tensors: dict[str, np.ndarray]
    head_input: str

    def outputs(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the ONNX model should give."""
        results = self.model({name: tf.constant(values) for name, values in inputs.items()})
        if self.kind == CLASSIFIER:
            return {self.problem_type.exported_name: self.model.activated(results).numpy()}
        if self.kind == TAGGER:
            return {"probabilities": tf.nn.softmax(results).numpy()}
        if self.kind == SPANS:
            return {"start_logits": results[0].numpy(), "end_logits": results[1].numpy()}
        return {name: results[name].numpy() for name in ("sequence_output", "pooled_output")}


def find_kind(reader: Reader, of_tokens: bool) -> str:
    """What a checkpoint is a model of, by its heads; of_tokens: its classifier is one of tokens.

    InputError for a classifier beside a span head.
    """
    heads = {head_of(name) for name in reader.shapes}
    if {CLASSIFIER, SPANS} <= heads:
        raise InputError(
            f"{reader.description}: has a classifier and a span head; bert-convert --head leaves one of them"
        )
    if CLASSIFIER in heads:
        return TAGGER if of_tokens else CLASSIFIER
    return SPANS if SPANS in heads else ENCODER


def load(
    reader: Reader, config: BertConfig, kind: str, layers: tuple[int, ...], problem_type: ProblemType, head_input: str
) -> Loaded:
    """Load encoder and head. A pooler may be missing where nothing reads it; InputError where anything else is."""
    if kind == CLASSIFIER and problem_type.is_numeric and reader.shapes["output_weights"][0] != 1:
        raise InputError(f"{reader.description}: has {reader.shapes['output_weights'][0]} outputs, a number needs one")
    count, width = reader.shapes.get("output_weights", (0, 0))
    if count and width != config.hidden_size * (len(layers) if kind == TAGGER else 1):
        raise InputError(
            f"{reader.description}: output_weights has the shape {[count, width]}, which does not fit the encoder"
        )
    model = {
        ENCODER: lambda: BertEncoder(config),
        CLASSIFIER: lambda: BertClassifier(config, count, problem_type=problem_type.name, head_input=head_input),
        TAGGER: lambda: BertTagger(config, count, layers),
        SPANS: lambda: BertSpanModel(config),
    }[kind]()
    variables = named_weights(model)
    report = load_weights(variables, reader)
    report.check_whole(NO_BERT, () if kind == CLASSIFIER else POOLER)
    tensors = {name: variables[name].numpy() for name in report.loaded}
    return Loaded(kind, layers, problem_type, model, tensors, head_input)


def write(path: str, loaded: Loaded, config: BertConfig, metadata: dict[str, str], seed: int = 0) -> float:
    """Write the ONNX file and try it; returns the largest difference to the model's outputs on random token ids.

    InputError, with the file left for the caller to remove, where they differ.
    """
    import onnx

    activation, head_input = loaded.problem_type.activation, loaded.head_input
    made = onnx_graph.build(loaded.tensors, config, loaded.kind, metadata, loaded.layers, activation, head_input)
    onnx.save(made, path)
    difference = largest_difference(path, loaded, config, seed)
    if not difference <= _MAX_DIFFERENCE:
        raise InputError(
            f"the exported model gives other outputs than the original (by {difference:.3g}); nothing was written"
        )
    return difference


def quantize(path: str, target: str) -> None:
    """Write the model with weights in int8, per column, and activations quantized as they come (onnxruntime's dynamic
    quantization). Seven bits are used: processors without VNNI add pairs of products in 16 bits, which eight overflow.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    advice = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)  # "consider to run pre-processing": our graph has nothing to fold
    try:
        quantize_dynamic(path, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    finally:
        logging.getLogger().setLevel(advice)


def largest_difference(path: str, loaded: Loaded, config: BertConfig, seed: int) -> float:
    inputs = random_inputs(config.vocab_size, config.max_position_embeddings, config.type_vocab_size, seed)
    ours, theirs = loaded.outputs(inputs), make_runner(path)(inputs)
    return max(float(np.abs(values - ours[name]).max()) for name, values in theirs.items())


def accuracy(path: str, sequences: RaggedFeatures, label_ids: np.ndarray) -> float:
    """Share of the sequences to which the ONNX classifier gives its label."""
    run, labels = make_runner(path), label_ids
    right = 0
    for rows in length_groups(sequences.lengths, _BATCH_TOKENS):
        width = int(sequences.lengths[rows].max())
        best = run(sequences.padded(rows, width))["probabilities"].argmax(axis=1)
        right += int((best == labels[rows]).sum())
    return right / len(labels)
