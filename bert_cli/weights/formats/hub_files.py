"""Models that a name such as hf:owner/name@revision downloads from Hugging Face's hub."""

import contextlib
import dataclasses
import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.base.formats import byte_size
from bert_cli.base.json_files import FETCH, expect, read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import (
    ADAPTER_CONFIG,
    CALIBRATION,
    CONFIG,
    FLAGS,
    HUB_PREFIX,
    HUGGING_FACE_CONFIG,
    KERAS_HUB_VOCABULARY,
    KERAS_HUB_WEIGHTS,
    LABELS,
    MODULES,
    SAFETENSORS,
    SAFETENSORS_INDEX,
    SENTENCE_BERT,
    SENTENCE_CONFIG,
    TF_MODEL,
    THRESHOLDS,
    TOKENIZER_FILES,
    VOCABULARY,
)
from bert_cli.runtime.installing import require_packages

_NAME = re.compile(r"(?P<repository>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?", re.ASCII)
_FORM = f"{HUB_PREFIX}OWNER/NAME, or {HUB_PREFIX}OWNER/NAME@REVISION"
# Every file that is read besides the weights. No other file is downloaded: no code and no pickle.
_SMALL_FILES = (
    CONFIG, *TOKENIZER_FILES, VOCABULARY, LABELS, FLAGS, THRESHOLDS, CALIBRATION, SAFETENSORS_INDEX,
    ADAPTER_CONFIG, KERAS_HUB_VOCABULARY, MODULES, SENTENCE_BERT, SENTENCE_CONFIG,
    "[1-9]_*/config.json", f"[1-9]_*/{SAFETENSORS}",
)  # fmt: skip
_SHARDS = "model-*-of-*.safetensors"
# In order of preference. The index of shards is a small file.
_WEIGHTS = (SAFETENSORS, _SHARDS, TF_MODEL, KERAS_HUB_WEIGHTS)
_PICKLES = ("pytorch_model*.bin",)


@dataclasses.dataclass(frozen=True)
class HuggingFaceHubModel:
    """A model in the cache of Hugging Face's hub.

    Attributes:
        folder: the directory with its files.
        name: its name with the commit as revision, which always names the same files.
    """

    folder: str
    name: str


def fetch_model(name: str, flag: str, check: Callable[[str, Mapping[str, Any]], None]) -> HuggingFaceHubModel:
    """Return a model of the hub, after downloading the files that the cache lacks.

    This uses huggingface_hub and its environment variables, such as HF_HUB_OFFLINE, HF_HOME and
    HF_TOKEN. An unsupported network is refused before its weights are downloaded.

    Args:
        name: hf:OWNER/NAME or hf:OWNER/NAME@REVISION.
        flag: flag name for messages.
        check: raises InputError for the config.json of an unsupported network, from a name and values.

    Raises:
        InputError: if the name is wrong, the hub cannot be reached, or the model is not supported.
    """
    match = _NAME.fullmatch(name.removeprefix(HUB_PREFIX))
    if not match:
        raise InputError(f"--{flag}={name}: {_FORM} is needed")
    require_packages(["huggingface_hub"], f"--{flag}={name}", "hub")
    repository, revision = match["repository"], match["revision"]
    with _reporting_errors(name, repository, revision):
        return download_model(name, repository, revision, check)


# A sweep and a server ask for the same name many times, by several flags, and must get the same commit.
@functools.lru_cache(maxsize=64)
def download_model(
    name: str, repository: str, revision: str | None, check: Callable[[str, Mapping[str, Any]], None]
) -> HuggingFaceHubModel:
    """Download what the cache lacks, and return the model; see fetch_model."""
    folder = _download(repository, revision, _SMALL_FILES)
    _check_model(name, folder, check)
    commit = os.path.basename(folder)
    if not _has_weights(folder):
        _download(repository, commit, [_choose_weights(name, repository, commit, folder)])
    LOG.info("%s: commit %s in %s", name, commit, folder)
    return HuggingFaceHubModel(folder, f"{HUB_PREFIX}{repository}@{commit}")


def _download(repository: str, revision: str | None, patterns: Sequence[str]) -> str:
    """Return the directory of a revision after downloading its files with these names."""
    import huggingface_hub  # heavy, and an extra

    allowed = list(patterns)
    return huggingface_hub.snapshot_download(repository, revision=revision, allow_patterns=allowed)


