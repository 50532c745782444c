"""Directories of sentence-transformers, and the vectors that it computes.

A program for a Python with sentence-transformers, which tests start with transformers_python.ask. A
request is a list of jobs, each with a `folder`:

- `modules`: modules after the encoder, [class name, arguments] each. The job makes the directory, with
  a small random encoder, and `options` for SentenceTransformer and its encoder.
- `texts`: texts to encode, with the prompt `prompt_name` or without. The result is their vectors.
"""

import json
import pathlib
import sys
import tempfile
from typing import Any

import torch
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizer

WORDS = "the a dog cat house old young river boat hill book : , query passage ##s of to The Dog é"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
WIDTH = 8


def make(folder: str, modules: list, cased: bool = False, length: int | None = None, **options: Any) -> None:
    """Write a directory with a small random encoder and these modules."""
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as encoder:
        config = BertConfig(
            vocab_size=len(VOCABULARY), hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=12, max_position_embeddings=24, initializer_range=0.5,
        )  # fmt: skip
        BertModel(config, add_pooling_layer=False).save_pretrained(encoder)
        (pathlib.Path(encoder) / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
        BertTokenizer(f"{encoder}/vocab.txt", do_lower_case=not cased).save_pretrained(encoder)
        built = [models.Transformer(encoder, max_seq_length=length)]
        for name, arguments in modules:
            if "activation_function" in arguments:
                arguments |= {"activation_function": getattr(torch.nn, arguments["activation_function"])()}
            built.append(getattr(models, name)(**arguments))
        SentenceTransformer(modules=built, device="cpu", **options).save(folder, create_model_card=False)


def main() -> None:
    """Do the jobs on standard input, and print the results as one line of JSON."""
    results: list = []
    for job in json.loads(sys.stdin.read()):
        if "modules" in job:
            make(job["folder"], job["modules"], **job.get("options", {}))
        vectors = None
        if "texts" in job:
            model = SentenceTransformer(job["folder"], device="cpu")
            vectors = model.encode(job["texts"], prompt_name=job.get("prompt_name")).tolist()
        results.append(vectors)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
