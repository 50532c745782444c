"""Heads that a checkpoint can have besides its encoder, and the layers that they read.

This module imports no TensorFlow.
"""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError

MASKED_LM = "masked_lm"
NEXT_SENTENCE = "next_sentence"
CLASSIFIER = "classifier"
SPANS = "spans"
REPLACED_TOKENS = "replaced_tokens"  # ELECTRA's discriminator
FINE_TUNED = (SPANS, CLASSIFIER)  # heads that fine-tuning trains
# Prefix of each head's variable names in a checkpoint.
HEADS = {
    MASKED_LM: "cls/predictions/",
    NEXT_SENTENCE: "cls/seq_relationship/",
    CLASSIFIER: "output_",
    SPANS: "cls/squad/",
    REPLACED_TOKENS: "discriminator_predictions/",
}
POOLER = "bert/pooler/"
ENCODER, PRETRAINING, TAGGER = "encoder", "pretraining", "tagger"
# A classifier with one output per choice. Its problem type has the same name.
CHOICE = "multiple_choice"
EMBEDDING = "embedding"  # the lowest layer's input, in a list of layer numbers


@dataclasses.dataclass(frozen=True)
class TextInput:
    """The encoder output that a text classifier reads: an entry of HEAD_INPUTS.

    heads.classification.TEXT_ROWS and onnx.heads.TEXT_ROWS compute it.

    Attributes:
        name: the value of --head_input.
        description: text for --help.
        reads_pooler: whether the pooler is needed.
        reads_tokens: whether the last layer must compute all tokens. If not, it computes [CLS]
            alone.
    """

    name: str
    description: str
    reads_pooler: bool = False
    reads_tokens: bool = False


POOLED = TextInput("pooled", "the pooler's output, Google's", reads_pooler=True)
FIRST = TextInput("cls", "the last layer's [CLS]")
MEAN = TextInput("mean", "the mean over the last layer's tokens", reads_tokens=True)
HEAD_INPUTS = {text_input.name: text_input for text_input in (POOLED, FIRST, MEAN)}


def state_index(layer: int | str, layer_count: int) -> int:
    """Return the index of a layer's output among an encoder's states.

    Args:
        layer: a layer number as in Google's code, 0 for the first layer and -1 for the last, or
            EMBEDDING, which has index 0.
        layer_count: the encoder's layers.
    """
    return 0 if layer == EMBEDDING else int(layer) % layer_count + 1


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """A head and its inputs: enough to build its Keras and ONNX networks.

    Attributes:
        head_type: CLASSIFIER, TAGGER, SPANS, or ENCODER for no head.
        num_outputs: size of the logits' last dimension.
        text_input: encoder output that a text classifier reads.
        layers: layers that a token head reads and concatenates, see `state_index`.
        activation: a text classifier's softmax, sigmoid or identity.
        temperatures: numbers that exported models divide a text classifier's logits by: none, one
            for all outputs, or one per output.
    """

    head_type: str
    num_outputs: int = 0
    text_input: TextInput = POOLED
    layers: tuple[int | str, ...] = (-1,)
    activation: str = "softmax"
    temperatures: tuple[float, ...] = ()

    @property
    def is_text_classifier(self) -> bool:
        return self.head_type == CLASSIFIER

    @property
    def has_labels(self) -> bool:
        """Return whether the outputs belong to a classifier, of texts or tokens."""
        return CLASSIFIER in HEAD_TYPES[self.head_type].heads

    @property
    def reads_pooler(self) -> bool:
        return self.is_text_classifier and self.text_input.reads_pooler

    @property
    def scope(self) -> str:
        """Return the prefix for the head's variable names."""
        return HEADS[SPANS] if self.head_type == SPANS else ""

    def shapes(self, hidden_size: int) -> dict[str, tuple[int, ...]]:
        """Return variable shapes by checkpoint name."""
        width = hidden_size * (1 if self.is_text_classifier else len(self.layers))
        return {
            f"{self.scope}output_weights": (self.num_outputs, width),
            f"{self.scope}output_bias": (self.num_outputs,),
        }


@dataclasses.dataclass(frozen=True)
class HeadType:
    """Heads that one Hugging Face class loads together.

    Attributes:
        heads: head names.
        architecture: end of the class name, after the network's, such as "ForMaskedLM".
        needs_pooler: False if the class has no pooler and would report its weights as unexpected.
        is_of_tokens: whether a classifier has a label per token instead of one per text.
        is_of_choices: whether a classifier has a score per choice instead of one per label.
    """

    heads: tuple[str, ...]
    architecture: str
    needs_pooler: bool = True
    is_of_tokens: bool = False
    is_of_choices: bool = False

    @property
    def is_of_texts(self) -> bool:
        """Return whether this is a classifier of texts or of choices."""
        return self.heads == (CLASSIFIER,) and not self.is_of_tokens


HEAD_TYPES = {
    ENCODER: HeadType((), "Model"),
    PRETRAINING: HeadType((MASKED_LM, NEXT_SENTENCE), "ForPreTraining"),
    MASKED_LM: HeadType((MASKED_LM,), "ForMaskedLM", needs_pooler=False),
    NEXT_SENTENCE: HeadType((NEXT_SENTENCE,), "ForNextSentencePrediction"),
    CLASSIFIER: HeadType((CLASSIFIER,), "ForSequenceClassification"),
    CHOICE: HeadType((CLASSIFIER,), "ForMultipleChoice", is_of_choices=True),
    TAGGER: HeadType((CLASSIFIER,), "ForTokenClassification", needs_pooler=False, is_of_tokens=True),
    SPANS: HeadType((SPANS,), "ForQuestionAnswering", needs_pooler=False),
    REPLACED_TOKENS: HeadType((REPLACED_TOKENS,), "ForPreTraining", needs_pooler=False),
}


