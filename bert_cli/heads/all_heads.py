"""A BERT with any combination of heads, as some checkpoints contain."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import keras
import tensorflow as tf

from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, NEXT_SENTENCE, REPLACED_TOKENS, SPANS
from bert_cli.heads.classification import ClassifierHead
from bert_cli.heads.pretraining import MaskedLmHead, NextSentenceHead, ReplacedTokensHead
from bert_cli.heads.squad import SpanHead
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.tf_internals.keras_layers import mark_built


class BertWithHeads(keras.Model):
    """An encoder with several heads.

    Call it with a dict of int32 [B, S]. It returns a dict of float32 tensors: `sequence_output`
    [B, S, H], `pooled_output` [B, H], and for the heads:

    - `masked_lm_logits` [B, S, V].
    - `next_sentence_logits` [B, 2].
    - `replaced_tokens_logits` [B, S].
    - `span_logits` [2, B, S].
    - `classifier_logits` [B, n], or [B, S, n] if the classifier reads tokens.

    Attributes have the names that models for a single task use, so that these can load its Keras files.

    Args:
        config: config of the encoder.
        heads: keys of base.head_types.HEADS.
        shapes: shapes of the checkpoint's variables, by Google's name. A classifier's
            output_weights are [n, W]. W is H, or k·H if it reads the last k layers side by side.
        of_tokens: whether the classifier reads tokens instead of the pooled output.
    """

    def __init__(
        self,
        config: BertConfig,
        heads: Collection[str],
        shapes: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
        of_tokens: bool = False,
    ):
        super().__init__(name="bert_with_heads", autocast=False)
        self.encoder = BertEncoder(config)
        self.of_tokens = of_tokens
        self.head_names = tuple(heads)
        # The seeds do not matter: all weights come from
        # a checkpoint, and missing ones are not written.
        if MASKED_LM in heads:
            self.masked_lm = MaskedLmHead(config, 0)
        if NEXT_SENTENCE in heads:
            self.next_sentence = NextSentenceHead(config, 0)
        if REPLACED_TOKENS in heads:
            self.replaced_tokens = ReplacedTokensHead(config, 0)
        if CLASSIFIER in heads:
            label_count, width = shapes["output_weights"]
            self.head = ClassifierHead(width, label_count, 0)
        # Keras files name weights by attribute, so a single head is called `head`, as in models for
        # one task.
        if SPANS in heads and CLASSIFIER in heads:
            self.span_head = SpanHead(config.hidden_size, 0)
        elif SPANS in heads:
            self.head = SpanHead(config.hidden_size, 0)
        mark_built(self)

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        encoded = self.encoder(inputs)
        sequence, pooled = encoded["sequence_output"], encoded["pooled_output"]
        outputs = {"sequence_output": sequence, "pooled_output": pooled}
        batch, length = sequence.shape[:2]
        if MASKED_LM in self.head_names:
            words = tf.convert_to_tensor(self.encoder.embeddings.words.value)
            logits = self.masked_lm(tf.reshape(sequence, [batch * length, -1]), word_embeddings=words)
            outputs["masked_lm_logits"] = tf.reshape(logits, [batch, length, -1])
        if NEXT_SENTENCE in self.head_names:
            outputs["next_sentence_logits"] = self.next_sentence(pooled)
        if REPLACED_TOKENS in self.head_names:
            logits = self.replaced_tokens(tf.reshape(sequence, [batch * length, -1]))
            outputs["replaced_tokens_logits"] = tf.reshape(logits, [batch, length])
        if SPANS in self.head_names:
            head = self.span_head if CLASSIFIER in self.head_names else self.head
            outputs["span_logits"] = tf.stack(head(sequence))
        if CLASSIFIER in self.head_names:
            # W / H is the number of layers that the classifier reads side by side.
            count = self.head.output_weights.shape[1] // sequence.shape[-1]
            states = tf.concat(encoded["encoder_outputs"][-count:], axis=-1)
            rows = tf.reshape(states, [batch * length, -1]) if self.of_tokens else pooled
            logits = self.head(rows, dropout_rate=0.0)
            outputs["classifier_logits"] = tf.reshape(logits, [batch, length, -1]) if self.of_tokens else logits
        return outputs
