"""Pre-train a BERT with masked words and next sentences, and evaluate it, as Google's run_pretraining.py does.

    bert-pretrain --input_file=corpus.txt --vocab_file=vocab.txt --bert_config_file=bert_config.json \\
      --output_dir=pretrained --do_train --do_eval --num_train_steps=1000 --num_warmup_steps=100 --learning_rate=1e-4

trains on plain text (a sentence a line, a blank line between documents) with masks and pairs drawn anew in each pass, or
on TFRecord files of bert-create-pretraining-data; which of both it is, the files tell. It writes into output_dir:
model.ckpt-N (Google's variable names), eval_results.txt, and vocab.txt, bert_config.json and flags.txt, so that
`bert-classify --init_checkpoint=pretrained` and `bert-fill-mask --init_checkpoint=pretrained` need nothing else.
"""

import contextlib
import dataclasses
import logging
import os
import time

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import EVAL_RESULTS, FLAGS, STANDARD
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.masking import make_masking
from bert_cli.features.packing import check_max_seq_length
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.outputs.pretraining import pretraining_metrics
from bert_cli.runs import folder as run_folder
from bert_cli.runs import sources
from bert_cli.runs.pretraining_data import RecordInput, TextInput, find_files
from bert_cli.settings.flags import (
    CommandFlags,
    define_device_flags,
    define_gelu_flag,
    define_saving_flags,
    read_flags,
    remembered_flags,
    run_command,
    write_flags,
)
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import Vocabulary, read_vocabulary
from bert_cli.training.host import prepare_host
from bert_cli.weights.path import find_checkpoint, step_number

LOG = logging.getLogger("bert_cli")
# What a run that only evaluates takes from the flags.txt of the training run, unless it is given.
_REMEMBERED = (
    "max_seq_length", "max_predictions_per_seq", "masked_lm_prob", "do_whole_word_mask", "short_seq_prob", "no_nsp",
    "random_seed", "eval_share", "gelu",
)  # fmt: skip
# Settings that change the result of training; the last ones only where it is on text. num_train_steps is not among
# them: a run may be made longer.
_DECISIVE = (
    "max_seq_length", "max_predictions_per_seq", "train_batch_size", "learning_rate", "num_warmup_steps", "random_seed",
    "optimizer", "no_nsp",
)  # fmt: skip
_DECISIVE_FOR_TEXT = ("masked_lm_prob", "do_whole_word_mask", "short_seq_prob", "eval_share")
_PATHS = ("output_dir", "vocab_file", "bert_config_file", "init_checkpoint")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-pretrain; see define_flags for their meaning."""

    input_file: str
    output_dir: str
    eval_file: str | None = None
    eval_share: float = 0.05
    bert_config_file: str | None = None
    init_checkpoint: str | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    masked_lm_prob: float = 0.15
    do_whole_word_mask: bool = False
    short_seq_prob: float = 0.1
    no_nsp: bool = False
    do_train: bool = False
    do_eval: bool = False
    train_batch_size: int = 32
    eval_batch_size: int = 8
    learning_rate: float = 5e-5
    optimizer: str = "adamw"
    num_train_steps: int = 100000
    num_warmup_steps: int = 10000
    max_eval_steps: int = 100
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 5
    gelu: str = "auto"
    random_seed: int = 12345
    log_steps: int = 100
    overwrite_output_dir: bool = False
    distribution_strategy: str = "auto"
    precision: str = "auto"
    use_tpu: bool = False
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None


def define_flags(flags: CommandFlags) -> None:
    flags.section("Data")
    flags.string(
        "input_file",
        None,
        "TFRecord files, or text, a sentence a line: names or patterns with commas between, - for stdin",
    )
    flags.string("eval_file", None, "the same for --do_eval; default: held-out documents of the text, or --input_file")
    flags.float("eval_share", 0.05, "share of a text's documents held out for evaluation", lower=0.0, upper=0.9)
    flags.integer("max_seq_length", 128, "longest sequence in tokens; for TFRecords, what they were made with")
    flags.integer("max_predictions_per_seq", 20, "most masked tokens in a sequence; for TFRecords, as made", lower=1)
    flags.boolean("no_nsp", False, "leave next-sentence prediction out; from text, sequences are then single texts")
    flags.section("From text")
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint, or the built-in one")
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; false for a cased model")
    flags.float("masked_lm_prob", 0.15, "share of the tokens that is masked")
    flags.boolean("do_whole_word_mask", False, "mask all pieces of a word or none")
    flags.float("short_seq_prob", 0.1, "share of the documents made into shorter sequences", lower=0.0, upper=1.0)
    flags.section("Model")
    flags.string("bert_config_file", None, "bert_config.json; default: beside the checkpoint, or the built-in one")
    flags.string(
        "init_checkpoint", None, "weights to start from: a TF1 checkpoint, a Hugging Face folder, an output_dir"
    )
    define_gelu_flag(flags)
    flags.section("What to do")
    flags.boolean("do_train", False, "train")
    flags.boolean("do_eval", False, "evaluate")
    flags.string("output_dir", None, "folder for checkpoints and results")
    flags.boolean("overwrite_output_dir", False, "start anew where output_dir holds another run")
    flags.section("Training")
    flags.integer("train_batch_size", 32, "sequences in a training batch, over all devices", lower=1)
    flags.integer("eval_batch_size", 8, "sequences in a batch of the evaluation", lower=1)
    flags.integer("max_eval_steps", 100, "most batches that are evaluated; 0 for all, each sequence once", lower=0)
    flags.float("learning_rate", 5e-5, "peak learning rate", lower=0.0)
    flags.enum("optimizer", "adamw", ("adamw", "lamb"), "adamw: Google's; lamb: for large batches")
    flags.integer("num_train_steps", 100000, "training steps", lower=1)
    flags.integer("num_warmup_steps", 10000, "steps in which the learning rate rises", lower=0)
    flags.integer("random_seed", 12345, "seed of the instances, shuffling, dropout and new weights", lower=0)
    define_saving_flags(flags)
    define_device_flags(flags)


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given, and remembered flags are filled in."""
    values = {field.name: values[field.name] for field in dataclasses.fields(Settings)}
    if not (values["do_train"] or values["do_eval"]):
        raise InputError("nothing to do: give at least one of --do_train, --do_eval")
    for name in ("input_file", "output_dir"):
        if name not in given and not (name == "input_file" and values["eval_file"] and not values["do_train"]):
            raise InputError(f"--{name} is needed; --help describes it")
    if not values["do_train"]:
        checkpoint = sources.trained_checkpoint(values["init_checkpoint"], values["output_dir"])
        names = [name for name in _REMEMBERED if name not in given]
        values |= remembered_flags(os.path.join(checkpoint.folder, FLAGS), define_flags, names)
    check_max_seq_length(values["max_seq_length"], pairs=not values["no_nsp"])
    if not 0 < values["masked_lm_prob"] <= 1:
        raise InputError(f"--masked_lm_prob={values['masked_lm_prob']}: a number above 0 and up to 1 is needed")
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    return Settings(**values)


