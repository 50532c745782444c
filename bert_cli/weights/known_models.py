"""Download advice for model names that are given as paths."""

import os
import re
from typing import NamedTuple

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
_NAME = re.compile(r"([A-Za-z0-9][\w-]*/)?[A-Za-z0-9][A-Za-z0-9.-]*")
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
        path: the flag's value.
        flag: flag that needs a checkpoint.
    """
    release = _releases().get(path)
    # Require a hyphen: all model names have one, and other paths are probably mistyped directories.
    looks_like_model = (
        _NAME.fullmatch(path)
        and "-" in os.path.basename(path)
        and "bert" in path.lower()
        and not path.endswith(_FILE_ENDINGS)
    )
    if not release and not looks_like_model:
        return None
    text = (
        f"{path}: is not a path here, but looks like the name of a model, and models are not downloaded automatically; "
    )
    home = path if "/" in path else ""
    if release:
        home = release.home
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
