"""Convert a BERT with its heads between Google's TF1 checkpoints, Hugging Face folders, Keras .weights.h5 files, and modules
for tensorflow-hub, which hold the encoder alone.

    bert-convert --from=uncased_L-12_H-768_A-12/bert_model.ckpt --to=bert_hf --check

writes bert_hf/model.safetensors, config.json, vocab.txt and the tokenizer's files, which transformers loads without a missing
or unexpected key, and says that the outputs of both are equal. The same weights come back, bit for bit, with
--from=bert_hf --to=bert_google/bert_model.ckpt. Optimizer state is left behind.
"""

import dataclasses
import logging
import os

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import CONFIG, HUGGING_FACE_CONFIG
from bert_cli.exports.companions import Companions, check_labels, check_words, read_companions, write_companions
from bert_cli.exports.target import FORMATS, Target, check_free, find_target, publish, staging
from bert_cli.model.config import BertConfig, read_config
from bert_cli.runs import sources
from bert_cli.settings.flags import CommandFlags, define_gelu_flag, run_command
from bert_cli.training.host import prepare_host
from bert_cli.weights.hub_handle import is_url
from bert_cli.weights.kinds import CLASSIFIER, ENCODER, KINDS, POOLER, TAGGER
from bert_cli.weights.path import CheckpointPath, find_checkpoint

LOG = logging.getLogger("bert_cli")
_TITLES = {
    "tf1": "TF1 checkpoint",
    "hf": "Hugging Face folder",
    "h5": "Keras .weights.h5",
    "hub": "module for tensorflow-hub",
}
_MAX_DIFFERENCE = 1e-4  # a resized table may be multiplied in another order of sums
_GOOGLE_EPSILON = 1e-12


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-convert; see define_flags for their meaning. `source` and `target` are --from and --to."""

    source: str
    target: str
    to_format: str = "auto"
    head: str = "auto"
    vocab_file: str | None = None
    bert_config_file: str | None = None
    do_lower_case: bool | None = None
    gelu: str = "auto"
    float16: bool = False
    bfloat16: bool = False
    resize_vocab: int | None = None
    resize_positions: int | None = None
    random_seed: int = 12345
    check: bool = False
    overwrite: bool = False

    @property
    def dtype(self) -> str:
        return "float16" if self.float16 else "bfloat16" if self.bfloat16 else "float32"


def define_flags(flags: CommandFlags) -> None:
    flags.section("From and to")
    flags.string(
        "from", None, "a TF1 checkpoint (prefix, file or folder), a Hugging Face folder, a .weights.h5 file, or a module for "
        "tensorflow-hub (a folder, a .tar.gz, or a URL)"
    )  # fmt: skip
    flags.string("to", None, "NAME.ckpt for a TF1 checkpoint, NAME.weights.h5 for Keras, else a Hugging Face folder")
    flags.enum("to_format", "auto", ("auto", *FORMATS), "what to write into the folder --to; auto: hf")
    flags.boolean("overwrite", False, "replace files that stand under the names to be written")
    flags.section("Model")
    flags.enum(
        "head", "auto", ("auto", *KINDS), "what to keep on top of the encoder; auto: everything. tagger: output_weights "
        "is a classifier of tokens; auto takes it for one where labels.txt has the tag O"
    )  # fmt: skip
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint")
    flags.string("bert_config_file", None, "bert_config.json or config.json; default: beside the checkpoint")
    flags.boolean("do_lower_case", True, "whether text is lower-cased; default: as the files beside the checkpoint say")
    define_gelu_flag(flags)
    flags.section("Changes")
    flags.boolean("float16", False, "store float16 (Hugging Face folders only: the other formats hold float32)")
    flags.boolean("bfloat16", False, "store bfloat16 (Hugging Face folders only)")
    flags.integer("resize_vocab", None, "words of the new model; new ones start from random values", lower=1)
    flags.integer("resize_positions", None, "positions of the new model; new ones start from random values", lower=1)
    flags.integer("random_seed", 12345, "seed of new rows, and of the token ids of --check", lower=0)
    flags.section("What to do")
    flags.boolean("check", False, "run both models on the same token ids, and write nothing where they differ")


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given."""
    for name in ("from", "to"):
        if not values[name]:
            raise InputError(f"--{name} is needed: bert-convert --from=PATH --to=PATH")
    values = values | {"source": values["from"], "target": values["to"]}
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    if values["float16"] and values["bfloat16"]:
        raise InputError("--float16 and --bfloat16: give one of them")
    return Settings(**{field.name: values[field.name] for field in dataclasses.fields(Settings)})


def choose_kind(head: str, found: tuple[str, ...], companions: Companions, target: Target) -> str | None:
    """A key of KINDS; None where the target takes several heads side by side. InputError where it cannot."""
    if target.format == "hub":
        if head not in ("auto", ENCODER):
            raise InputError(f"--head={head}: a module for tensorflow-hub holds the encoder alone")
        return ENCODER
    if head != "auto":
        lacking = [name for name in KINDS[head].heads if name not in found]
        if lacking:
            raise InputError(
                f"--head={head}: the checkpoint has no {' and no '.join(lacking)}; it has {', '.join(found) or 'no head'}"
            )
        return head
    if found == (CLASSIFIER,):
        return TAGGER if companions.kind == TAGGER else CLASSIFIER
    kind = next((name for name, kind in KINDS.items() if kind.heads == found), None)
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