@dataclasses.dataclass(frozen=True)
class Model:
    """What is known of the model before TensorFlow is there; vocabulary and tokenizer are None for TFRecords without."""

    sources: sources.ModelSources
    config: object
    vocabulary: Vocabulary | None
    do_lower_case: bool | None

    def open_input(self, found: tuple[list[str], bool], settings: Settings, share: float) -> RecordInput | TextInput:
        """The data that --input_file or --eval_file names; `found` is what find_files says of it."""
        paths, are_records = found
        if are_records:
            return RecordInput(paths, settings, self.config.vocab_size)
        masking = make_masking(
            self.vocabulary.ids, settings.max_predictions_per_seq, settings.masked_lm_prob, settings.do_whole_word_mask
        )
        sampling = Sampling(settings.max_seq_length, settings.short_seq_prob, masking)
        return TextInput(paths, FullTokenizer(self.vocabulary, self.do_lower_case), sampling, settings, share)


def find_model(settings: Settings, checkpoint, needs_vocab: bool) -> Model:
    """Vocabulary, config and casing, checked against each other."""
    found = sources.find_sources(settings.vocab_file, settings.bert_config_file, checkpoint, needs_vocab)
    vocabulary = read_vocabulary(found.vocab_file) if found.vocab_file else None
    config = sources.read_bert_config(found, settings.gelu, vocabulary.size if vocabulary else None)
    sources.check_sizes(config, vocabulary, settings.max_seq_length, found)
    casing = settings.do_lower_case
    if vocabulary and casing is None:
        casing = sources.find_casing(None, found)
    if vocabulary:
        sources.check_casing(casing, vocabulary, checkpoint)
    else:
        LOG.info("no --vocab_file: it is not needed here, but later commands will ask for it")
    return Model(found, config, vocabulary, casing)


def training_manifest(settings: Settings, model: Model, digest: str, is_text: bool) -> dict:
    """All that decides the result of training: a run with another manifest is another run."""
    names = _DECISIVE + (_DECISIVE_FOR_TEXT if is_text else ())
    decided = {name: getattr(settings, name) for name in names} | {"training_data": digest}
    if is_text:
        decided["do_lower_case"] = model.do_lower_case
    return decided | run_folder.model_manifest(model.config, model.sources.vocab_file, model.sources.checkpoint)


def _absolute_patterns(patterns: str | None) -> str | None:
    if patterns is None:
        return None
    return ",".join(part if part == STANDARD else files.absolute(part) for part in patterns.split(","))


