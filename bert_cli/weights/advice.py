"""Advice for models that cannot be read: names instead of paths, and files in unsupported formats."""

import contextlib
import json
import os
import re
import shlex
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.files import is_directory, list_directory
from bert_cli.base.json_files import read_json
from bert_cli.base.names import HUB_PREFIX, HUGGING_FACE_CONFIG, SAFETENSORS

_GOOGLE = "https://storage.googleapis.com/bert_models"
# By name on the hub: date of Google's release, and archive name.
_RELEASES = {
    "bert-base-uncased": ("2018_10_18", "uncased_L-12_H-768_A-12"),
    "bert-large-uncased": ("2018_10_18", "uncased_L-24_H-1024_A-16"),
    "bert-base-cased": ("2018_10_18", "cased_L-12_H-768_A-12"),
    "bert-large-cased": ("2018_10_18", "cased_L-24_H-1024_A-16"),
    "bert-base-multilingual-uncased": ("2018_11_03", "multilingual_L-12_H-768_A-12"),
    "bert-base-multilingual-cased": ("2018_11_23", "multi_cased_L-12_H-768_A-12"),
    "bert-base-chinese": ("2018_11_03", "chinese_L-12_H-768_A-12"),
    "bert-large-uncased-whole-word-masking": ("2019_05_30", "wwm_uncased_L-24_H-1024_A-16"),
    "bert-large-cased-whole-word-masking": ("2019_05_30", "wwm_cased_L-24_H-1024_A-16"),
}
# Google's 24 small models from 2020 (Turc et al. 2019, arXiv 1908.08962). Their heads are 64 wide.
SMALL_DAY = "2020_02_20"
SMALL_LAYERS = (2, 4, 6, 8, 10, 12)
SMALL_WIDTHS = (128, 256, 512, 768)
_NAME = re.compile(r"([A-Za-z0-9][\w-]*/)?[A-Za-z0-9][\w.-]*")
_BERTS = re.compile(r"bert|minilm|electra|\b(?:e5|bge|gte)-")  # in names of models, owner or not
_CHINESE_OWNERS = ("hfl", "uer", "clue")
_OTHER_NETWORKS = re.compile(
    r"m?deberta\w*|(?:distil|xlm)?roberta|xlm|albert|camembert|modernbert|phobert|bertweet|convbert|mobilebert|squeezebert|"
    r"rembert|mpnet|xlnet|longformer|bigbird|bart|mt5|t5|gpt2?|nomic|jina|qwen[\d]*|llama|mistral|gemma\d*|ernie|luke|"
    r"funnel|fnet|layoutlm\w*|reformer"
)
_FILE_ENDINGS = (".ckpt", ".h5", ".zip", ".gz", ".index", ".meta", ".bin", ".safetensors")


class _Release(NamedTuple):
    """A released model.

    Attributes:
        day: release date, which is in the URL.
        archive: archive name without ".zip".
        home: owner and name on the hub.
    """

    day: str
    archive: str
    home: str


def _releases() -> dict[str, _Release]:
    """Return all releases by archive name, and by name on the hub with and without the owner."""
    small = [f"uncased_L-{layers}_H-{width}_A-{width // 64}" for layers in SMALL_LAYERS for width in SMALL_WIDTHS]
    releases = [_Release(SMALL_DAY, archive, f"google/bert_{archive}") for archive in small]
    # Add these after the small ones: the archive name of bert-base-uncased is also a small model's.
    releases += [_Release(day, archive, f"google-bert/{name}") for name, (day, archive) in _RELEASES.items()]
    return {
        name: release
        for release in releases
        for name in (release.home, os.path.basename(release.home), release.archive)
    }


def download_advice(path: str, flag: str) -> str | None:
    """Return advice if a path looks like a model name, or None.

    Args:
        flag: flag that needs a checkpoint.
    """
    release = _releases().get(path)
    other_network = _other_network(path)
    owner = os.path.dirname(path)
    # Require a hyphen: all model names have one, and other paths are probably mistyped directories.
    looks_like_model = (
        _NAME.fullmatch(path)
        and "-" in os.path.basename(path)
        and (_BERTS.search(path.lower()) or other_network or (owner and not is_directory(owner)))
        and not path.endswith(_FILE_ENDINGS)
    )
    if not release and not looks_like_model:
        return None
    if other_network:
        return (
            f"{path}: is not a path here, but looks like the name of a model with another network than BERT "
            f"({other_network}), which is not read here; docs/models.md lists models"
        )
    text = (
        f"{path}: is not a path here, but looks like the name of a model, and models are not downloaded automatically; "
    )
    home = release.home if release else path if "/" in path else ""
    if home:
        text += f"give --{flag}={HUB_PREFIX}{home} to download it, or "
    if release:
        cased = " with --do_lower_case=false" if "_cased" in f"_{release.archive}" else ""
        text += (
            f"download and unpack {_GOOGLE}/{release.day}/{release.archive}.zip and give "
            f"--{flag}={release.archive}/bert_model.ckpt{cased}, or "
        )
    page = f"https://huggingface.co/{home}" if home else "its page on huggingface.co"
    return (
        text
        + f"download config.json, vocab.txt and model.safetensors from {page} into a folder and give --{flag}=FOLDER"
    )


