"""Directories of sentence-transformers for tests, with the vectors that sentence-transformers 6.2 gives.

tests/fixtures/sentence has a directory per case, without the encoder that all share, and
`expected.json`. `python -m tests.sentence_cases` makes them anew, under a Python with
sentence-transformers in TRANSFORMERS_PYTHON.
"""

import json
import pathlib
import shutil
import tempfile
from typing import Any

from tests.transformers_python import ask

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "sentence"
ENCODER = "encoder"
ENCODER_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
EXPECTED = "expected.json"
WIDTH = 8
TEXTS = ["the dog", "a cat of the house : old young", "", "The river boat hill book " * 8, "Dog é"]
PROMPTS = {"prompts": {"query": "query : ", "passage": "passage of "}, "default_prompt_name": "query"}
NORMALIZE: tuple[str, dict] = ("Normalize", {})


def pooling(*modes: str, **arguments: Any) -> tuple[str, dict]:
    """Return a pooling module."""
    return "Pooling", {"embedding_dimension": WIDTH, "pooling_mode": list(modes)} | arguments


def dense(inputs: int, outputs: int, activation: str, **arguments: Any) -> tuple[str, dict]:
    """Return a dense module."""
    values = {"in_features": inputs, "out_features": outputs, "activation_function": activation}
    return "Dense", values | arguments


# Name -> modules, options and the prompt to encode with.
CASES: dict[str, dict[str, Any]] = {
    "mean": {"modules": [pooling("mean"), NORMALIZE]},
    "cls": {"modules": [pooling("cls"), NORMALIZE]},
    "max": {"modules": [pooling("max")]},
    "mean_sqrt_len": {"modules": [pooling("mean_sqrt_len_tokens")]},
    "weighted_mean": {"modules": [pooling("weightedmean")]},
    "last": {"modules": [pooling("lasttoken")]},
    "concatenated": {"modules": [pooling("mean", "cls", "max"), NORMALIZE]},
    "dense": {"modules": [pooling("mean"), dense(WIDTH, 4, "Tanh"), NORMALIZE]},
    "chain": {
        "modules": [
            pooling("cls"),
            dense(WIDTH, 10, "GELU", bias=False),
            ("Dropout", {"dropout": 0.2}),
            ("LayerNorm", {"dimension": 10}),
            dense(10, 6, "Identity", use_residual=True),
        ]
    },
    "prompt": {"modules": [pooling("mean"), NORMALIZE], "options": PROMPTS},
    "named_prompt": {"modules": [pooling("mean")], "options": PROMPTS, "prompt_name": "passage"},
    "without_prompt_tokens": {
        "modules": [pooling("mean", "cls", "weightedmean", "max", "lasttoken", include_prompt=False)],
        "options": PROMPTS,
    },
    "length": {"modules": [pooling("mean")], "options": {"length": 6}},
    "truncated": {"modules": [pooling("mean"), NORMALIZE], "options": {"truncate_dim": 3}},
}


def folder_of(name: str, target: pathlib.Path) -> pathlib.Path:
    """Write the directory of a case, with the encoder, and return it."""
    shutil.copytree(FIXTURES / ENCODER, target)
    shutil.copytree(FIXTURES / name, target, dirs_exist_ok=True)
    (target / EXPECTED).unlink(missing_ok=True)
    return target


def expected_vectors(name: str) -> list[list[float]]:
    """Return the vectors of TEXTS that sentence-transformers gives."""
    return json.loads((FIXTURES / name / EXPECTED).read_text(encoding="utf-8"))


def main() -> None:
    """Write all directories in tests/fixtures/sentence."""
    shutil.rmtree(FIXTURES, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        jobs = [{"folder": f"{temporary}/{name}", "texts": TEXTS} | case for name, case in CASES.items()]
        for job, vectors in zip(jobs, ask("sentence_folders.py", jobs), strict=True):
            source = pathlib.Path(job["folder"])
            target = FIXTURES / source.name
            shutil.copytree(source, target)
            (target / EXPECTED).write_text(json.dumps(vectors) + "\n", encoding="utf-8")
            encoder = FIXTURES / ENCODER
            encoder.mkdir(exist_ok=True)
            for name in ENCODER_FILES:
                if not (encoder / name).exists():
                    shutil.copy(target / name, encoder / name)
                if (encoder / name).read_bytes() == (target / name).read_bytes():
                    (target / name).unlink()
            for path in target.rglob("*"):
                # Git keeps no empty directories, and modules such as Normalize may have no files.
                if path.is_dir() and not any(path.iterdir()):
                    (path / "config.json").write_text("{}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
