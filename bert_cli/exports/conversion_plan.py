"""Choices and checks before a conversion: source, head type, and the target format's limits.

This module does not import TensorFlow.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.head_types import CLASSIFIER, ENCODER, HEAD_TYPES, MASKED_LM, NEXT_SENTENCE, head_of, is_token_head
from bert_cli.base.log import LOG
from bert_cli.base.names import OUTSIDE, find_label_problem
from bert_cli.exports.target import FORMATS, Target
from bert_cli.model.config import BertConfig
from bert_cli.model.networks import ELECTRA
from bert_cli.opening.bundle import ModelBundle
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.weights.module_path import find_module, is_url
from bert_cli.weights.path import CheckpointPath, find_checkpoint

# Google's modeling.py has this constant; bert_config.json has no key for it.
_GOOGLE_EPSILON = 1e-12


def find_source(path: str, strict: bool = False) -> CheckpointPath:
    """Return the checkpoint for --from; an archive or a URL is a tensorflow-hub module.

    Args:
        strict: see `find_checkpoint`.
    """
    # An unpacked module needs no special case: find_checkpoint finds its saved_model.pb.
    if path.endswith((".tar.gz", ".tgz")) or is_url(path):
        return find_module(path, "from")
    return find_checkpoint(path, "from", strict)


def check_dtype(dtype: str, target: Target) -> None:
    """Raise InputError if the target's format cannot store this dtype."""
    if dtype != "float32" and target.format != "hf":
        raise InputError(f"--{dtype}: a {FORMATS[target.format].title} holds float32; this is for Hugging Face folders")


def find_heads(weight_names: Iterable[str], model: ModelBundle, head: str) -> tuple[str, ...]:
    """Return the trained heads in a checkpoint, sorted, and log a head that was not trained.

    Args:
        weight_names: the checkpoint's weights.
        model: the model to convert.

    Raises:
        InputError: if --head needs a next-sentence head that was not trained.
    """
    heads = sorted({name for weight_name in weight_names if (name := head_of(weight_name))})
    if NEXT_SENTENCE in heads and model.head.has_untrained_next_sentence:
        if head != "auto" and NEXT_SENTENCE in HEAD_TYPES[head].heads:
            raise InputError(
                f"--head={head}: {model.folder} was trained with --no_nsp, so its next-sentence head is not trained; "
                f"--head={MASKED_LM} converts the other one"
            )
        LOG.info("dropped: %s, which a training with --no_nsp does not train", NEXT_SENTENCE)
        heads.remove(NEXT_SENTENCE)
    return tuple(heads)


def choose_head_type(head: str, heads: tuple[str, ...], model: ModelBundle, target: Target) -> str | None:
    """Return the head type to convert, a key of HEAD_TYPES.

    Args:
        head: value of --head, a key of HEAD_TYPES or "auto".
        heads: heads in the checkpoint, sorted.
        model: the model to convert.
        target: the result's format and path.

    Returns:
        None if the checkpoint has several heads, and the target can store them together.

    Raises:
        InputError: if the checkpoint does not have the head, or the target cannot store it.
    """
    if target.format == "hub":
        if head not in ("auto", ENCODER):
            raise InputError(f"--head={head}: a module for tensorflow-hub holds the encoder alone")
        return ENCODER
    network = model.config.network
    if head != "auto":
        missing_heads = [name for name in HEAD_TYPES[head].heads if name not in heads]
        if missing_heads:
            raise InputError(
                f"--head={head}: the checkpoint has no {' and no '.join(missing_heads)}; it has "
                f"{', '.join(heads) or 'no head'}"
            )
        if target.format == "hf" and not network.has_class(head):
            raise InputError(f"--head={head}: Hugging Face's {network.title} has no class with this head")
        return head
    # Drop this head: bert-pretrain trains it for any
    # network, but this one's class has no such head.
    if target.format == "hf" and NEXT_SENTENCE in network.lacks:
        heads = tuple(name for name in heads if name != NEXT_SENTENCE)
    # Use the files next to the checkpoint: a classifier, a tagger and a multiple-choice head have
    # the same variables.
    if heads == (CLASSIFIER,):
        head_type = model.head.classifier_type
        return head_type if head_type and HEAD_TYPES[head_type].heads == heads else CLASSIFIER
    # Require exactly these heads: a Hugging Face class has a fixed set, and loads no others.
    head_type = next((name for name, details in HEAD_TYPES.items() if details.heads == heads), None)
    if head_type is None and target.format == "hf":
        raise InputError(
            f"the checkpoint has {', '.join(heads)}; Hugging Face has no class for all: choose with --head"
        )
    return head_type


