"""What bert-convert is asked for, beside what there is: the source, the kind of model, and what the target cannot hold.

Imports no TensorFlow.
"""

import logging

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER, ENCODER, HEAD_TYPES, TAGGER
from bert_cli.exports.target import Target
from bert_cli.model.config import BertConfig
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.weights.path import CheckpointPath, find_checkpoint, find_module, is_url

LOG = logging.getLogger("bert_cli")
# Of settings.tools.MODEL_FORMATS.
TITLES = {
    "tf1": "TF1 checkpoint",
    "hf": "Hugging Face folder",
    "h5": "Keras .weights.h5",
    "hub": "module for tensorflow-hub",
}
_GOOGLE_EPSILON = 1e-12


def find_source(path: str, strict: bool = False) -> CheckpointPath:
    """What --from names; an archive or a URL is a module for tensorflow-hub."""
    if path.endswith((".tar.gz", ".tgz")) or is_url(path):
        return find_module(path, "from")
    return find_checkpoint(path, "from", strict)


def check_dtype(dtype: str, target: Target) -> None:
    """InputError where the target's format cannot store numbers of this dtype."""
    if dtype != "float32" and target.format != "hf":
        raise InputError(f"--{dtype}: a {TITLES[target.format]} holds float32; this is for Hugging Face folders")


def choose_kind(head: str, found: tuple[str, ...], model: ModelBundle, target: Target) -> str | None:
    """A key of HEAD_TYPES for --head and the heads that were found; None where the target takes several side by side.

    InputError where it cannot.
    """
    if target.format == "hub":
        if head not in ("auto", ENCODER):
            raise InputError(f"--head={head}: a module for tensorflow-hub holds the encoder alone")
        return ENCODER
    if head != "auto":
        lacking = [name for name in HEAD_TYPES[head].heads if name not in found]
        if lacking:
            raise InputError(
                f"--head={head}: the checkpoint has no {' and no '.join(lacking)}; it has {', '.join(found) or 'no head'}"
            )
        return head
    if found == (CLASSIFIER,):
        return model.classifier_kind if model.classifier_kind in (TAGGER, CHOICE) else CLASSIFIER
    kind = next((name for name, kind in HEAD_TYPES.items() if kind.heads == found), None)
    if kind is None and target.format == "hf":
        raise InputError(
            f"the checkpoint has {', '.join(found)}; Hugging Face has no class for all: choose with --head"
        )
    return kind


def warn_of_google(config: BertConfig, target: Target) -> None:
    """Google's own scripts compute one model only; ours reads the rest from bert_config.json."""
    if target.format == "tf1" and config.activation == "gelu_erf":
        LOG.warning(
            "warning: this model has the erf form of gelu; Google's scripts compute the tanh form, ours the right one"
        )
    if target.format == "tf1" and config.layer_norm_eps != _GOOGLE_EPSILON:
        LOG.warning("warning: layer_norm_eps is %g here, always 1e-12 in Google's scripts", config.layer_norm_eps)
