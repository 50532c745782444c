"""A BERT for texts of one length, which need neither padding nor a mask, as an ONNX graph that onnxruntime computes.

The graph begins behind the tables of embeddings, in which rows are looked up before: so it does not keep them, and a table
that is mapped from a file is read only where it is needed.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.head_types import CLASSIFIER, POOLED
from bert_cli.features.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx.bert import Bert, Graph, assemble
from bert_cli.onnx.session import Runner, make_runner

ONNXRUNTIME_DOMAIN = "com.microsoft"  # of its own operators
_EMBEDDED = "embedded"  # the input of a graph
_LARGE = 1024  # bytes from which constants are not copied into a model


class UnpaddedBert(Bert):
    """A Bert of real tokens, whose graph begins at the input `embedded`, float32 [B, S, H]; in float32."""

    def embedded(self) -> str:
        return _EMBEDDED

    def key_bias(self) -> str:
        return ""

    def heads(self, number: int, variable: str) -> np.ndarray:
        """Those of query, key and value of a layer side by side, as they are one product."""
        scope = f"bert/encoder/layer_{number}/attention/self"
        return np.concatenate(
            [self.tensors[f"{scope}/{part}/{variable}"] for part in ("query", "key", "value")], axis=-1
        )

    def attended(self, projected: str) -> str:
        """The context [B, S, H] of queries, keys and values side by side, [B, S, 3 H]."""
        parts = self.graph.split(projected, [self.config.hidden_size] * 3)
        heads = self.config.num_attention_heads
        return self.graph.add("MultiHeadAttention", *parts, num_heads=heads, domain=ONNXRUNTIME_DOMAIN)

    def attention(self, x: str, number: int, key_bias: str) -> str:
        graph, scope = self.graph, f"bert/encoder/layer_{number}/attention/self"
        kernel, bias = (
            graph.constant(f"{scope}:{variable}", self.heads(number, variable)) for variable in ("kernel", "bias")
        )
        return self.attended(graph.add("Add", graph.add("MatMul", x, kernel), bias))

    def mean(self, x: str) -> str:
        return self.graph.add("ReduceMean", x, self.graph.numbers(1), keepdims=0)


def embed(tensors: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray]) -> np.ndarray:
    """What Bert.embedded gives for a batch, without a graph that would keep the tables: float32 [B, S, H]."""
    words, _, types = (batch[name] for name in INPUTS)
    scope = "bert/embeddings"
    total = tensors[f"{scope}/word_embeddings"][words]
    total += tensors[f"{scope}/token_type_embeddings"][types]
    total += tensors[f"{scope}/position_embeddings"][: words.shape[1]]
    return total


def embedded_runner(bert: UnpaddedBert, outputs: Mapping[str, Sequence[str | int]]) -> Runner:
    """Gives these outputs of the Bert's graph, with their shapes, for batches of spec.INPUTS, int32 [B, S].

    Of a batch the mask is not read: all texts have S tokens.
    """
    apart = {name: value for name, value in bert.graph.constants.items() if value.nbytes >= _LARGE}
    fed = {_EMBEDDED: ("batch", "length", bert.config.hidden_size)}
    model = assemble(bert.graph, (), outputs, fed, apart)
    run = make_runner(model.SerializeToString(), apart)
    tables = {name: value for name, value in bert.tensors.items() if "_embeddings" in name}
    return lambda batch: run({_EMBEDDED: embed(tables, batch)})


def encoder_runner(
    parts: type[UnpaddedBert], tensors: Mapping[str, np.ndarray], config: BertConfig, places: Sequence[int]
) -> Runner:
    """Gives float32 `state_0`, … [B, S, H] of a batch: what the layers in `places` give, 0 for the embedding.

    parts: of what the encoder is made: UnpaddedBert for float32, int8.Int8Bert. tensors: Google's name -> float32. Without
    places there is one output, `pooled_output` [B, H]. See also embedded_runner.
    """
    bert = parts(Graph(), tensors, config)
    states, hidden = bert.states(), config.hidden_size
    if not places:
        bert.graph.add("Identity", bert.pooled(states[-1]), name="pooled_output")
        return embedded_runner(bert, {"pooled_output": ("batch", hidden)})
    for number, place in enumerate(places):
        bert.graph.add("Identity", states[place], name=f"state_{number}")
    return embedded_runner(bert, {f"state_{number}": ("batch", "length", hidden) for number in range(len(places))})


def logits_runner(
    parts: type[UnpaddedBert],
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    kind: str,
    scope: str = "",
    layers: Sequence[int] = (-1,),
    head_input: str = POOLED,
) -> Runner:
    """Gives `logits` of a batch, float32: [B, n] of a classifier, [B, S, n] of what tells something of each token.

    parts: see encoder_runner. kind: of base.head_types. scope: of the head's variables. layers: whose outputs side by side a
    head of tokens reads, counted as Python does; head_input: what one of texts does, see base.head_types.
    """
    bert = parts(Graph(), tensors, config)
    states = bert.states()
    rows = bert.text_rows(states, head_input) if kind == CLASSIFIER else bert.token_rows(states, layers)
    bert.graph.add("Identity", bert.head(rows, scope), name="logits")
    count = len(tensors[f"{scope}output_bias"])
    return embedded_runner(bert, {"logits": ("batch", count) if kind == CLASSIFIER else ("batch", "length", count)})