def check_vocabulary_size(
    vocabulary: Vocabulary | None, config: BertConfig, resize_vocab: int | None, target: Target
) -> None:
    """Compare the vocabulary's size with the converted model's, and warn if it is smaller.

    Args:
        vocabulary: the vocabulary; None, which causes a warning, if there is no file.
        config: the source model's config.
        resize_vocab: value of --resize_vocab, or None.
        target: the result's format and path.

    Raises:
        InputError: if the vocabulary is larger than the converted model's.
    """
    size = resize_vocab or config.vocab_size
    if vocabulary is None:
        consequence = ", so no tokenizer is written" if target.format == "hf" else ""
        LOG.warning("warning: no vocab.txt next to the checkpoint%s; --vocab_file gives one", consequence)
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


class ChosenLabels(NamedTuple):
    """Labels of a converted classifier.

    Attributes:
        names: label names, in output order.
        rows: by label, its row in the source.
        stored: the source's label names; () for unnamed outputs.
        num_rows: number of the source's rows.
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    stored: tuple[str, ...]
    num_rows: int

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return the names of dropped rows, or their numbers."""
        names = self.stored or tuple(map(str, range(self.num_rows)))
        return tuple(name for row, name in enumerate(names) if row not in self.rows)

    @property
    def new_names(self) -> dict[str, str]:
        """Return stored name -> new name, without dropped labels."""
        return {self.stored[row]: name for name, row in zip(self.names, self.rows, strict=True)} if self.stored else {}

    def describe(self) -> str:
        """Return the line for the log."""
        notes = [f"{old} is {new}" for old, new in self.new_names.items() if old != new]
        notes += [f"dropped: {list_names(self.dropped)}"] if self.dropped else []
        return "; ".join([f"labels: {list_names(self.names)}", *notes])


def choose_labels(entries: Sequence[str], stored: Sequence[str], count: int, head_type: str | None) -> ChosenLabels:
    """Return the rows that --labels chooses from a classifier.

    Args:
        entries: a stored name, or NEW=OLD with a stored name or a row number; if there are no
            stored names, new names of all rows.
        stored: the source's label names, or ().
        count: number of the source's rows.
        head_type: the classifier's head type.

    Raises:
        InputError: if a label is unknown, occurs twice, or too few are left.
    """
    if not stored and len(entries) == count and not any("=" in entry for entry in entries):
        chosen = ChosenLabels(tuple(entries), tuple(range(count)), (), count)
    else:
        pairs = [_find_row(entry, stored, count) for entry in entries]
        chosen = ChosenLabels(tuple(name for name, _ in pairs), tuple(row for _, row in pairs), tuple(stored), count)
    check_label_names(chosen.names, len(entries))
    twice = [entry for entry, row in zip(entries, chosen.rows, strict=True) if chosen.rows.count(row) > 1]
    refuse_if(twice, f"--labels: {list_names(twice)} name the same output of the source; give each one once")
    is_tagger = is_token_head(head_type)
    refuse_if(
        is_tagger and OUTSIDE in chosen.dropped, f"--labels: a tagger needs the tag {OUTSIDE}; add it to the labels"
    )
    return chosen


def _find_row(entry: str, stored: Sequence[str], count: int) -> tuple[str, int]:
    """Return (name, row in the source) for an entry of --labels."""
    if entry in stored:
        return entry, stored.index(entry)
    # Names may contain "=", so try each of them.
    for position in (position for position, character in enumerate(entry) if character == "="):
        name, old = entry[:position], entry[position + 1 :]
        if old in stored:
            return name, stored.index(old)
        if old.isascii() and old.isdecimal() and int(old) < count:
            return name, int(old)
    known = list_names(stored) if stored else f"{count} outputs without names; give {count} names, or NAME=NUMBER"
    raise InputError(f"--labels: {entry!r} is not a label of the source, which has {known}; NEW=OLD renames one")


def check_label_names(labels: tuple[str, ...] | None, count: int) -> None:
    """Raise InputError unless there are `count` different labels of one line, or None."""
    if labels is None:
        return
    if len(labels) != count:
        raise InputError(
            f"labels.txt or config.json names {len(labels)} labels, but the classifier has {count} outputs"
        )
    for number, label in enumerate(labels):
        # Names in config.json may have line ends.
        if not label or find_label_problem(label) or label in labels[:number]:
            raise InputError(f"label {label!r} (number {number}): names must differ and be one line each")


def warn_of_google(config: BertConfig, target: Target) -> None:
    """Warn if Google's scripts would ignore a setting in the model's bert_config.json."""
    # Except ELECTRA: Google's scripts for it compute the erf form.
    if config.model_type != ELECTRA and target.format == "tf1" and config.activation == "gelu_erf":
        LOG.warning(
            "warning: this model has the erf form of gelu; Google's scripts compute the tanh form, ours the right one"
        )
    if target.format == "tf1" and config.layer_norm_eps != _GOOGLE_EPSILON:
        LOG.warning("warning: layer_norm_eps is %g here, always 1e-12 in Google's scripts", config.layer_norm_eps)