def flags_to_save(settings: Settings, model: Model) -> dict:
    """Flags that repeat the run from any working directory."""
    values = dataclasses.asdict(settings) | {"do_lower_case": model.do_lower_case, "overwrite_output_dir": None}
    values |= {name: files.absolute(values[name]) for name in _PATHS}
    return values | {name: _absolute_patterns(values[name]) for name in ("input_file", "eval_file")}


def run(settings: Settings) -> dict:
    """Do what the settings say; returns the report that is also written to run_report.json."""
    began, folder = time.monotonic(), settings.output_dir
    files.check_can_write(folder, "output_dir")
    checkpoint = find_checkpoint(settings.init_checkpoint) if settings.init_checkpoint else None
    if not settings.do_train:
        checkpoint = sources.trained_checkpoint(settings.init_checkpoint, folder)
    flags = [name for name in ("input_file", "eval_file") if getattr(settings, name)]
    found = {name: find_files(getattr(settings, name), name) for name in flags}
    model = find_model(settings, checkpoint, needs_vocab=not all(are_records for _, are_records in found.values()))
    with contextlib.ExitStack() as stack:
        train, state = None, None
        if settings.do_train:
            share = 0.0 if settings.eval_file else settings.eval_share
            train = stack.enter_context(model.open_input(found["input_file"], settings, share))
            manifest = training_manifest(settings, model, train.digest, isinstance(train, TextInput))
            state = run_folder.find_state(folder, manifest, settings.overwrite_output_dir, checkpoint)
        held_out = train
        if settings.do_eval and (settings.eval_file or not train):
            held_out = stack.enter_context(open_evaluation(settings, model, found))
        if not train:
            run_folder.check_results(folder, (EVAL_RESULTS,))

        # From here on TensorFlow is needed, which takes seconds: what can be wrong with flags and data has been said.
        prepare_host()
        from bert_cli.runs.pretraining import PretrainingSession

        session = PretrainingSession(model.config, settings)
        report = {"precision": session.precision}
        steps = settings.num_train_steps
        if not train or (state and step_number(state) >= steps):
            if train:
                LOG.info("%s: training is already finished (%d steps)", folder, step_number(state))
            report |= {"global_step": session.load_trained(find_checkpoint(state) if state else checkpoint)}
            files.make_directory(folder)
        else:
            session.load_initial(checkpoint, model.sources.is_builtin, state)
            saved = flags_to_save(settings, model)
            if session.is_chief and state:
                run_folder.remove_leftovers(folder)
                write_flags(os.path.join(folder, FLAGS), saved)  # num_train_steps may be another one
            elif session.is_chief:
                run_folder.begin(folder, manifest, None, model.config, model.sources.vocab_file, saved)
            report |= session.train(lambda at: train.stream(settings.train_batch_size, at), state, folder)
        if settings.do_eval:
            report |= evaluate(session, held_out, settings, report["global_step"])
        report["total_seconds"] = round(time.monotonic() - began, 3)
        if session.is_chief:
            run_folder.write_report(folder, report, (EVAL_RESULTS,))
    return report


def open_evaluation(settings: Settings, model: Model, found: dict) -> RecordInput | TextInput:
    """What --do_eval is about, where it is not the held-out part of what is trained on in the same run.

    The text that the model was trained on gives its held-out documents, any other one all of its documents.
    """
    if settings.eval_file:
        return model.open_input(found["eval_file"], settings, 0.0)
    trained_on = read_flags(os.path.join(settings.output_dir, FLAGS))
    same = trained_on.get("input_file") == _absolute_patterns(settings.input_file) and "eval_file" not in trained_on
    return model.open_input(found["input_file"], settings, settings.eval_share if same else 0.0)


def evaluate(session, data: RecordInput | TextInput, settings: Settings, global_step: int) -> dict:
    """Write eval_results.txt and log it; returns the same figures."""
    most = settings.max_eval_steps * settings.eval_batch_size or None
    count, is_cut, chunks = data.evaluation(most)
    if is_cut:
        LOG.info("evaluating the first %d sequences (--max_eval_steps=%d; 0 for all)", count, settings.max_eval_steps)
    sums = session.evaluate(chunks, count)
    rate = sums.pop("examples_per_second")
    metrics = pretraining_metrics(sums, settings.eval_batch_size, not settings.no_nsp) | {"global_step": global_step}
    if session.is_chief:
        write_eval_results(os.path.join(settings.output_dir, EVAL_RESULTS), metrics)
    for line in format_eval_results(metrics):
        LOG.info(line)
    metrics = {name: value if isinstance(value, int) else float(value) for name, value in metrics.items()}
    return {"eval_examples_per_second": rate, "eval": metrics}


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-pretrain", __doc__, define_flags, lambda values, given: run(settings_from_flags(values, given)), arguments
    )


if __name__ == "__main__":
    raise SystemExit(main())
