"""Names and shapes of encoder variables, and the names of all weights."""

from bert_cli.base.head_types import CLASSIFIER, HEAD_INPUTS, SPANS, HeadSpec, pretraining_shapes
from bert_cli.model.config import BertConfig

# Scope of the dense layer between embeddings and layers, if their widths differ.
PROJECTION = "bert/embeddings_project"


def encoder_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """Return the shapes of an encoder's variables by Google's names."""
    hidden, wide, width = config.hidden_size, config.intermediate_size, config.embedding_width
    shapes: dict[str, tuple[int, ...]] = {
        "bert/embeddings/word_embeddings": (config.vocab_size, width),
        "bert/embeddings/token_type_embeddings": (config.type_vocab_size, width),
        "bert/embeddings/position_embeddings": (config.max_position_embeddings, width),
    }
    if not config.type_vocab_size:
        del shapes["bert/embeddings/token_type_embeddings"]
    dense = {"bert/pooler/dense": (hidden, hidden)}
    if width != hidden:
        dense[PROJECTION] = (width, hidden)
    norms = []
    for number in range(config.num_hidden_layers):
        scope = f"bert/encoder/layer_{number}"
        dense |= {f"{scope}/attention/self/{name}": (hidden, hidden) for name in ("query", "key", "value")}
        dense |= {f"{scope}/attention/output/dense": (hidden, hidden)}
        dense |= {f"{scope}/intermediate/dense": (hidden, wide), f"{scope}/output/dense": (wide, hidden)}
        norms += [f"{scope}/attention/output/LayerNorm", f"{scope}/output/LayerNorm"]
    for scope, shape in dense.items():
        shapes |= {f"{scope}/kernel": shape, f"{scope}/bias": shape[1:]}
    shapes |= {f"bert/embeddings/LayerNorm/{name}": (width,) for name in ("gamma", "beta")}
    return shapes | {f"{scope}/{name}": (hidden,) for scope in norms for name in ("gamma", "beta")}


_FINE_TUNED = (HeadSpec(SPANS), *(HeadSpec(CLASSIFIER, text_input=text_input) for text_input in HEAD_INPUTS.values()))
# Weights of BERT and related networks with one layer and all heads.
WEIGHT_NAMES = (
    *encoder_shapes(
        BertConfig(1, 1, 1, 1, intermediate_size=1, max_position_embeddings=1, type_vocab_size=1, embedding_size=2)
    ),
    *pretraining_shapes(hidden_size=1, embedding_width=2, vocab_size=1),
    *dict.fromkeys(name for head in _FINE_TUNED for name in head.shapes(hidden_size=1)),
    *(f"discriminator_predictions/{layer}/{name}" for layer in ("dense", "dense_1") for name in ("kernel", "bias")),
)