def _other_network(path: str) -> str | None:
    """Return the word in a model's name that means another network than BERT, or None."""
    owner, _, name = path.lower().rpartition("/")
    # Chinese models called RoBERTa are BERTs, trained like RoBERTa.
    if "chinese" in name or owner in _CHINESE_OWNERS:
        return None
    return next((word for word in re.split(r"[_.-]", name) if _OTHER_NETWORKS.fullmatch(word)), None)


# transformers 5 cannot read these formats.
_WITH_FLAX, _WITH_TENSORFLOW = (f"with transformers below 5 and {name}" for name in ("Flax", "TensorFlow"))
# Part of a file name that is a shard number ("-00001-of-00002") or a variant (".fp16").
_SUFFIX = r"(?:[.-][\w.-]+)?"


class _Format(NamedTuple):
    """An unsupported file format, with advice.

    Attributes:
        pattern: regular expression for file names.
        title: description for messages.
        argument: from_pretrained's argument for this format; None if transformers cannot read it.
        advice: condition for using transformers; if it cannot be used, other advice.
    """

    pattern: str
    title: str
    argument: str | None
    advice: str = ""


_FROM_TF = "from_tf=True"
_PICKLE = "is a pickle, which could run code, and is not read"
_FORMATS = (
    _Format(rf"pytorch_model{_SUFFIX}\.bin(?:\.index{_SUFFIX}\.json)?", _PICKLE, "", "where it is trusted"),
    _Format(rf"flax_model{_SUFFIX}\.msgpack(?:\.index\.json)?", "has weights of Flax", "from_flax=True", _WITH_FLAX),
    _Format(
        r"tf_model(?:-\d+-of-\d+\.h5|\.h5\.index\.json)", "has weights of TensorFlow in shards", _FROM_TF, _WITH_TENSORFLOW
    ),
    _Format(r"adapter_model\.\w+", "has an adapter without its model", None, "merge the two with peft's merge_and_unload"),
    _Format(
        rf"(?!model\.safetensors$)[\w.-]+\.safetensors|model\.safetensors\.index{_SUFFIX}\.json",
        "has another name than transformers gives to weights", None, f"call the file {SAFETENSORS}",
    ),
    _Format(r".+\.ckpt", "is a checkpoint of PyTorch Lightning, " + _PICKLE.removeprefix("is "), None,
            f"write its weights as {SAFETENSORS} where it is trusted"),
    _Format(r".+\.keras", "is a model of Keras, which is not read", None,
            "save the weights of its encoder with bert_cli.keras.Encoder as .weights.h5"),
    _Format(r".+\.(?:pkl|pickle|joblib)", _PICKLE, None, f"write its weights as {SAFETENSORS} where it is trusted"),
    _Format(r".+\.(?:pt|pth)", _PICKLE, None, f"write its weights as {SAFETENSORS} where it is trusted"),
    _Format(r"rust_model\.ot", "has weights of rust-bert", None, f"download {SAFETENSORS} of the same model"),
    _Format(r".+\.gguf", "has weights of llama.cpp", None, f"download {SAFETENSORS} of the same model"),
    _Format(
        r".+\.onnx|openvino_model\.(?:xml|bin)|.+\.tflite", "has an exported network, which cannot be trained", None,
        f"give the model that it was exported from, or {SAFETENSORS} of the same model",
    ),
)  # fmt: skip


def is_foreign(name: str) -> bool:
    """Return whether a file name belongs to an unsupported format."""
    return _format_of(name) is not None


def foreign_weights_error(folder: str) -> InputError | None:
    """Return the error for a directory with unsupported weights, or None without such files."""
    files_with_formats = [(format_, name) for name in list_directory(folder) if (format_ := _format_of(name))]
    if not files_with_formats:
        return None
    format_, name = min(files_with_formats, key=lambda pair: _FORMATS.index(pair[0]))
    if format_.argument is None:
        return InputError(f"{folder}: {name} {format_.title}; {format_.advice}")
    return InputError(
        f"{folder}: {name} {format_.title}; {_conversion_advice(folder, format_.argument, format_.advice)}"
    )


def from_tensorflow(folder: str) -> str:
    """Return advice for converting TensorFlow weights to model.safetensors."""
    return _conversion_advice(folder, _FROM_TF, _WITH_TENSORFLOW)


def _conversion_advice(folder: str, argument: str, condition: str) -> str:
    directory = json.dumps(folder, ensure_ascii=False)
    arguments = ", ".join(filter(None, [directory, argument]))
    code = (
        f"from transformers import {_class_name(folder)} as Model; "
        f"Model.from_pretrained({arguments}).save_pretrained({directory})"
    )
    return f"make {SAFETENSORS} once {condition}: python -c {shlex.quote(code)}"


def _format_of(name: str) -> _Format | None:
    return next((format_ for format_ in _FORMATS if re.fullmatch(format_.pattern, name)), None)


def _class_name(folder: str) -> str:
    """Return the transformers class that keeps the model's head."""
    # Read the class from the config: AutoModel would drop the head.
    path = os.path.join(folder, HUGGING_FACE_CONFIG)
    values = None
    # Ignore a missing or damaged config: the advice is then less specific.
    with contextlib.suppress(InputError):
        values = read_json(path)
    names = values.get("architectures") if isinstance(values, dict) else None
    name = names[0] if isinstance(names, list) and names else None
    # Accept only a name, because users run the command that contains it.
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else "AutoModel"
