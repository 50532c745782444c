"""A Hugging Face directory with random weights, for benchmarks: speed does not depend on weights."""

import json
import pathlib

import numpy as np

import bert_cli
from bert_cli.base.head_types import ENCODER
from bert_cli.base.names import HUGGING_FACE_CONFIG, SAFETENSORS, TOKENIZER, TOKENIZER_CONFIG
from bert_cli.model.config import BertConfig, encoder_shapes
from bert_cli.model.config_files import hugging_face_config
from bert_cli.text.tokenizer_json import tokenizer_config, tokenizer_json
from bert_cli.text.vocabulary import read_vocabulary
from bert_cli.weights.hugging_face import write_safetensors

VOCAB = pathlib.Path(bert_cli.__file__).parent / "builtin" / "pretrained" / "vocab.txt"


def write_random_model(folder: pathlib.Path, small: bool) -> str:
    """Write an encoder with random weights and the built-in vocabulary, and return its path.

    Args:
        folder: new directory.
        small: whether it has 2 layers of width 64 instead of 6 of width 384.
    """
    vocabulary = read_vocabulary(str(VOCAB))
    layers, hidden, heads = (2, 64, 2) if small else (6, 384, 12)
    config = BertConfig(
        vocab_size=vocabulary.size, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * hidden,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    tensors = {
        name: rng.normal(name.endswith("gamma"), 0.02, shape).astype(np.float32)
        for name, shape in encoder_shapes(config).items()
    }
    folder.mkdir()
    write_safetensors(str(folder / SAFETENSORS), tensors, ENCODER)
    (folder / "vocab.txt").write_bytes(VOCAB.read_bytes())
    for name, values in (
        (HUGGING_FACE_CONFIG, hugging_face_config(config, ENCODER, None)),
        (TOKENIZER, tokenizer_json(vocabulary, do_lower_case=True)),
        (TOKENIZER_CONFIG, tokenizer_config(True, config.max_position_embeddings, vocabulary)),
    ):
        (folder / name).write_text(json.dumps(values), encoding="utf-8")
    return str(folder)