def find_source(path: str) -> CheckpointPath:
    """What --from names; an archive or a URL is a module for tensorflow-hub."""
    if path.endswith((".tar.gz", ".tgz")) or is_url(path):
        return sources.find_module(path, "from")
    return find_checkpoint(path, "from")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def run(settings: Settings) -> dict:
    """Do what the settings say; returns what was done: `converted`, `left_out`, `unused` names, `files`, `differences`."""
    checkpoint = find_source(settings.source)
    target = find_target(settings.target, settings.to_format)
    if settings.dtype != "float32" and target.format != "hf":
        raise InputError(
            f"--{settings.dtype}: a {_TITLES[target.format]} holds float32; this is for Hugging Face folders"
        )
    files.check_can_write(target.folder, "to")
    check_free(target, settings.overwrite)
    model = sources.find_model_files(settings, checkpoint)
    config = sources.read_bert_config(model, settings.gelu)
    companions = read_companions(settings.do_lower_case, model, config)
    check_words(companions.vocabulary, config, settings.resize_vocab, target)

    prepare_host()
    from bert_cli.exports import conversion
    from bert_cli.model.resizing import resize_embeddings
    from bert_cli.weights.hugging_face_writing import generic_labels

    reader = conversion.open_source(checkpoint)
    found = conversion.heads_in(reader)
    kind = choose_kind(settings.head, found, companions, target)
    heads = found if kind is None else KINDS[kind].heads
    loaded = conversion.load(reader, config, heads, of_tokens=kind == TAGGER)
    labels = companions.labels if CLASSIFIER in heads else None
    if CLASSIFIER in heads:
        count, width = loaded.classifier_shape
        check_labels(labels, count)
        if target.format == "hf" and (width != config.hidden_size or not companions.last_layer_only):
            raise InputError("this tagger reads other layers than the last one, which Hugging Face's class cannot")
        labels = labels or (generic_labels(count) if target.format == "hf" else None)
    tensors = dict(loaded.tensors)
    left_out = []
    if target.format == "hf" and not KINDS[kind].needs_pooler:
        left_out = [name for name in tensors if name.startswith(POOLER)]
        tensors = {name: values for name, values in tensors.items() if name not in left_out}
    elif "bert/pooler/dense/kernel" not in tensors:
        LOG.warning("warning: %s has no pooler, so none is written", reader.description)
    tensors, new_config = resize_embeddings(
        tensors, config, settings.resize_vocab, settings.resize_positions, settings.random_seed
    )
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s; heads: %s",
        reader.description, config.num_hidden_layers, config.hidden_size, config.vocab_size, config.activation,
        ", ".join(found) or "none",
    )  # fmt: skip
    named = f", {KINDS[kind].architecture}" if target.format == "hf" else ""
    LOG.info("converted to a %s%s: %d weights, %s", _TITLES[target.format], named, len(tensors), settings.dtype)
    if loaded.leftovers:
        LOG.info("dropped: %d variables that training left (adam_m, adam_v, global_step, …)", loaded.leftovers)
    if target.format == "hub" and found:
        LOG.info("dropped: %s: a module for tensorflow-hub holds the encoder alone", ", ".join(found))
    if left_out:
        LOG.info("dropped: %s, which %s does not have", _listed(left_out), KINDS[kind].architecture)
    if loaded.report.unused:
        LOG.info("unused: %s", _listed(loaded.report.unused))
    warn_of_google(config, target)
    with staging(target.folder) as staged:
        names = write_companions(staged, target, new_config, companions, kind, labels, settings.dtype)
        if target.format == "hub":
            vocab, lower = companions.vocab_bytes, companions.do_lower_case
            conversion.write_module(staged, target, tensors, new_config, vocab, lower)
        else:
            conversion.write(staged, target, tensors, new_config, loaded.model, kind, settings.dtype)
        differences = check(settings, loaded, staged, target, heads, kind) if settings.check else None
        at_home = os.path.realpath(target.folder) == os.path.realpath(checkpoint.folder)
        written = publish(staged, target, names, settings.overwrite, at_home)
    LOG.info("wrote into %s: %s", target.folder, ", ".join(written))
    return {
        "converted": sorted(tensors),
        "left_out": left_out,
        "unused": loaded.report.unused,
        "files": written,
        "differences": differences,
    }


def check(settings: Settings, loaded, staged: str, target: Target, heads: tuple[str, ...], kind) -> dict[str, float]:
    """Read what was written, compare the outputs, and log the largest difference of each; InputError where they differ."""
    from bert_cli.exports import conversion

    path = find_checkpoint(staged if target.format in ("hf", "hub") else os.path.join(staged, target.name), "to")
    config = read_config(path.companion(CONFIG, HUGGING_FACE_CONFIG))
    reader = conversion.open_source(path)
    converted = conversion.load(reader, config, heads, of_tokens=kind == TAGGER)
    differences = conversion.largest_differences(loaded, converted, settings.random_seed)
    each = ", ".join(f"{name} {value:.3g}" for name, value in differences.items())
    LOG.info("check: largest difference %.3g (%s)", max(differences.values()), each)
    if settings.dtype == "float32" and not max(differences.values()) <= _MAX_DIFFERENCE:
        raise InputError("the converted model gives other outputs than the original; nothing was written")
    return differences


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-convert",
        __doc__,
        define_flags,
        lambda values, given: run(settings_from_flags(values, given)),
        arguments,
        interrupted="nothing was converted",
    )


if __name__ == "__main__":
    raise SystemExit(main())
