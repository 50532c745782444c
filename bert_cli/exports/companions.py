"""What stands beside the weights that bert-convert reads and writes: vocabulary, casing, labels, config."""

import dataclasses
import logging
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MULTIPLE_CHOICE, POOLED, TAGGER
from bert_cli.base.names import CONFIG, FLAGS, HUGGING_FACE_CONFIG, LABELS, TOKENIZER, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.base.writing import atomic_write, copy_file, write_json, write_lines
from bert_cli.exports.target import Target
from bert_cli.model.config import BertConfig, write_config
from bert_cli.runs.loading import sources
from bert_cli.runs.loading.checks import check_casing
from bert_cli.runs.loading.trained_labels import stated_problem_type
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenizer_json import read_tokenizer_json, special_tokens_map, tokenizer_config, tokenizer_json
from bert_cli.text.vocabulary import PAD, PAD_ID, Vocabulary, read_vocabulary
from bert_cli.weights.path import HUGGING_FACE

LOG = logging.getLogger("bert_cli")
_OUTSIDE = "O"  # the tag of a word outside all entities: labels with it are tags of tokens


@dataclasses.dataclass(frozen=True)
class Companions:
    """What stands beside the weights: `vocabulary` with the bytes of its vocab.txt, both None where there is none."""

    vocabulary: Vocabulary | None
    vocab_bytes: bytes | None
    do_lower_case: bool
    labels: tuple[str, ...] | None
    kind: str | None  # of the classifier: CLASSIFIER, TAGGER or MULTIPLE_CHOICE, None where nothing says
    problem_type: str | None  # of a classifier of texts, see runs.loading.trained_labels
    flags_file: str | None
    last_layer_only: bool  # False where a tagger reads other layers
    head_input: str = POOLED  # of a classifier of texts, see base.head_types


def read_companions(flags: ModelFiles, model: sources.StoredModel, config: BertConfig) -> Companions:
    """Read them; flags have --do_lower_case and --strict. InputError for a damaged file."""
    checkpoint = model.checkpoint
    do_lower_case, stated = flags.do_lower_case, sources.stated_casing(model)
    vocabulary = vocab_bytes = None
    tokenizer = checkpoint.companion(TOKENIZER) if checkpoint.kind == HUGGING_FACE else None
    if model.vocab_file:
        vocabulary, vocab_bytes = read_vocabulary(model.vocab_file), files.read_bytes(model.vocab_file)
    elif tokenizer:
        tokens, lower = read_tokenizer_json(tokenizer)
        stated = stated if lower is None else (tokenizer, lower)
        do_lower_case = lower if do_lower_case is None else do_lower_case
        ids = {token: number for number, token in enumerate(tokens)}
        vocabulary = Vocabulary(ids, tokens, len(tokens), tokenizer)
        vocab_bytes = "".join(f"{token}\n" for token in tokens).encode()
    do_lower_case = sources.find_casing(do_lower_case, model)
    if vocabulary:
        check_casing(do_lower_case, vocabulary, checkpoint, stated, flags.strict)
    labels, kind = sources.read_labels(checkpoint), None
    if checkpoint.kind == HUGGING_FACE:
        # Imports no TensorFlow, but safetensors, which only this case needs.
        from bert_cli.weights.hugging_face_writing import read_hugging_face_labels

        kind = read_hugging_face_labels(os.path.join(checkpoint.location, HUGGING_FACE_CONFIG))[1]
    saved = model.saved_flags
    if "tag_scheme" in saved or (kind is None and "task_name" not in saved and _OUTSIDE in (labels or ())):
        kind = TAGGER
    problem_type = stated_problem_type(model)
    if problem_type == MULTIPLE_CHOICE:
        kind = MULTIPLE_CHOICE
    layers = saved.get("layers", "-1")
    flags_file = os.path.join(checkpoint.folder, FLAGS) if saved else None
    last_only = layers in ("-1", str(config.num_hidden_layers - 1))
    head_input = saved.get("head_input", POOLED)
    return Companions(
        vocabulary, vocab_bytes, do_lower_case, labels, kind, problem_type, flags_file, last_only, head_input
    )


