"""Names of Hugging Face's BERT weights and Google's names for the same."""

import os
import re

import ml_dtypes  # noqa: F401  (gives NumPy the type bfloat16, which safetensors asks for by its name)
import numpy as np
from safetensors import SafetensorError, safe_open

from bert_cli.base.errors import InputError
from bert_cli.base.files import local
from bert_cli.base.names import SAFETENSORS

_LAYER, _GOOGLE_LAYER = r"encoder\.layer\.(\d+)\.", r"bert/encoder/layer_\1/"
# Patterns of names without the leading "bert."; a kernel is stored [out, in] there and [in, out] by Google.
_RULES = [
    (r"embeddings\.(word|position|token_type)_embeddings\.weight", r"bert/embeddings/\1_embeddings", False),
    (r"embeddings\.LayerNorm\.(weight|gamma)", "bert/embeddings/LayerNorm/gamma", False),
    (r"embeddings\.LayerNorm\.(bias|beta)", "bert/embeddings/LayerNorm/beta", False),
    (_LAYER + r"attention\.self\.(query|key|value)\.weight", _GOOGLE_LAYER + r"attention/self/\2/kernel", True),
    (_LAYER + r"attention\.self\.(query|key|value)\.bias", _GOOGLE_LAYER + r"attention/self/\2/bias", False),
    (_LAYER + r"(attention\.output|intermediate|output)\.dense\.weight", _GOOGLE_LAYER + r"\2/dense/kernel", True),
    (_LAYER + r"(attention\.output|intermediate|output)\.dense\.bias", _GOOGLE_LAYER + r"\2/dense/bias", False),
    (_LAYER + r"(attention\.output|output)\.LayerNorm\.(?:weight|gamma)", _GOOGLE_LAYER + r"\2/LayerNorm/gamma", False),
    (_LAYER + r"(attention\.output|output)\.LayerNorm\.(?:bias|beta)", _GOOGLE_LAYER + r"\2/LayerNorm/beta", False),
    (r"pooler\.dense\.weight", "bert/pooler/dense/kernel", True),
    (r"pooler\.dense\.bias", "bert/pooler/dense/bias", False),
    (r"classifier\.weight", "output_weights", False),
    (r"classifier\.bias", "output_bias", False),
    (r"cls\.predictions\.transform\.dense\.weight", "cls/predictions/transform/dense/kernel", True),
    (r"cls\.predictions\.transform\.dense\.bias", "cls/predictions/transform/dense/bias", False),
    (r"cls\.predictions\.transform\.LayerNorm\.(?:weight|gamma)", "cls/predictions/transform/LayerNorm/gamma", False),
    (r"cls\.predictions\.transform\.LayerNorm\.(?:bias|beta)", "cls/predictions/transform/LayerNorm/beta", False),
    (r"cls\.predictions\.bias", "cls/predictions/output_bias", False),
    (r"cls\.seq_relationship\.weight", "cls/seq_relationship/output_weights", False),
    (r"cls\.seq_relationship\.bias", "cls/seq_relationship/output_bias", False),
    (r"qa_outputs\.weight", "cls/squad/output_weights", False),
    (r"qa_outputs\.bias", "cls/squad/output_bias", False),
]  # fmt: skip


# Names that differ by more than punctuation.
_HEAD_NAMES = {
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
}
# Stored by some writers although they are copies: their name and, in Google's spelling, what they must equal.
_TIED = {
    "cls.predictions.decoder.weight": "bert/embeddings/word_embeddings",
    "cls.predictions.decoder.bias": "cls/predictions/output_bias",
}


def google_name(name: str) -> tuple[str, bool] | None:
    """Google's name for a weight and whether it is stored transposed; None for one that Google's BERT does not have.

    The tied `cls.predictions.decoder.*` and the buffer `embeddings.position_ids` are such.
    """
    bare = name.removeprefix("bert.")
    for pattern, replacement, transposed in _RULES:
        found = re.fullmatch(pattern, bare)
        if found:
            return found.expand(replacement).replace("attention.output", "attention/output"), transposed
    return None


def hugging_face_name(name: str) -> tuple[str, bool] | None:
    """The inverse of google_name, with the leading "bert."; None for a name that no BERT of Hugging Face's has."""
    renamed = _HEAD_NAMES.get(name)
    if renamed is None:
        renamed = name.replace("/", ".").replace("encoder.layer_", "encoder.layer.").removesuffix(".kernel")
        renamed = re.sub(r"(LayerNorm)\.gamma$", r"\1.weight", re.sub(r"(LayerNorm)\.beta$", r"\1.bias", renamed))
        if not renamed.endswith((".bias", ".weight")):
            renamed += ".weight"
    transposed = name.endswith("/kernel")
    return (renamed, transposed) if google_name(renamed) == (name, transposed) else None


class HuggingFaceReader:
    """Weights of a folder with model.safetensors under Google's names; nothing in it is executed."""

    def __init__(self, folder: str):
        self.description = os.path.join(folder, SAFETENSORS)
        try:
            self._file = safe_open(local(self.description), framework="np")
        except (SafetensorError, OSError) as error:
            raise InputError(f"{self.description}: is no whole safetensors file: {error}") from None
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self._sources: dict[str, tuple[str, bool]] = {}
        for name in self._file.keys():  # noqa: SIM118 (safe_open is no dict)
            renamed = google_name(name)
            if renamed is None:
                self.unused.append(name)
                continue
            shape = tuple(self._file.get_slice(name).get_shape())
            self.shapes[renamed[0]] = shape[::-1] if renamed[1] else shape
            self._sources[renamed[0]] = (name, renamed[1])

    def read(self, name: str) -> np.ndarray:
        """float32, in Google's orientation."""
        source, transposed = self._sources[name]
        values = self._file.get_tensor(source).astype(np.float32)
        return np.ascontiguousarray(values.T) if transposed else values

    def check_tied(self) -> None:
        """InputError where the masked-LM decoder is stored and is no copy of the word embeddings, as Google's is."""
        for name in self.unused:
            original = _TIED.get(name)
            if original in self.shapes:
                values = self._file.get_tensor(name).astype(np.float32)
                if not np.array_equal(values, self.read(original), equal_nan=True):
                    raise InputError(
                        f"{self.description}: {name} differs from {original}; in Google's BERT they are one, so this model "
                        "cannot be converted"
                    )
