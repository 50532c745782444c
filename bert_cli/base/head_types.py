"""The vocabulary of heads and of models: what a checkpoint can have on top of its encoder. Imports
no TensorFlow.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

MASKED_LM = "masked_lm"
NEXT_SENTENCE = "next_sentence"
CLASSIFIER = "classifier"
SPANS = "spans"
REPLACED_TOKENS = "replaced_tokens"  # of ELECTRA's discriminator
# What the checkpoint names of the variables of each head begin with.
HEADS = {
    MASKED_LM: "cls/predictions/",
    NEXT_SENTENCE: "cls/seq_relationship/",
    CLASSIFIER: "output_",
    SPANS: "cls/squad/",
    REPLACED_TOKENS: "discriminator_predictions/",
}
POOLER = "bert/pooler/"
ENCODER, PRETRAINING, TAGGER = "encoder", "pretraining", "tagger"
# A classifier with one output, for each ending of a context; its problem type has the same name.
CHOICE = "multiple_choice"
EMBEDDING = "embedding"  # among the numbers of layers, what the lowest layer reads


@dataclasses.dataclass(frozen=True)
class TextInput:
    """What a classifier of texts reads of the encoder: an entry of HEAD_INPUTS.

    heads.classification.TEXT_ROWS and onnx.bert.Bert.text_row compute it, by its name. description:
    for --help. reads_tokens: it needs the last layer's output of every token; else the last layer
    computes [CLS] alone.
    """

    name: str
    description: str
    reads_pooler: bool = False
    reads_tokens: bool = False


POOLED = TextInput("pooled", "the pooler's output, Google's", reads_pooler=True)
FIRST = TextInput("cls", "the last layer's [CLS]")
MEAN = TextInput("mean", "the mean over the last layer's tokens", reads_tokens=True)
HEAD_INPUTS = {each.name: each for each in (POOLED, FIRST, MEAN)}


def state_index(layer: int | str, layer_count: int) -> int:
    """The place of a layer's output among the states of an encoder: 0 for EMBEDDING, n for the n-th
    of its layers.

    Numbers of layers count as in the original: 0 is the first, -1 the last.
    """
    return 0 if layer == EMBEDDING else int(layer) % layer_count + 1


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """A head and what it reads, from which its Keras and its ONNX network are built.

    kind: CLASSIFIER, TAGGER, SPANS, or ENCODER for none. count: of its outputs. text_input: of a
    classifier of texts; layers: of a head of tokens, which reads their outputs concatenated: see
    state_place. activation: of a classifier of texts: softmax, sigmoid or identity. temperatures: what
    exported models divide its logits by: () for nothing, one number, or one for each output.
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
    def reads_pooler(self) -> bool:
        return self.is_text_classifier and self.text_input.reads_pooler

    @property
    def scope(self) -> str:
        """What the names of its variables begin with."""
        return HEADS[SPANS] if self.head_type == SPANS else ""

    def shapes(self, hidden_size: int) -> dict[str, tuple[int, ...]]:
        """Shapes of its variables, by their names in a checkpoint."""
        width = hidden_size * (1 if self.is_text_classifier else len(self.layers))
        return {
            f"{self.scope}output_weights": (self.num_outputs, width),
            f"{self.scope}output_bias": (self.num_outputs,),
        }


@dataclasses.dataclass(frozen=True)
class HeadType:
    """A head type: the `heads` that belong to it, and the class of transformers that loads just
    that, by what its name has after the network's.

    needs_pooler: False where that class has none; its weights would be unexpected.
    """

    heads: tuple[str, ...]
    architecture: str
    needs_pooler: bool = True


HEAD_TYPES = {
    ENCODER: HeadType((), "Model"),
    PRETRAINING: HeadType((MASKED_LM, NEXT_SENTENCE), "ForPreTraining"),
    MASKED_LM: HeadType((MASKED_LM,), "ForMaskedLM", needs_pooler=False),
    NEXT_SENTENCE: HeadType((NEXT_SENTENCE,), "ForNextSentencePrediction"),
    CLASSIFIER: HeadType((CLASSIFIER,), "ForSequenceClassification"),
    CHOICE: HeadType((CLASSIFIER,), "ForMultipleChoice"),
    TAGGER: HeadType((CLASSIFIER,), "ForTokenClassification", needs_pooler=False),
    SPANS: HeadType((SPANS,), "ForQuestionAnswering", needs_pooler=False),
    REPLACED_TOKENS: HeadType((REPLACED_TOKENS,), "ForPreTraining", needs_pooler=False),
}


def head_of(name: str) -> str | None:
    """The head that a variable belongs to, None for one of the encoder or of something else."""
    return next((head for head, beginning in HEADS.items() if name.startswith(beginning)), None)


def pretraining_shapes(hidden_size: int, embedding_width: int, vocab_size: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the variables of the masked-LM and next-sentence heads, by their names in a
    checkpoint.
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


# What the names of the parts begin with; what has none of these beginnings is of a head.
_PARTS = {"embeddings": "bert/embeddings", "layers": "bert/encoder/", "pooler": POOLER, "module": "hub/"}
_OF_HEADS = "heads"


def count_parameters(shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """{"total": …, and of the parts that are there: embeddings, layers, pooler, heads; module, of
    tensorflow-hub}.

    shapes: of all weights of a model, by their names in Google's checkpoints. A head that reads the
    word embeddings once more, such as the masked-LM head, counts only its own weights.
    """
    counts = dict.fromkeys((*_PARTS, _OF_HEADS), 0)
    for name, shape in shapes.items():
        part = next((part for part, beginning in _PARTS.items() if name.startswith(beginning)), _OF_HEADS)
        counts[part] += math.prod(shape)
    return {"total": sum(counts.values())} | {part: count for part, count in counts.items() if count}


def parameters_line(counts: Mapping[str, int]) -> str:
    """`5,917,442 parameters: embeddings 2,692,096, layers 3,159,040, pooler 65,792, heads 514`."""
    parts = ", ".join(f"{part} {count:,}" for part, count in counts.items() if part != "total")
    return f"{counts['total']:,} parameters: {parts}"