def check_words(vocabulary: Vocabulary | None, config: BertConfig, resize_vocab: int | None, target: Target) -> None:
    """Warn where the vocabulary is not the model's; InputError where --resize_vocab would cut its words off."""
    size = resize_vocab or config.vocab_size
    if vocabulary is None:
        more = ", so no tokenizer is written" if target.format == "hf" else ""
        LOG.warning("warning: no vocab.txt beside the checkpoint%s; --vocab_file gives one", more)
    elif resize_vocab and size < vocabulary.size:
        raise InputError(
            f"--resize_vocab={size}: {vocabulary.path} has {vocabulary.size} entries; give at least as many"
        )
    elif vocabulary.size > size:
        LOG.warning(
            "warning: %s has %d entries, but the model knows %d words: ids from %d on will fail; is it the model's own? "
            "--resize_vocab=%d adds rows", vocabulary.path, vocabulary.size, size, size, vocabulary.size,
        )  # fmt: skip
    elif vocabulary.size < size:
        LOG.warning(
            "warning: %s has %d entries, fewer than the model's %d words; is it the model's own?",
            vocabulary.path, vocabulary.size, size,
        )  # fmt: skip


def check_labels(labels: tuple[str, ...] | None, count: int) -> None:
    """InputError where the names cannot be those of `count` outputs."""
    if labels is None:
        return
    if len(labels) != count:
        raise InputError(
            f"labels.txt or config.json names {len(labels)} labels, but the classifier has {count} outputs"
        )
    for number, label in enumerate(labels):
        if not label or re.search(r"[\r\n]", label) or label in labels[:number]:
            raise InputError(f"label {label!r} (number {number}): names must differ and be one line each")


def write_companions(
    staged: str,
    target: Target,
    config: BertConfig,
    companions: Companions,
    kind: str | None,
    labels: tuple[str, ...] | None,
    dtype: str,
) -> list[str]:
    """Write all but the weights into `staged`; returns the names. A module's are written with its weights."""
    if target.format == "hub":
        extras = [os.path.join("assets.extra", name) for name in (CONFIG, TOKENIZER_CONFIG)]
        return extras + ([os.path.join("assets", VOCABULARY)] if companions.vocabulary else [])
    vocabulary, path = companions.vocabulary, lambda name: os.path.join(staged, name)
    if target.format == "hf":
        from bert_cli.weights.hugging_face_writing import hugging_face_config

        assert kind is not None, "conversion_plan finds a kind for every Hugging Face folder"
        pad = vocabulary.ids.get(PAD, PAD_ID) if vocabulary else PAD_ID
        values = hugging_face_config(config, kind, labels, pad, dtype, companions.problem_type)
        write_json(path(HUGGING_FACE_CONFIG), values)
        if vocabulary:
            write_json(path(TOKENIZER), tokenizer_json(vocabulary, companions.do_lower_case))
            write_json(path("special_tokens_map.json"), special_tokens_map(vocabulary))
    else:
        if config.activation.startswith("gelu"):  # the only name that Google's scripts know
            config = dataclasses.replace(config, hidden_act="gelu", gelu=config.activation.removeprefix("gelu_"))
        write_config(path(CONFIG), config)
        if companions.flags_file:
            copy_file(companions.flags_file, path(FLAGS))
    if vocabulary:
        with atomic_write(path(VOCABULARY), "wb") as file:
            file.write(companions.vocab_bytes)
        if target.format == "hf" or not companions.do_lower_case:
            length = config.max_position_embeddings
            values = tokenizer_config(companions.do_lower_case, length, vocabulary)
            write_json(path(TOKENIZER_CONFIG), values)
    if companions.labels is not None and labels is not None:
        write_lines(path(LABELS), labels)
    return files.list_directory(staged)
