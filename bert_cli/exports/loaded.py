"""Keras models with weights from checkpoints, with all heads or with one."""

import dataclasses
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.head_types import CLASSIFIER, ENCODER, FINE_TUNED, HeadSpec
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.squad import BertSpanModel
from bert_cli.heads.tagging import BertTagger
from bert_cli.heads.vectors import embed_texts
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.onnx.exported import ENCODER_OUTPUTS
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.sentence.vectors import SENTENCE_EMBEDDING, PoolingAndSteps
from bert_cli.weights.checkpoint import NO_BERT, CheckpointWeights, load_weights
from bert_cli.weights.variables import Reader

# Shape of the batch for comparing two models.
_ROWS, _TOKENS = 4, 32


@dataclasses.dataclass(frozen=True)
class LoadedModel(CheckpointWeights):
    """A model with the weights of a checkpoint."""

    model: keras.Model


def _load(model: keras.Model, reader: Reader, optional: str | tuple[str, ...], strict: bool) -> LoadedModel:
    """Load the weights; raise InputError if one is missing, unless its name begins with `optional`.

    With `strict`, weights of unknown meaning are an error, too.
    """
    variables = named_weights(model)
    report = load_weights(variables, reader)
    report.check_whole(NO_BERT, optional, strict)
    return LoadedModel({name: variables[name].numpy() for name in report.loaded}, report, model)


def build_network(
    config: BertConfig, heads: tuple[str, ...], tensors: Mapping[str, np.ndarray], of_tokens: bool = False
) -> BertWithHeads:
    """Return an encoder and several heads that use these weights.

    Args:
        config: config of the encoder.
        tensors: weights by Google's name; others stay random.
        of_tokens: whether the classifier is a tagger.
    """
    model = BertWithHeads(config, heads, {name: values.shape for name, values in tensors.items()}, of_tokens)
    variables = named_weights(model)
    for name, values in tensors.items():
        variables[name].assign(values)
    return model


def random_inputs(vocab_size: int, max_positions: int, num_types: int, seed: int) -> dict[str, np.ndarray]:
    """Return a small batch of an encoder's inputs, with rows of several lengths.

    Args:
        vocab_size: upper bound for token ids.
        max_positions: maximum length.
        num_types: number of token types.
        seed: random seed.
    """
    rng = np.random.default_rng(seed)
    width = min(max_positions, _TOKENS)
    # Use lengths from the full length to about a half, so that the batch has padding.
    lengths = np.maximum(1, width - np.arange(_ROWS) * width // (2 * _ROWS))
    mask = (np.arange(width) < lengths[:, None]).astype(np.int32)
    return {
        "input_word_ids": rng.integers(0, vocab_size, mask.shape, dtype=np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, max(num_types, 1), mask.shape, dtype=np.int32) * mask,
    }


def load_head_model(
    reader: Reader,
    config: BertConfig,
    spec: HeadSpec,
    problem_type: ProblemType = SINGLE_LABEL,
    optional: str | tuple[str, ...] = (),
    strict: bool = False,
) -> LoadedModel:
    """Load an encoder with one head.

    Args:
        reader: an open checkpoint.
        problem_type: problem type of a text classifier.
        optional: prefixes of weights that may be missing.
        strict: whether a weight of unknown meaning is an error.

    Raises:
        InputError: if another weight is missing.
    """
    model: keras.Model
    if spec.head_type == ENCODER:
        model = BertEncoder(config)
    elif spec.is_text_classifier:
        model = BertTextClassifier(
            config, spec.num_outputs, problem_type.name, spec.text_input, temperatures=spec.temperatures
        )
    else:
        model = BertTagger(config, spec.num_outputs, spec.layers) if spec.has_labels else BertSpanModel(config)
    return _load(model, reader, optional, strict)


def head_outputs(
    model: keras.Model,
    head_type: str,
    problem_type: ProblemType,
    inputs: Mapping[str, tf.Tensor],
    is_hugging_face: bool = False,
    vectors: PoolingAndSteps | None = None,
) -> dict[str, tf.Tensor]:
    """Return the outputs that an exported file of the model has.

    Args:
        model: a model from `load_head_model`.
        problem_type: problem type of a text classifier.
        inputs: batch with the columns spec.INPUTS.
        is_hugging_face: whether outputs have Hugging Face's names (see onnx.exported.build_exported_graph).
        vectors: how an encoder's outputs become one vector per text, or None.
    """
    results = model(dict(inputs))
    if head_type in FINE_TUNED and head_type != CLASSIFIER:
        return {"start_logits": results[0], "end_logits": results[1]}
    if head_type == ENCODER:
        names = zip(ENCODER_OUTPUTS[False], ENCODER_OUTPUTS[is_hugging_face], strict=True)
        outputs = {name: results[google_name] for google_name, name in names}
        if vectors:
            outputs[SENTENCE_EMBEDDING] = embed_texts(results, inputs["input_mask"], vectors)
        return outputs
    if is_hugging_face:
        scaled = results / model.temperatures if head_type == CLASSIFIER and model.temperatures else results
        return {"logits": scaled}
    if head_type == CLASSIFIER:
        return {problem_type.decoder.exported_name: model.activate(results)}
    return {"probabilities": tf.nn.softmax(results)}
