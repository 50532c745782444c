"""Loading checkpoints into Keras models, with all heads or with one."""

import dataclasses
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, FINE_TUNED, POOLER, HeadSpec
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
from bert_cli.sentence.vectors import SENTENCE_EMBEDDING, SentenceVectors
from bert_cli.weights.checkpoint import NO_BERT, AverageReader, LoadReport, load_weights, open_checkpoint
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.variables import Reader

# Shape of the batch for comparing two models.
_ROWS, _TOKENS = 4, 32


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A model with the weights of a checkpoint.

    Attributes:
        model: the model.
        tensors: loaded float32 weights by Google's name.
        report: report of loading.
    """

    model: keras.Model
    tensors: dict[str, np.ndarray]
    report: LoadReport

    @property
    def has_pooler(self) -> bool:
        """Return whether the checkpoint has a pooler."""
        return any(name.startswith(POOLER) for name in self.tensors)


def _load(model: keras.Model, reader: Reader, optional: str | tuple[str, ...], strict: bool) -> Loaded:
    """Load the weights; raise InputError if one is missing, unless its name begins with `optional`.

    With `strict`, weights of unknown meaning are an error, too.
    """
    variables = named_weights(model)
    report = load_weights(variables, reader)
    report.check_whole(NO_BERT, optional, strict)
    return Loaded(model, {name: variables[name].numpy() for name in report.loaded}, report)


def open_source(path: CheckpointPath, average_last: int = 1) -> Reader:
    """Open a checkpoint, or the mean of `average_last` checkpoints that end with it.

    Raise InputError if a checkpoint is damaged or missing (see AverageReader).
    """
    return AverageReader(path, average_last) if average_last > 1 else open_checkpoint(path)


def load(reader: Reader, config: BertConfig, heads: tuple[str, ...], of_tokens: bool, strict: bool = False) -> Loaded:
    """Load an encoder with several heads.

    Args:
        reader: an open checkpoint.
        config: its config.
        heads: heads to load.
        of_tokens: whether the classifier is a tagger.
        strict: whether a weight of unknown meaning is an error.

    Raises:
        InputError: if a weight other than the pooler is missing.
    """
    shape = reader.shapes.get("output_weights", (0, 0))
    # Accept a multiple of the width: a tagger may read several concatenated layers.
    if CLASSIFIER in heads and (len(shape) != 2 or shape[1] == 0 or shape[1] % config.hidden_size):
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, a classifier needs "
            f"[labels, {config.hidden_size}]; --head=encoder converts the rest"
        )
    model = BertWithHeads(config, heads, reader.shapes, of_tokens)
    # The pooler is optional: Hugging Face's classes that do not use it drop it.
    return _load(model, reader, POOLER, strict)


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
) -> Loaded:
    """Load an encoder with one head.

    Args:
        reader: an open checkpoint.
        config: its config.
        spec: the head.
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
    vectors: SentenceVectors | None = None,
) -> dict[str, tf.Tensor]:
    """Return the outputs that an exported file of the model has.

    Args:
        model: a model from `load_head_model`.
        head_type: its head type.
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
