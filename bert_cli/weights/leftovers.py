"""Weights that a BERT does not have: some may be dropped, and others change outputs.

docs/keys.md prints these tables.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, list_some
from bert_cli.base.head_types import FINE_TUNED, POOLER, head_of
from bert_cli.base.log import warn_once_or_fail

_ENCODER = "bert/"
# Regular expression for names -> the reason that no output depends on these weights.
DROPPED = {
    r"(?:.*\.)?(?:position_ids|token_type_ids)": "a list of numbers, which PyTorch stores",
    r"(?:cls\.predictions\.decoder|vocab_projector|generator_lm_head)\.(?:weight|bias)": (
        "a copy of the word embeddings or the output bias; a masked LM compares them"
    ),
    r"(?:.*\.)?(?:loss_fct|loss_fn|criterion|loss)\.\w+": "weights of classes in a loss, for training",
    r"(?:save_counter|global_step|.*optimizer.*|.*learning_rate.*)": "state of an optimizer, for training",
    r"(?:module/)?(?:cls/)?predictions/.+|(?:electra|generator|\w+_predictions)/.+": (
        "a pre-training head, or the other network of ELECTRA's checkpoint"
    ),
}


class Leftover(NamedTuple):
    """A group of weights that change outputs.

    Attributes:
        pattern: regular expression for their names.
        title: description for messages.
        remedy: advice for messages, or "".
    """

    pattern: str
    title: str
    remedy: str = ""


_MERGE = "merge it with peft's merge_and_unload, or give the directory with adapter_config.json"
# Weights in or between the layers. Every output depends on them.
OF_ENCODER = (
    Leftover(r".*crossattention\..+", "attention to another encoder, of a decoder"),
    Leftover(r".*distance_embedding\..+", "relative positions"),
    Leftover(r".*(?:rotary|inv_freq|alibi|slopes).*", "other positions than Google's BERT"),
    Leftover(r".*lora_(?:A|B|embedding|magnitude).*", "a LoRA adapter", _MERGE),
    Leftover(r".*(?:\.adapters?\.|adapter_fusion|prefix_tuning|prompt_(?:embeddings|encoder)|ia3_l).*", "an adapter"),
    Leftover(
        r".*\.(?:SCB|weight_format|quant_state.*|absmax|quant_map|nested_\w+|qweight|qzeros|scales|g_idx|weight_scale|"
        r"input_scale|weight_packed)",
        "quantized weights", "download the model in float32, float16 or bfloat16",
    ),
)  # fmt: skip
# Weights between the encoder and the logits of a trained head.
OF_HEAD = (
    Leftover(r"(?:.*[./])?(?:\w*crf\w*[./].+|(?:start_|end_)?transitions)", "a CRF, which decides the tags"),
    Leftover(r"(?:.*[./])?\w*(?:lstm|gru|rnn)\w*[./].+", "a recurrent layer before the head"),
    Leftover(r"(?:.*\.)?(?:classifier|qa_outputs)\.(?!weight$|bias$).+", "a head with more than one layer"),
)
# Weights that may be a pooler of another name.
_POOLER_NAMES = re.compile(r".*pool.*", re.IGNORECASE)
_TOWER = re.compile(r"([\w.]+?)\.(?:embeddings\.word_embeddings\.|(?:encoder|transformer)\.layer\.\d+\.).+")


def is_of_bert(name: str) -> bool:
    """Return whether a variable with Google's name is part of a BERT or of a head."""
    return name.startswith(_ENCODER) or head_of(name) is not None


def _matching(names: Collection[str], pattern: str) -> list[str]:
    return [name for name in names if re.fullmatch(pattern, name)]


def _refuse(source: str, names: Collection[str], groups: Sequence[Leftover], advice: str) -> None:
    for group in groups:
        if matching_names := _matching(names, group.pattern):
            endings = "; ".join(filter(None, [group.remedy, advice]))
            raise InputError(
                f"{source}: has {group.title} ({list_some(matching_names, 2)}), which is not part of Google's BERT and "
                f"cannot be computed here{f'; {endings}' if endings else ''}"
            )


def refuse_of_encoder(source: str, shapes: Collection[str], unused: Collection[str]) -> None:
    """Raise InputError if the encoder's outputs depend on unused weights.

    Args:
        source: the checkpoint's description.
        shapes: variables of the model, by Google's name.
        unused: stored names of weights that a BERT does not have.
    """
    if any(name.startswith(_ENCODER) for name in shapes):
        _refuse(source, unused, OF_ENCODER, "")


def refuse_of_head(source: str, variables: Collection[str], unused: Collection[str]) -> None:
    """Raise InputError if the outputs of a trained head depend on unused weights.

    Args:
        source: the checkpoint's description.
        variables: loaded variables by Google's name.
        unused: stored names of weights that a BERT does not have.
    """
    heads = {head_of(name) for name in variables}
    if heads & set(FINE_TUNED):
        _refuse(source, unused, OF_HEAD, "bert-convert --head=encoder leaves the encoder, which can be trained again")


def pooler_advice(missing: Collection[str], unused: Collection[str]) -> str:
    """Return the end of a message about a missing pooler: weights that may be it, or ""."""
    if not any(name.startswith(POOLER) for name in missing):
        return ""
    candidates = [name for name in unused if _POOLER_NAMES.fullmatch(name)]
    return f"; it has {list_some(candidates, 2)}, which may be a pooler of another form" if candidates else ""


def report_unused(source: str, unused: Collection[str], strict: bool = False) -> None:
    """Log once which weights are not used, unless they are known to have no effect.

    Args:
        source: the checkpoint's description.
        unused: stored names of weights that a BERT does not have.
        strict: whether such weights are an error.

    Raises:
        InputError: with `strict`.
    """
    names = [name for name in unused if not any(re.fullmatch(pattern, name) for pattern in DROPPED)]
    groups = [(group.title, _matching(names, group.pattern)) for group in (*OF_ENCODER, *OF_HEAD)]
    towers = sorted({match[1] for name in names if (match := _TOWER.fullmatch(name))})
    if towers:
        groups.append((f"another encoder ({list_names(towers)})", [name for name in names if _TOWER.fullmatch(name)]))
    groups.append(("a pooler of another form", [name for name in names if _POOLER_NAMES.fullmatch(name)]))
    for title, group_names in groups:
        if left := [name for name in group_names if name in names]:
            warn_once_or_fail(f"{source}: not used: {title} ({list_some(left, 2)})", strict)
            names = [name for name in names if name not in left]
    if names:
        warn_once_or_fail(f"{source}: not known here, not used: {list_some(sorted(names), 5)}", strict)
