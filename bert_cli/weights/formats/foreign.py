"""Weight files of other programs that are not read, and how to make model.safetensors from them."""

import contextlib
import json
import os
import re
import shlex
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.files import list_directory
from bert_cli.base.json_files import read_json
from bert_cli.base.names import HUGGING_FACE_CONFIG, SAFETENSORS

# Release 5 of transformers removed what reads them.
_WITH_FLAX, _WITH_TENSORFLOW = (f"with transformers below 5 and {name}" for name in ("Flax", "TensorFlow"))
# Part of transformers' names for a shard, "-00001-of-00002", or for a variant, ".fp16".
_PART = r"(?:[.-][\w.-]+)?"


class _Format(NamedTuple):
    """Files of a format, and what to do with them.

    Attributes:
        pattern: regular expression of the file names.
        title: what the format is.
        argument: argument of from_pretrained that reads it; None if transformers does not.
        advice: what to do in addition to, or instead of, using transformers.
    """

    pattern: str
    title: str
    argument: str | None
    advice: str = ""


_FROM_TF = "from_tf=True"
_PICKLE = "is a pickle, which could run code, and is not read"
_FORMATS = (
    _Format(rf"pytorch_model{_PART}\.bin(?:\.index{_PART}\.json)?", _PICKLE, "", "where it is trusted"),
    _Format(rf"flax_model{_PART}\.msgpack(?:\.index\.json)?", "has weights of Flax", "from_flax=True", _WITH_FLAX),
    _Format(
        r"tf_model(?:-\d+-of-\d+\.h5|\.h5\.index\.json)", "has weights of TensorFlow in shards", _FROM_TF, _WITH_TENSORFLOW
    ),
    _Format(r"adapter_model\.\w+", "has an adapter without its model", None, "merge the two with peft's merge_and_unload"),
    _Format(
        rf"(?!model\.safetensors$)[\w.-]+\.safetensors|model\.safetensors\.index{_PART}\.json",
        "has another name than transformers gives to weights", None, f"call the file {SAFETENSORS}",
    ),
    _Format(r".+\.(?:pt|pth)", _PICKLE, None, f"write its weights as {SAFETENSORS} where it is trusted"),
    _Format(r"rust_model\.ot", "has weights of rust-bert", None, f"download {SAFETENSORS} of the same model"),
    _Format(r".+\.gguf", "has weights of llama.cpp", None, f"download {SAFETENSORS} of the same model"),
    _Format(
        r".+\.onnx|openvino_model\.(?:xml|bin)|.+\.tflite", "has an exported network, which cannot be trained", None,
        f"download {SAFETENSORS} of the same model",
    ),
)  # fmt: skip


def is_foreign(name: str) -> bool:
    """Return whether a file name is of a format that is not read."""
    return _format_of(name) is not None


def foreign_weights(folder: str) -> InputError | None:
    """Return the error for a directory with weights in other formats only; None if it has none."""
    known = [(format_, name) for name in list_directory(folder) if (format_ := _format_of(name))]
    if not known:
        return None
    format_, name = min(known, key=lambda pair: _FORMATS.index(pair[0]))
    if format_.argument is None:
        return InputError(f"{folder}: {name} {format_.title}; {format_.advice}")
    return InputError(f"{folder}: {name} {format_.title}; {_way(folder, format_.argument, format_.advice)}")


def from_tensorflow(folder: str) -> str:
    """Return how to make model.safetensors from TensorFlow weights, for a message."""
    return _way(folder, _FROM_TF, _WITH_TENSORFLOW)


def _way(folder: str, argument: str, condition: str) -> str:
    place = json.dumps(folder, ensure_ascii=False)
    arguments = ", ".join(filter(None, [place, argument]))
    code = (
        f"from transformers import {_class_name(folder)} as Model; "
        f"Model.from_pretrained({arguments}).save_pretrained({place})"
    )
    return f"make {SAFETENSORS} once {condition}: python -c {shlex.quote(code)}"


def _format_of(name: str) -> _Format | None:
    return next((format_ for format_ in _FORMATS if re.fullmatch(format_.pattern, name)), None)


def _class_name(folder: str) -> str:
    """Return the class of transformers that keeps the model's head."""
    # AutoModel would leave the head out.
    path = os.path.join(folder, HUGGING_FACE_CONFIG)
    values = None
    with contextlib.suppress(InputError):  # a missing or damaged config changes the advice only
        values = read_json(path)
    names = values.get("architectures") if isinstance(values, dict) else None
    name = names[0] if isinstance(names, list) and names else None
    # The line is to be run, so anything but a name is left out of it.
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else "AutoModel"
