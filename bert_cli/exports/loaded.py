"""A checkpoint in a Keras model: with all heads for bert-convert, with one for bert-export. Imports
TensorFlow.
"""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, POOLER, SPANS, TAGGER, HeadSpec, head_of
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.squad import BertSpanModel
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.onnx.exported import ENCODER_OUTPUTS
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.weights.checkpoint import NO_BERT, AverageReader, LoadReport, load_weights, open_checkpoint
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.reader import Reader

# The batch on which two models are compared.
_ROWS, _TOKENS = 4, 32


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A checkpoint in memory: `tensors` are its weights (Google's name -> float32), all of them in
    `model`.
    """

    model: keras.Model
    tensors: dict[str, np.ndarray]
    report: LoadReport

    @property
    def has_pooler(self) -> bool:
        return any(name.startswith(POOLER) for name in self.tensors)


def _load(model: keras.Model, reader: Reader, optional: str | tuple[str, ...]) -> Loaded:
    """InputError where a weight is missing and its name does not begin with `optional`."""
    variables = named_weights(model)
    report = load_weights(variables, reader)
    report.check_whole(NO_BERT, optional)
    return Loaded(model, {name: variables[name].numpy() for name in report.loaded}, report)


def open_source(path: CheckpointPath, average_last: int = 1) -> Reader:
    """Open a checkpoint, or the mean of several (see AverageReader). Raises InputError if it is damaged."""
    return AverageReader(path, average_last) if average_last > 1 else open_checkpoint(path)


def load(reader: Reader, config: BertConfig, heads: tuple[str, ...], of_tokens: bool) -> Loaded:
    """Load encoder and `heads`; InputError where anything but the pooler is missing."""
    shape = reader.shapes.get("output_weights", (0, 0))
    # Wider than H where a tagger reads several layers side by side.
    if CLASSIFIER in heads and (len(shape) != 2 or shape[1] == 0 or shape[1] % config.hidden_size):
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, a classifier needs "
            f"[labels, {config.hidden_size}]; --head=encoder converts the rest"
        )
    model = BertWithHeads(config, heads, (shape[0], shape[1]) if CLASSIFIER in heads else (0, 0), of_tokens)
    # Hugging Face drops the pooler where its class reads none.
    return _load(model, reader, POOLER)


def random_inputs(words: int, positions: int, types: int, seed: int) -> dict[str, np.ndarray]:
    """A small batch of an encoder's inputs, rows of several lengths; limits as in BertConfig."""
    rng = np.random.default_rng(seed)
    width = min(positions, _TOKENS)
    # From full length down to about half, so that every batch has padding.
    lengths = np.maximum(1, width - np.arange(_ROWS) * width // (2 * _ROWS))
    mask = (np.arange(width) < lengths[:, None]).astype(np.int32)
    return {
        "input_word_ids": rng.integers(0, words, mask.shape, dtype=np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, max(types, 1), mask.shape, dtype=np.int32) * mask,
    }


def largest_differences(source: Loaded, converted: Loaded, seed: int) -> dict[str, float]:
    """Largest absolute difference of each output of the two models on the same random token ids,
    float32.

    Words and positions that only one of them has do not count, nor do outputs of a pooler that only
    one has.
    """
    configs = (source.model.encoder.config, converted.model.encoder.config)
    # The smaller of both, as a table may have been resized.
    words, positions, types = (
        min(getattr(config, name) for config in configs)
        for name in ("vocab_size", "max_position_embeddings", "type_vocab_size")
    )
    inputs = random_inputs(words, positions, types, seed)
    one = source.model(inputs)
    other = converted.model(inputs)
    compared = [name for name in one if name in other]
    if not (source.has_pooler and converted.has_pooler):
        # The model without a pooler in its file has one of random weights.
        compared.remove("pooled_output")
    differences = {}
    for name in compared:
        count = min(one[name].shape[-1], other[name].shape[-1])  # of masked_lm_logits, where the vocabulary was resized
        gap = np.abs(one[name].numpy()[..., :count] - other[name].numpy()[..., :count])
        differences[name] = float(gap.max())
    return differences


def find_head(reader: Reader, model: ModelBundle[BertConfig], problem_type: ProblemType) -> HeadSpec:
    """The head of a checkpoint. InputError where there are two, or its shape does not fit the
    encoder or the problem type.
    """
    heads = {head_of(name) for name in reader.shapes}
    if {CLASSIFIER, SPANS} <= heads:
        raise InputError(
            f"{reader.description}: has a classifier and a span head; bert-convert --head leaves one of them"
        )
    count, width = reader.shapes.get("output_weights", (0, 0))
    kind = SPANS if SPANS in heads else ENCODER
    if CLASSIFIER in heads:
        # Both have the same variables; only the files next to the checkpoint distinguish them.
        kind = TAGGER if model.classifier_type == TAGGER else CLASSIFIER
    if kind == CLASSIFIER and problem_type.is_numeric and count != 1:
        raise InputError(f"{reader.description}: has {count} outputs, a number needs one")
    layers = model.layers if kind == TAGGER else (-1,)
    spec = HeadSpec(kind, 2 if kind == SPANS else count, model.text_input, layers, problem_type.activation)
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
) -> Loaded:
    """Load encoder and head. problem_type: of a classifier of texts; optional: see
    LoadReport.check_whole.
    """
    # Functions, so that the weights of one model are made and not of all four.
    model = {
        ENCODER: lambda: BertEncoder(config),
        CLASSIFIER: lambda: BertClassifier(
            config, spec.num_outputs, problem_type.name, spec.text_input, temperatures=spec.temperatures
        ),
        TAGGER: lambda: BertTagger(config, spec.num_outputs, spec.layers),
        SPANS: lambda: BertSpanModel(config),
    }[spec.head_type]()
    return _load(model, reader, optional)


def expected_outputs(
    model: keras.Model,
    kind: str,
    problem_type: ProblemType,
    inputs: dict[str, np.ndarray],
    is_hugging_face: bool = False,
) -> dict[str, np.ndarray]:
    """Return the outputs that an ONNX file of the model should have.

    Args:
        model: a model of load_head_model.
        kind: type of its head.
        problem_type: see load_head_model.
        inputs: a batch of spec.INPUTS.
        is_hugging_face: see onnx.exported.build.
    """
    results = model({name: tf.constant(values) for name, values in inputs.items()})
    if kind == SPANS:
        return {"start_logits": results[0].numpy(), "end_logits": results[1].numpy()}
    if kind == ENCODER:
        names = zip(ENCODER_OUTPUTS[False], ENCODER_OUTPUTS[is_hugging_face], strict=True)
        return {name: results[google_name].numpy() for google_name, name in names}
    if is_hugging_face:
        scaled = results / model.temperatures if kind == CLASSIFIER and model.temperatures else results
        return {"logits": scaled.numpy()}
    if kind == CLASSIFIER:
        return {problem_type.exported_name: model.activated(results).numpy()}
    return {"probabilities": tf.nn.softmax(results).numpy()}
