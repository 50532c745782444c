"""Names of models that people type for a path, and where these are to be had."""

import re

_GOOGLE = "https://storage.googleapis.com/bert_models"
# Name on the hub -> (day of Google's release, name of its archive).
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
_OWNER = "google-bert"  # of these models on the hub
_NAME = re.compile(r"([A-Za-z0-9][\w-]*/)?[A-Za-z0-9][A-Za-z0-9.-]*")
_FILE = (".ckpt", ".h5", ".zip", ".gz", ".index", ".meta", ".bin", ".safetensors")


def advice(path: str, flag: str) -> str | None:
    """What to download from where, for a path that is the name of a model rather; None for any other path."""
    owner, _, name = path.rpartition("/")
    # All of these names have a hyphen; without one it is rather a folder that was mistyped.
    if not _NAME.fullmatch(path) or path.endswith(_FILE) or "-" not in name or "bert" not in path.lower():
        return None
    release = _RELEASES.get(name) if owner in ("", _OWNER) else None
    home = f"https://huggingface.co/{owner or _OWNER}/{name}" if release or owner else "its page on huggingface.co"
    text = f"{path}: is no path here, but looks like the name of a model, and none is downloaded by itself; "
    if release:
        day, archive = release
        cased = " with --do_lower_case=false" if "_cased" in f"_{archive}" else ""
        text += (
            f"download and unpack {_GOOGLE}/{day}/{archive}.zip and give --{flag}={archive}/bert_model.ckpt{cased}, or "
        )
    return (
        text
        + f"download config.json, vocab.txt and model.safetensors from {home} into a folder and give --{flag}=FOLDER"
    )
