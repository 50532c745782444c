"""Names and shapes of encoder variables."""

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
