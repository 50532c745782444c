"""The vocabulary of heads and of models: what a checkpoint can have on top of its encoder. Imports no TensorFlow."""

import dataclasses

MASKED_LM, NEXT_SENTENCE, CLASSIFIER, SPANS = "masked_lm", "next_sentence", "classifier", "spans"
# What the checkpoint names of the variables of each head begin with.
HEADS = {
    MASKED_LM: "cls/predictions/",
    NEXT_SENTENCE: "cls/seq_relationship/",
    CLASSIFIER: "output_",
    SPANS: "cls/squad/",
}
POOLER = "bert/pooler/"
ENCODER, PRETRAINING, TAGGER = "encoder", "pretraining", "tagger"
# A classifier with one output, for each ending of a context; its name is also that of its problem type.
CHOICE = "multiple_choice"
# What a classifier of texts reads: the pooler's output, the last layer's [CLS], or the mean over its tokens.
POOLED, FIRST, MEAN = HEAD_INPUTS = ("pooled", "cls", "mean")


@dataclasses.dataclass(frozen=True)
class HeadType:
    """A head type: the `heads` that belong to it, and the class of transformers that loads just that.

    needs_pooler: False where that class has none; its weights would be unexpected.
    """

    heads: tuple[str, ...]
    architecture: str
    needs_pooler: bool = True


HEAD_TYPES = {
    ENCODER: HeadType((), "BertModel"),
    PRETRAINING: HeadType((MASKED_LM, NEXT_SENTENCE), "BertForPreTraining"),
    MASKED_LM: HeadType((MASKED_LM,), "BertForMaskedLM", needs_pooler=False),
    NEXT_SENTENCE: HeadType((NEXT_SENTENCE,), "BertForNextSentencePrediction"),
    CLASSIFIER: HeadType((CLASSIFIER,), "BertForSequenceClassification"),
    CHOICE: HeadType((CLASSIFIER,), "BertForMultipleChoice"),
    TAGGER: HeadType((CLASSIFIER,), "BertForTokenClassification", needs_pooler=False),
    SPANS: HeadType((SPANS,), "BertForQuestionAnswering", needs_pooler=False),
}


def head_of(name: str) -> str | None:
    """The head that a variable belongs to, None for one of the encoder or of something else."""
    return next((head for head, beginning in HEADS.items() if name.startswith(beginning)), None)
