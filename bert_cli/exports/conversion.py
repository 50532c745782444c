"""A checkpoint of any format in a model, for bert-convert: loaded, written, compared. Imports TensorFlow."""

import dataclasses
import os

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, POOLER, head_of
from bert_cli.exports.hub_writing import reported_writing, save_encoder
from bert_cli.exports.target import Target
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.model.config import BertConfig
from bert_cli.model.layers import named_weights
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.weights.checkpoint import (
    NO_BERT,
    AverageReader,
    LoadReport,
    Reader,
    load_weights,
    open_checkpoint,
    write_tf1,
)
from bert_cli.weights.hugging_face import HuggingFaceReader, write_safetensors
from bert_cli.weights.keras_weights import write_keras
from bert_cli.weights.path import CheckpointPath

# What --check computes.
_ROWS, _TOKENS = 4, 32


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A checkpoint in memory: `tensors` are its weights (Google's name -> float32), all of them in `model`."""

    model: BertWithHeads
    tensors: dict[str, np.ndarray]
    report: LoadReport
    leftovers: int  # names that training left: adam_m, adam_v, global_step, input_position

    @property
    def classifier_shape(self) -> tuple[int, int] | None:
        """(n, W), or None where there is no classifier."""
        return self.tensors["output_weights"].shape if "output_weights" in self.tensors else None


def open_source(path: CheckpointPath, average_last: int = 1) -> Reader:
    """Its reader; InputError where it is damaged, or is a BERT that Google's layout cannot hold.

    average_last: see AverageReader.
    """
    if average_last > 1:
        return AverageReader(path, average_last)
    reader = open_checkpoint(path)
    # Google's layout has one table for words and for the masked-LM output, so an untied output would be lost.
    if isinstance(reader, HuggingFaceReader):
        reader.check_tied()
    return reader


def heads_in(reader: Reader) -> tuple[str, ...]:
    """The heads of which the checkpoint has a variable, in a fixed order."""
    return tuple(sorted({head for name in reader.shapes if (head := head_of(name))}))


def load(reader: Reader, config: BertConfig, heads: tuple[str, ...], of_tokens: bool) -> Loaded:
    """Load encoder and `heads`. A pooler may be missing, for Hugging Face drops it where its class reads none;
    InputError where anything else is."""
    shape = reader.shapes.get("output_weights", (0, 0))
    if CLASSIFIER in heads and (len(shape) != 2 or shape[1] == 0 or shape[1] % config.hidden_size):
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, a classifier needs [labels, "
            f"{config.hidden_size}]; --head=encoder converts the rest"
        )
    model = BertWithHeads(config, heads, (shape[0], shape[1]) if CLASSIFIER in heads else (0, 0), of_tokens)
    variables = named_weights(model)
    report = load_weights(variables, reader)
    report.check_whole(NO_BERT, POOLER)
    tensors = {name: variables[name].numpy() for name in report.loaded}
    unused = {name for name in report.unused if name in reader.shapes}
    return Loaded(model, tensors, report, len(reader.shapes) - len(tensors) - len(unused))


def write_weights(
    staged: str,
    target: Target,
    tensors: dict[str, np.ndarray],
    config: BertConfig,
    kind: str | None,
    heads: tuple[str, ...],
    dtype: str,
    source: ModelBundle,
) -> None:
    """Write the weights into the folder `staged`, under the target's names; a module with the vocabulary of `source`.

    tensors, config: after all changes; kind, dtype: see write_safetensors. InputError for a module without a pooler, whose
    output all modules have.
    """
    path = os.path.join(staged, target.name)
    if target.format == "hf":
        assert kind is not None, "conversion_plan finds a kind for every Hugging Face folder"
        write_safetensors(path, tensors, kind, dtype)
        return
    if target.format == "hub" and not any(name.startswith(POOLER) for name in tensors):
        raise InputError(
            "the checkpoint has no pooler, which a module for tensorflow-hub needs; give another --to_format"
        )
    with reported_writing(target.path(target.name)):
        if target.format == "tf1":
            write_tf1(path, tensors)
            return
        model = _model_of(tensors, config, heads)
        if target.format == "hub":
            save_encoder(staged, model.encoder, config, source.vocab_bytes, source.do_lower_case)
        else:
            # A bare encoder's file fits a bare BertEncoder.
            write_keras(path, model if heads else model.encoder, tensors)


def _model_of(tensors: dict[str, np.ndarray], config: BertConfig, heads: tuple[str, ...]) -> BertWithHeads:
    shape = tensors["output_weights"].shape if "output_weights" in tensors else (0, 0)
    model = BertWithHeads(config, heads, shape)
    variables = named_weights(model)
    for name, values in tensors.items():
        variables[name].assign(values)
    return model


def random_inputs(words: int, positions: int, types: int, seed: int) -> dict[str, np.ndarray]:
    """A small batch of an encoder's inputs, rows of several lengths; limits as in BertConfig."""
    rng = np.random.default_rng(seed)
    width = min(positions, _TOKENS)
    lengths = np.maximum(1, width - np.arange(_ROWS) * width // (2 * _ROWS))
    mask = (np.arange(width) < lengths[:, None]).astype(np.int32)
    return {
        "input_word_ids": rng.integers(0, words, mask.shape, dtype=np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, types, mask.shape, dtype=np.int32) * mask,
    }


def largest_differences(source: Loaded, converted: Loaded, seed: int) -> dict[str, float]:
    """Largest absolute difference of each output of the two models on the same random token ids, float32.

    Words and positions that only one of them has do not count, nor do outputs of a pooler that only one has.
    """
    configs = (source.model.encoder.config, converted.model.encoder.config)
    words, positions, types = (
        min(getattr(config, name) for config in configs)
        for name in ("vocab_size", "max_position_embeddings", "type_vocab_size")
    )
    inputs = random_inputs(words, positions, types, seed)
    one, other = source.model(inputs), converted.model(inputs)
    compared = [name for name in one if name in other]
    if any(not any(name.startswith(POOLER) for name in loaded.tensors) for loaded in (source, converted)):
        compared.remove("pooled_output")
    differences = {}
    for name in compared:
        count = min(one[name].shape[-1], other[name].shape[-1])  # of masked_lm_logits, where the vocabulary was resized
        gap = np.abs(one[name].numpy()[..., :count] - other[name].numpy()[..., :count])
        differences[name] = float(gap.max())
    return differences