def _check_model(name: str, folder: str, check: Callable[[str, Mapping[str, Any]], None]) -> None:
    """Raise InputError if the files besides the weights do not belong to a supported model."""
    adapter = os.path.join(folder, ADAPTER_CONFIG)
    if files.exists(adapter):
        base = read_json_object(adapter, FETCH).get("base_model_name_or_path")
        raise InputError(
            f"{name}: is an adapter of peft for {base}, and {HUB_PREFIX} takes whole models; merge the two with peft's "
            "merge_and_unload, or download both into directories"
        )
    config = os.path.join(folder, HUGGING_FACE_CONFIG)
    if files.exists(config):
        check(f"{name}: {HUGGING_FACE_CONFIG}", read_json_object(config, FETCH))
    elif not files.exists(os.path.join(folder, CONFIG)):
        raise InputError(f"{name}: has no {HUGGING_FACE_CONFIG}: it is no model that is read here")


def _has_weights(folder: str) -> bool:
    index = os.path.join(folder, SAFETENSORS_INDEX)
    names = (SAFETENSORS, TF_MODEL, KERAS_HUB_WEIGHTS)
    if any(files.exists(os.path.join(folder, name)) for name in names):
        return True
    if not files.exists(index):
        return False
    shards = expect(read_json_object(index, FETCH).get("weight_map"), dict, f"{index}: weight_map", FETCH)
    return all(files.exists(os.path.join(folder, str(shard))) for shard in shards.values())


def _choose_weights(name: str, repository: str, commit: str, folder: str) -> str:
    """Return the pattern of the weight files to download, and log their size.

    Raises:
        InputError: if no weights are in a supported format.
    """
    import huggingface_hub

    patterns = [*_WEIGHTS, *_PICKLES]
    infos = huggingface_hub.snapshot_download(repository, revision=commit, allow_patterns=patterns, dry_run=True)
    for pattern in _WEIGHTS:
        # A subdirectory may have other weights, such as a module's.
        chosen = [info for info in infos if fnmatch.fnmatch(info.filename, pattern) and "/" not in info.filename]
        if chosen:
            size = byte_size(sum(info.file_size or 0 for info in chosen), kB=0, MB=1, GB=2)
            names = ", ".join(info.filename for info in chosen)
            LOG.info("%s: downloading %s, %s, to %s", name, names, size, folder)
            return pattern
    if not infos:
        raise InputError(f"{name}: has no weights in a format that is read ({SAFETENSORS} or {TF_MODEL})")
    pickle = infos[0].filename
    raise InputError(
        f"{name}: has no {SAFETENSORS}, and {pickle} is a pickle, which could run code and is not downloaded; many "
        f"repositories have a pull request with {SAFETENSORS}, as the revision {HUB_PREFIX}{repository}@refs/pr/1; or make "
        f"it with transformers where the pickle is trusted, and give the directory"
    )


@contextlib.contextmanager
def _reporting_errors(name: str, repository: str, revision: str | None) -> Iterator[None]:
    """Raise InputError for an error of huggingface_hub."""
    from huggingface_hub import constants, errors

    try:
        yield
    except errors.GatedRepoError:
        raise InputError(
            f"{name}: is gated; accept its terms on {constants.ENDPOINT}/{repository}, and log in with `hf auth login` or "
            "set HF_TOKEN"
        ) from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"{name}: {constants.ENDPOINT} has no model {repository}, or it is private; check the name, or log in with "
            "`hf auth login` or set HF_TOKEN"
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(f"{name}: has no revision {revision}; give a branch, a tag or a commit") from None
    except errors.HFValidationError as error:
        raise InputError(f"{name}: {first_line(error)}; {_FORM} is needed") from None
    # If the hub does not answer and the cache lacks a file, the error is an OSError.
    except (errors.HTTPError, OSError) as error:
        raise InputError(f"{name}: {_explain(error)}") from None


def _explain(error: Any) -> str:
    """Return why a download failed, and a way out."""
    from huggingface_hub import constants, errors

    cause = error.__cause__ or error
    cache = constants.HF_HUB_CACHE
    if isinstance(cause, errors.OfflineModeIsEnabled):
        return (
            f"HF_HUB_OFFLINE is set, and the cache in {cache} lacks files of it; unset it once, or copy the files there"
        )
    if isinstance(error, (errors.LocalEntryNotFoundError, errors.DryRunError)):
        is_answer = isinstance(cause, errors.HfHubHTTPError)
        problem = "answers with an error" if is_answer else "does not answer"
        return (
            f"{constants.ENDPOINT} {problem} ({first_line(cause)}), and the cache in {cache} lacks files of it; "
            "connect to the network, or copy the cache of another machine there"
        )
    return f"cannot be downloaded: {first_line(cause)}"
