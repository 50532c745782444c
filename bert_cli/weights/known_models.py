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
# Google's 24 models of 2020, of Turc et al. 2019 (arXiv 1908.08962): layers and widths; a head is
# 64 wide.
SMALL_DAY = "2020_02_20"
SMALL_LAYERS = (2, 4, 6, 8, 10, 12)
SMALL_WIDTHS = (128, 256, 512, 768)
_SMALL_OWNER = "google"
_SMALL = tuple(f"uncased_L-{layers}_H-{width}_A-{width // 64}" for layers in SMALL_LAYERS for width in SMALL_WIDTHS)
_NAME = re.compile(r"([A-Za-z0-9][\w-]*/)?[A-Za-z0-9][A-Za-z0-9.-]*")
_FILE = (".ckpt", ".h5", ".zip", ".gz", ".index", ".meta", ".bin", ".safetensors")


def _release(owner: str, name: str) -> tuple[str, str] | None:
    """(day, archive) of Google's release with this name on the hub, or with this name of its
    archive.
    """
    if owner in ("", _OWNER) and name in _RELEASES:
        return _RELEASES[name]
    if owner in ("", _SMALL_OWNER) and (archive := name.removeprefix("bert_")) in _SMALL and archive != name:
        return SMALL_DAY, archive
    if owner:
        return None
    by_archive = {archive: (day, archive) for day, archive in _RELEASES.values()}
    return by_archive.get(name) or ((SMALL_DAY, name) if name in _SMALL else None)


def _home(owner: str, name: str, release: tuple[str, str] | None) -> str:
    """The page of a model on the hub, as a web address where it is known."""
    if owner:
        return f"https://huggingface.co/{owner}/{name}"
    if release is None:
        return "its page on huggingface.co"
    if release[0] == SMALL_DAY:
        return f"https://huggingface.co/{_SMALL_OWNER}/bert_{release[1]}"
    return next(f"https://huggingface.co/{_OWNER}/{known}" for known, found in _RELEASES.items() if found == release)


def advice(path: str, flag: str) -> str | None:
    """What to download from where, for a path that is the name of a model rather; None for any
    other path.
    """
    owner, _, name = path.rpartition("/")
    release = _release(owner, name)
    # All of these names have a hyphen; without one it is rather a folder that was mistyped.
    looks_so = _NAME.fullmatch(path) and "-" in name and "bert" in path.lower() and not path.endswith(_FILE)
    if not release and not looks_so:
        return None
    home = _home(owner, name, release)
    text = (
        f"{path}: is not a path here, but looks like the name of a model, and models are not downloaded automatically; "
    )
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
