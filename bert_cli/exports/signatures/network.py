"""Networks with their weights for an exported file, and the outputs that it must have."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, POOLER, HeadSpec, is_token_head
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION
from bert_cli.exports.exported import ModelToExport
from bert_cli.exports.loaded import LoadedModel, head_outputs, load_head_model, random_inputs
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.variables import Reader

# Tolerance for fused operators in onnxruntime, which sum in another order.
_MAX_DIFFERENCE = 1e-4


class NetworkMember(NamedTuple):
    """A network with its weights, the only member or one of an ensemble.

    Attributes:
        exported: the model.
        spec: its head.
        labels: output names, or None.
        loaded: the network.
        order: columns with the first member's labels; () if there is one member, or no labels.
    """

    exported: ModelToExport
    spec: HeadSpec
    labels: tuple[str, ...] | None
    loaded: LoadedModel
    order: Sequence[int]


@dataclasses.dataclass(frozen=True)
class ExportedNetwork:
    """All members that are exported together.

    Attributes:
        members: the members.
    """

    members: tuple[NetworkMember, ...]

    @property
    def labels(self) -> tuple[str, ...] | None:
        """Return the output names, or None."""
        return self.members[0].labels

    @property
    def spec(self) -> HeadSpec:
        """Return the first member's head."""
        return self.members[0].spec

    def outputs(self, inputs: Mapping[str, tf.Tensor], is_hugging_face: bool = False) -> dict[str, tf.Tensor]:
        """Return the outputs that an exported file has.

        Args:
            inputs: batch with the columns spec.INPUTS.
            is_hugging_face: whether outputs have Hugging Face's names (see onnx.exported.build_exported_graph).
        """
        computed = []
        for member in self.members:
            exported, model = member.exported, member.loaded.model
            outputs = head_outputs(
                model, member.spec.head_type, exported.problem_type, inputs, is_hugging_face, exported.vectors
            )
            # Without a pooler in the checkpoint, its weights are random.
            names = ("pooled_output", "pooler_output") if not member.loaded.has_pooler else ()
            computed.append({name: values for name, values in outputs.items() if name not in names})
        first, *later = computed
        return {name: self.mean([values, *(outputs[name] for outputs in later)]) for name, values in first.items()}

    def mean(self, arrays: Sequence[tf.Tensor]) -> tf.Tensor:
        """Return the mean of the members' outputs, with columns in the first member's order."""
        if len(arrays) == 1:
            return arrays[0]
        ordered = [
            tf.gather(values, list(member.order), axis=-1) if member.order else values
            for values, member in zip(arrays, self.members, strict=True)
        ]
        return tf.add_n(ordered) / len(ordered)

    @functools.cached_property
    def random_batch(self) -> dict[str, np.ndarray]:
        """Return random token ids, with the columns spec.INPUTS, for comparing outputs."""
        # Compare on random ids: an encoder has no data. Use two token types even if the model has
        # only one: its second texts then have no token type.
        configs = [member.exported.model.config for member in self.members]
        num_types = [2 if config.type_vocab_size == 1 else config.type_vocab_size for config in configs]
        num_words = min(config.vocab_size for config in configs)
        num_positions = min(config.max_position_embeddings for config in configs)
        return random_inputs(num_words, num_positions, min(num_types), 0)

    def difference(self, outputs: Mapping[str, np.ndarray], is_hugging_face: bool = False) -> float:
        """Return the largest difference of outputs for `random_batch` from the original's."""
        tensors = {name: tf.constant(values) for name, values in self.random_batch.items()}
        expected = self.outputs(tensors, is_hugging_face)
        return max(float(np.abs(values - expected[name].numpy()).max()) for name, values in outputs.items())


def check_difference(difference: float) -> None:
    """Raise InputError if an exported file differs from the original by too much."""
    # Negate the comparison, so that NaN counts as different.
    if not difference <= _MAX_DIFFERENCE:
        raise InputError(
            f"the exported model gives other outputs than the original (by {difference:.3g}); nothing was written"
        )


def open_network_to_export(exported: ModelToExport) -> ExportedNetwork:
    """Load all members; raise InputError if a checkpoint is incomplete or does not fit the labels."""
    return ExportedNetwork(tuple(_open_member(member, order) for member, order in exported.ordered_members))


def _open_member(exported: ModelToExport, order: Sequence[int]) -> NetworkMember:
    source, problem_type = exported.model, exported.problem_type
    reader = open_checkpoint(source.required_checkpoint)
    spec = _find_head(reader, exported)
    if spec.is_text_classifier and exported.temperatures:
        spec = dataclasses.replace(spec, temperatures=exported.temperatures)
        LOG.info("probabilities are calibrated: %s", CALIBRATION)
    labels = exported.check_labels(spec, reader.description)
    strict = source.required_checkpoint.is_strict
    # Require the pooler only if it is read: Hugging Face's other models do not have it.
    optional = () if spec.is_text_classifier or exported.reads_pooler else POOLER
    loaded = load_head_model(reader, source.config, spec, problem_type, optional, strict)
    return NetworkMember(exported, spec, labels, loaded, order)


def _find_head(reader: Reader, exported: ModelToExport) -> HeadSpec:
    """Return the exported head of a checkpoint.

    Raise InputError if the head's shape does not fit the encoder or the problem type.
    """
    model, head_type, problem_type = exported.model, exported.head_type, exported.problem_type
    if head_type == ENCODER:
        return HeadSpec(ENCODER)
    count, width = reader.shapes.get("output_weights", (0, 0))
    if head_type == CLASSIFIER and problem_type.reader.num_outputs not in (None, count):
        raise InputError(f"{reader.description}: has {count} outputs, a number needs one")
    layers = model.head.layers if is_token_head(head_type) else (-1,)
    # A head for spans has a start and an end.
    spec = HeadSpec(head_type, count or 2, model.head.text_input, layers, problem_type.decoder.activation)
    if count and (count, width) != spec.shapes(model.config.hidden_size)["output_weights"]:
        raise InputError(
            f"{reader.description}: output_weights has the shape {[count, width]}, which does not fit the encoder"
        )
    return spec
