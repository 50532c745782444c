"""What bert-convert is asked for, compared with what exists: the source, the head type, and what
the target cannot hold.

Imports no TensorFlow.
"""

import re

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER, ENCODER, HEAD_TYPES, NEXT_SENTENCE, TAGGER
from bert_cli.base.log import LOG
from bert_cli.exports.target import FORMATS, Target
from bert_cli.model.config import BertConfig
from bert_cli.model.networks import ELECTRA
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.weights.module_path import find_module, is_url
from bert_cli.weights.path import CheckpointPath, find_checkpoint

# A constant of modeling.py in Google's repository, not a key of bert_config.json.
_GOOGLE_EPSILON = 1e-12


def find_source(path: str, strict: bool = False) -> CheckpointPath:
    """What --from names; an archive or a URL is a module for tensorflow-hub."""
    # A module that is unpacked is a folder, which find_checkpoint knows by its saved_model.pb.
    if path.endswith((".tar.gz", ".tgz")) or is_url(path):
        return find_module(path, "from")
    return find_checkpoint(path, "from", strict)


def check_dtype(dtype: str, target: Target) -> None:
    """InputError where the target's format cannot store numbers of this dtype."""
    if dtype != "float32" and target.format != "hf":
        raise InputError(f"--{dtype}: a {FORMATS[target.format].title} holds float32; this is for Hugging Face folders")


def choose_head_type(head: str, found: tuple[str, ...], model: ModelBundle, target: Target) -> str | None:
    """A key of HEAD_TYPES for --head and the heads that were found; None where the target takes
    several side by side.

    InputError where it cannot.
    """
    if target.format == "hub":
        if head not in ("auto", ENCODER):
            raise InputError(f"--head={head}: a module for tensorflow-hub holds the encoder alone")
        return ENCODER
    network = model.config.network
    if head != "auto":
        lacking = [name for name in HEAD_TYPES[head].heads if name not in found]
        if lacking:
            raise InputError(
                f"--head={head}: the checkpoint has no {' and no '.join(lacking)}; it has "
                f"{', '.join(found) or 'no head'}"
            )
        if target.format == "hf" and not network.has_class(head):
            raise InputError(f"--head={head}: Hugging Face's {network.title} has no class with this head")
        return head
    # bert-pretrain trains that head in any network.
    if target.format == "hf" and NEXT_SENTENCE in network.lacks:
        found = tuple(name for name in found if name != NEXT_SENTENCE)
    # A classifier, a tagger and a choice of endings have the same variables; only the files next to
    # them say which one it is.
    if found == (CLASSIFIER,):
        return model.classifier_type if model.classifier_type in (TAGGER, CHOICE) else CLASSIFIER
    # Exactly these heads: a class of Hugging Face has a fixed set of them, and no other can be
    # loaded into it.
    kind = next((name for name, kind in HEAD_TYPES.items() if kind.heads == found), None)
    if kind is None and target.format == "hf":
        raise InputError(
            f"the checkpoint has {', '.join(found)}; Hugging Face has no class for all: choose with --head"
        )
    return kind


def check_words(vocabulary: Vocabulary | None, config: BertConfig, resize_vocab: int | None, target: Target) -> None:
    """Warn where the vocabulary has fewer words than the model; InputError where it has more, also
    than --resize_vocab asks for.
    """
    size = resize_vocab or config.vocab_size
    if vocabulary is None:
        more = ", so no tokenizer is written" if target.format == "hf" else ""
        LOG.warning("warning: no vocab.txt next to the checkpoint%s; --vocab_file gives one", more)
    elif resize_vocab and size < vocabulary.size:
        raise InputError(
            f"--resize_vocab={size}: {vocabulary.path} has {vocabulary.size} entries; give at least as many"
        )
    elif vocabulary.size > size:
        raise InputError(
            f"{vocabulary.path} has {vocabulary.size} entries, but the model has rows for {size}: "
            f"give the model's own vocabulary, or add rows with --resize_vocab={vocabulary.size}"
        )
    elif vocabulary.size < size:
        LOG.warning(
            "warning: %s has %d entries, fewer than the model's %d words; is it the model's own?",
            vocabulary.path, vocabulary.size, size,
        )  # fmt: skip


def check_label_names(labels: tuple[str, ...] | None, count: int) -> None:
    """InputError where the names do not fit `count` outputs."""
    if labels is None:
        return
    if len(labels) != count:
        raise InputError(
            f"labels.txt or config.json names {len(labels)} labels, but the classifier has {count} outputs"
        )
    for number, label in enumerate(labels):
        # labels.txt has one label a line, so a line end in a name of Hugging Face's config.json
        # would make two of it.
        if not label or re.search(r"[\r\n]", label) or label in labels[:number]:
            raise InputError(f"label {label!r} (number {number}): names must differ and be one line each")


def warn_of_google(config: BertConfig, target: Target) -> None:
    """Google's own scripts compute one model only; ours reads the rest from bert_config.json."""
    # ELECTRA's have the erf form.
    if config.model_type != ELECTRA and target.format == "tf1" and config.activation == "gelu_erf":
        LOG.warning(
            "warning: this model has the erf form of gelu; Google's scripts compute the tanh form, ours the right one"
        )
    if target.format == "tf1" and config.layer_norm_eps != _GOOGLE_EPSILON:
        LOG.warning("warning: layer_norm_eps is %g here, always 1e-12 in Google's scripts", config.layer_norm_eps)
