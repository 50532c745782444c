"""A model from texts to results as a TensorFlow graph, and its writer."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import keras
import tensorflow as tf

from bert_cli.base import spec
from bert_cli.exports.hub_writing import write_saved_model
from bert_cli.exports.text_graph import TEXTS, GraphTokenizer
from bert_cli.exports.triton import Tensor
from bert_cli.heads.model import tensor_specs
from bert_cli.model.layers import named_weights

TOKENS_SIGNATURE = "token_ids"
SECOND_TEXTS = tf.TensorSpec([None], tf.string, name="text_b")
Outputs = dict[str, tf.Tensor]


@dataclasses.dataclass(frozen=True, eq=False)
class Signature:
    """The functions of a SavedModel, and a description for the log.

    Attributes:
        networks: the networks, which have the weights.
        from_texts: function from texts, string [B] each, to results by name, [B, …].
        text_specs: its arguments.
        from_ids: function from the encoder's inputs, int32 [B, S], to results by name.
        summary: the model's results, for the log.
        constants: tensors to save with the model, by attribute.
    """

    networks: Sequence[keras.Model]
    from_texts: Callable[..., Outputs]
    text_specs: tuple[tf.TensorSpec, ...]
    from_ids: Callable[[dict[str, tf.Tensor]], Outputs]
    summary: str
    constants: Mapping[str, tf.Tensor] = dataclasses.field(default_factory=dict)

    @property
    def text_names(self) -> str:
        """Return the names of the texts, for the log."""
        return join_text_names(self.text_specs)


def join_text_names(specs: tuple[tf.TensorSpec, ...]) -> str:
    """Return the names of texts, for the log."""
    return " and ".join(text_spec.name for text_spec in specs)


def describe_cut(specs: tuple[tf.TensorSpec, ...], max_seq_length: int) -> str:
    """Return texts and their maximum length, for the log."""
    return f"{join_text_names(specs)}, cut to {max_seq_length} tokens"


def text_specs(takes_pairs: bool) -> tuple[tf.TensorSpec, ...]:
    """Return the arguments of a function of single texts, or of pairs."""
    return (TEXTS, SECOND_TEXTS) if takes_pairs else (TEXTS,)


def repeat_names(names: tf.Tensor, num_rows: tf.Tensor) -> tf.Tensor:
    """Return names, string [L], as string [B, L]: TensorFlow Serving needs one row per text."""
    return tf.tile(names[tf.newaxis], [num_rows, 1])


def pad_rows(values: tf.Tensor, rows: tf.Tensor, num_rows: tf.Tensor, padding: str | float) -> tf.Tensor:
    """Return values, [n, …], as rows of equal length, [B, …].

    Args:
        rows: row per value, ascending.
        num_rows: number of rows, int64.
        padding: value at the end of shorter rows.
    """
    return tf.RaggedTensor.from_value_rowids(values, rows, num_rows, validate=False).to_tensor(padding)


def save_signature(path: str, signature: Signature, tokenizer: GraphTokenizer) -> tuple[list[Tensor], list[Tensor]]:
    """Write a SavedModel with two signatures, and return the inputs and outputs of the first.

    serving_default takes the texts, and TOKENS_SIGNATURE the encoder's inputs.

    Args:
        path: directory to write.
        signature: the model.
        tokenizer: the tokenizer that it uses.
    """
    # The module and its parts are tf.train.Checkpoint with attributes, like the objects from
    # tf.saved_model.load.
    module = tf.train.Checkpoint()
    module.variables = [
        variable.value for network in signature.networks for variable in named_weights(network).values()
    ]
    # Set an attribute, so that the tokenizer's table and vocabulary are saved with the module.
    module.tokenizer = tokenizer
    for name, constant in signature.constants.items():
        setattr(module, name, constant)
    module.from_ids = tf.function(signature.from_ids, input_signature=[tensor_specs(spec.ENCODER)], autograph=False)
    module.from_texts = tf.function(signature.from_texts, signature.text_specs, autograph=False)
    # Convert keyword arguments to a dict: a signature's arguments are tensors by name.
    by_ids = tf.function(lambda **inputs: module.from_ids(inputs), autograph=False)
    serving_default = module.from_texts.get_concrete_function()
    signatures = {
        "serving_default": serving_default,
        TOKENS_SIGNATURE: by_ids.get_concrete_function(**tensor_specs(spec.ENCODER)),
    }
    write_saved_model(path, module, signatures)

    def describe(name: str, tensor: tf.TensorSpec) -> Tensor:
        return Tensor(name, tensor.dtype.name, list(tensor.shape)[1:])

    inputs = [describe(text_spec.name, text_spec) for text_spec in signature.text_specs]
    return inputs, [describe(*output) for output in serving_default.structured_outputs.items()]