def is_token_head(head_type: str | None) -> bool:
    """Return whether a head has a label per token; False for None, an unknown head."""
    return head_type is not None and HEAD_TYPES[head_type].is_of_tokens


def is_multiple_choice_head(head_type: str | None) -> bool:
    """Return whether a head has a score per choice."""
    return head_type is not None and HEAD_TYPES[head_type].is_of_choices


def head_of(name: str) -> str | None:
    """Return the head that a variable belongs to, or None for any other variable."""
    return next((head for head, prefix in HEADS.items() if name.startswith(prefix)), None)


def pretraining_shapes(hidden_size: int, embedding_width: int, vocab_size: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of masked-LM and next-sentence variables by checkpoint name.

    The dimensions are `hidden_size`, `embedding_width` and `vocab_size` as in the encoder's config.
    """
    transform = f"{HEADS[MASKED_LM]}transform"
    return {
        f"{transform}/dense/kernel": (hidden_size, embedding_width),
        f"{transform}/dense/bias": (embedding_width,),
        f"{transform}/LayerNorm/gamma": (embedding_width,),
        f"{transform}/LayerNorm/beta": (embedding_width,),
        f"{HEADS[MASKED_LM]}output_bias": (vocab_size,),
        f"{HEADS[NEXT_SENTENCE]}output_weights": (2, hidden_size),
        f"{HEADS[NEXT_SENTENCE]}output_bias": (2,),
    }


# Name prefixes of the encoder's components. All other variables belong to heads.
_COMPONENTS = {"embeddings": "bert/embeddings", "layers": "bert/encoder/", "pooler": POOLER, "module": "hub/"}
_HEADS_KEY = "heads"


def count_parameters(shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the parameter count in total and per component.

    The keys are total, embeddings, layers, pooler and heads, and module for a tensorflow-hub
    module. A component without weights has no key. A head that shares the word embeddings, such as
    the masked-LM head, counts only its own weights.

    Args:
        shapes: weight shapes by name in Google's checkpoints.
    """
    counts = dict.fromkeys((*_COMPONENTS, _HEADS_KEY), 0)
    for name, shape in shapes.items():
        component = next(
            (component for component, prefix in _COMPONENTS.items() if name.startswith(prefix)), _HEADS_KEY
        )
        counts[component] += math.prod(shape)
    return {"total": sum(counts.values())} | {component: count for component, count in counts.items() if count}


def parameters_line(counts: Mapping[str, int]) -> str:
    """Return such as `5,917,442 parameters: embeddings 2,692,096, layers 3,159,040, heads 66,306`."""
    components = ", ".join(f"{component} {count:,}" for component, count in counts.items() if component != "total")
    return f"{counts['total']:,} parameters: {components}"


ALL = "all"
_RANGE = re.compile(r"^\s*(?:(-?\d+)\s*:\s*(-?\d+)|(\d+)\s*-\s*(\d+))\s*$")


class Layer(NamedTuple):
    """An encoder layer: the number or name `asked` for, and its place (0 embedding, n n-th layer)."""

    asked: int | str
    place: int


def parse_layers(text: str, num_layers: int) -> list[Layer]:
    """Return the layers that `text` names, in its order.

    The items are numbers, ranges, "embedding" and "all", separated by commas. Numbers count as in
    the original: 0 is the first Transformer layer and -1 the last. A range such as -4:-1, 0:3 or
    1-3 includes both ends. "all" is 0 to num_layers - 1, without the embedding.

    Raises:
        InputError: an item is invalid, or the model does not have such a layer.
    """
    layers = []
    for item in text.split(","):
        for index in _expand(item.strip(), text, num_layers):
            if index == EMBEDDING or -num_layers <= index < num_layers:
                # Keep the given number, because the original writes it to files: -1 and 11 stay
                # different.
                layers.append(Layer(index, state_index(index, num_layers)))
            else:
                raise InputError(
                    f"--layers={text}: there is no layer {index}; this model has the layers 0 to "
                    f"{num_layers - 1}, or -{num_layers} to -1, and 'embedding'"
                )
    return layers


def _expand(item: str, text: str, num_layers: int) -> list:
    if item == EMBEDDING:
        return [EMBEDDING]
    if item == ALL:
        return list(range(num_layers))
    range_match = _RANGE.match(item)
    try:
        # "-4:-1" and "1-3" are ranges, and "-1" is a number: a range that begins with a hyphen has
        # a colon.
        first, last = (
            (int(end) for end in range_match.groups() if end is not None) if range_match else (int(item), None)
        )
    except ValueError:
        raise InputError(
            f"--layers={text}: {item!r} is not a layer; give numbers such as -1,-2, ranges such as "
            "-4:-1 or 1-3, 'embedding' or 'all'"
        ) from None
    if last is None:
        return [first]
    # -2:1 would be the last two layers, followed by the first two.
    if (first < 0) != (last < 0):
        raise InputError(f"--layers={text}: count both ends of {item} from the first layer (0) or from the last (-1)")
    if not -num_layers <= last < num_layers:  # check before a long list is made
        return [last]
    if not -num_layers <= first < num_layers:
        return [first]
    return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))
