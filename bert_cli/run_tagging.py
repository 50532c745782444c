"""Tag words, such as those of names, with a BERT: fine-tune it, evaluate it, and predict.

    bert-tag --data_dir=data/tagging --output_dir=tagger --do_train --do_eval --do_predict

trains on train.txt (a word and its tag a line, a blank line between sentences; B-/I-, IOB1, BIOES or bare types) or
train.jsonl, scores dev.txt by entities as conlleval does, and tags test.txt. It writes into output_dir: model.ckpt-N
(Google's variable names), eval_results.txt, test_predictions.txt (the test file with one more column), and what a later
run needs, so that then

    bert-tag --output_dir=tagger --text "Anna left Lund on Monday."

prints each word with its tag, and the entities with their places in the text as JSON.
"""

import dataclasses
import logging
import os
import time

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import EVAL_RESULTS, FLAGS, STANDARD, TEST_PREDICTIONS, TEST_PREDICTIONS_JSON
from bert_cli.examples.tag_schemes import PREFIXES
from bert_cli.features.stream import check_steps
from bert_cli.outputs.tagging import DECODINGS
from bert_cli.runs import folder as run_folder
from bert_cli.runs import sources
from bert_cli.runs.tagging_data import TaggingData, find_layers, parse_layers, read_data, read_plain_text
from bert_cli.runs.tagging_results import evaluate, predict, write_plain_text
from bert_cli.settings.flags import (
    CommandFlags,
    check_hub_flags,
    define_device_flags,
    define_gelu_flag,
    define_hub_flags,
    define_saving_flags,
    remembered_flags,
    run_command,
)
from bert_cli.training.host import prepare_host

LOG = logging.getLogger("bert_cli")
_RESULTS = (TEST_PREDICTIONS, TEST_PREDICTIONS_JSON)
# What a run that does not train takes from the flags.txt of the training run, unless it is given.
REMEMBERED = (
    "max_seq_length", "doc_stride", "word_column", "tag_column", "tag_scheme", "label_all_pieces", "layers", "gelu",
)  # fmt: skip
_REMEMBERED_FILES = ("data_dir", "dev_file", "test_file")
# Settings that change the result of training.
_DECISIVE = (
    "max_seq_length", "doc_stride", "label_all_pieces", "freeze_encoder", "layers", "train_batch_size", "learning_rate",
    "num_train_epochs", "warmup_proportion", "bias_correction", "random_seed",
)  # fmt: skip
_PATHS = (
    "data_dir", "train_file", "dev_file", "test_file", "output_dir", "vocab_file", "bert_config_file",
    "init_checkpoint", "hub_module", "hub_preprocess",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-tag; see define_flags for their meaning."""

    data_dir: str = "data/tagging"
    train_file: str | None = None
    dev_file: str | None = None
    test_file: str | None = None
    test_tags: str = "auto"
    word_column: int = 0
    tag_column: int = -1
    tag_scheme: str = "auto"
    text: str | None = None
    input_file: str | None = None
    output_file: str = STANDARD
    output_dir: str = "bert_output"
    vocab_file: str | None = None
    bert_config_file: str | None = None
    init_checkpoint: str | None = None
    hub_module: str | None = None
    hub_preprocess: str | None = None
    hub_trainable: bool = True
    do_lower_case: bool | None = None
    gelu: str = "auto"
    max_seq_length: int = 128
    doc_stride: int = 64
    label_all_pieces: bool = False
    freeze_encoder: bool = False
    layers: tuple[int, ...] | None = None
    decoding: str = "argmax"
    do_train: bool = False
    do_eval: bool = False
    do_predict: bool = False
    train_batch_size: int = 32
    eval_batch_size: int = 8
    predict_batch_size: int = 8
    learning_rate: float = 5e-5
    num_train_epochs: float = 3.0
    warmup_proportion: float = 0.1
    bias_correction: bool = True
    random_seed: int = 12345
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 5
    log_steps: int = 100
    overwrite_output_dir: bool = False
    distribution_strategy: str = "auto"
    precision: str = "auto"
    use_tpu: bool = False
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None

    @property
    def for_text(self) -> bool:
        """True for a run that tags plain text, and writes nothing into output_dir."""
        return bool(self.text or self.input_file)


def define_flags(flags: CommandFlags) -> None:
    _define_data_flags(flags)
    flags.section("Model")
    flags.string(
        "init_checkpoint", None, "a TF1 checkpoint (prefix, file or folder), a Hugging Face folder, or an output_dir"
    )
    define_hub_flags(flags)
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint, or the built-in one")
    flags.string("bert_config_file", None, "bert_config.json; default: beside the checkpoint, or the built-in one")
    define_gelu_flag(flags)
    flags.boolean("freeze_encoder", False, "train the classifier alone, on what the encoder, left as it is, says")
    flags.string(
        "layers", None, "encoder layers the classifier reads, side by side; default: -1, the last one, and with "
        "--freeze_encoder -1,-2,-3,-4",
    )  # fmt: skip
    flags.section("What to do")
    flags.boolean("do_train", False, "train on the train file")
    flags.boolean("do_eval", False, "evaluate on the dev file")
    flags.boolean("do_predict", False, "tag the test file, and score it where it has tags")
    flags.string("text", None, "tag this text with a trained model and print the result")
    flags.string("input_file", None, "tag a file of plain text, line by line, with a trained model; the result is JSON")
    flags.string("output_file", STANDARD, "file for the JSON lines of --input_file, - for standard output")
    flags.enum(
        "decoding", "argmax", DECODINGS, "argmax: the most probable tag of each word; viterbi: the most probable sequence "
        "in which no I- follows another type",
    )  # fmt: skip
    flags.string("output_dir", "bert_output", "folder for checkpoints and results")
    flags.boolean("overwrite_output_dir", False, "start anew where output_dir holds another run")
    flags.section("Training")
    flags.integer("train_batch_size", 32, "windows in a training batch, over all devices", lower=1)
    flags.integer("eval_batch_size", 8, "windows in a batch of the evaluation", lower=1)
    flags.integer("predict_batch_size", 8, "windows in a batch of the prediction", lower=1)
    flags.float("learning_rate", 5e-5, "peak learning rate of Adam", lower=0.0)
    flags.float("num_train_epochs", 3.0, "passes over the training data; fractions are used", lower=0.0)
    flags.float("warmup_proportion", 0.1, "share of the steps in which the learning rate rises", lower=0.0, upper=1.0)
    flags.boolean(
        "bias_correction",
        True,
        "divide Adam's moments by 1 - beta^t, as other libraries do; --nobias_correction: as in Google's scripts",
    )
    flags.integer("random_seed", 12345, "seed of shuffling, dropout and new weights", lower=0)
    define_saving_flags(flags)
    define_device_flags(flags)


def _define_data_flags(flags: CommandFlags) -> None:
    flags.section("Data")
    flags.string("data_dir", "data/tagging", "folder with train, dev and test, each .txt (columns) or .jsonl")
    flags.string("train_file", None, "the training file, instead of that of data_dir")
    flags.string("dev_file", None, "the file to evaluate, instead of that of data_dir")
    flags.string("test_file", None, "the file to predict, instead of that of data_dir")
    flags.integer("word_column", 0, "column of the words, from 0; -1 is the last")
    flags.integer("tag_column", -1, "column of the tags, from 0; -1 is the last")
    flags.enum(
        "tag_scheme", "auto", ("auto", *PREFIXES), "how entities are written as tags; auto: what the tags look like"
    )
    flags.enum(
        "test_tags",
        "auto",
        ("auto", "yes", "no"),
        "whether the test file has tags; auto: unless it has one column alone",
    )
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; false for a cased model")
    flags.integer("max_seq_length", 128, "longest input in tokens; longer sentences are cut into windows", lower=1)
    flags.integer("doc_stride", None, "pieces from one window to the next; default: half of max_seq_length", lower=1)
    flags.boolean(
        "label_all_pieces", False, "train on all pieces of a word, not on its first alone; predictions read the first"
    )


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given, and remembered flags are filled in."""
    values = {field.name: values[field.name] for field in dataclasses.fields(Settings)}
    asked = [name for name in ("do_train", "do_eval", "do_predict", "text", "input_file") if values[name]]
    if not asked:
        raise InputError("nothing to do: give --do_train, --do_eval or --do_predict, or --text, or --input_file")
    if {"text", "input_file"} & set(asked) and len(asked) > 1:
        raise InputError(f"--{asked[-1]} goes with no --{asked[0]}: give one command for each")
    if "output_file" in given and not values["input_file"]:
        raise InputError("--output_file is for --input_file; --output_dir takes the results of --do_predict")
    check_hub_flags(values)
    values["freeze_encoder"] = values["freeze_encoder"] or not values["hub_trainable"]
    if not values["do_train"]:
        values |= _remembered(values, given)
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    values["doc_stride"] = values["doc_stride"] or max(1, values["max_seq_length"] // 2)
    if values["layers"] is not None:
        values["layers"] = parse_layers(values["layers"])
    return Settings(**values)


def _remembered(values: dict, given: frozenset[str]) -> dict:
    checkpoint = sources.trained_checkpoint(values["init_checkpoint"], values["output_dir"])
    names = [*REMEMBERED, *(() if "data_dir" in given else _REMEMBERED_FILES)]
    path = os.path.join(checkpoint.folder, FLAGS)
    return remembered_flags(path, define_flags, [name for name in names if name not in given])


def training_manifest(settings: Settings, data: TaggingData, model: sources.OpenedModel) -> dict:
    """All that decides the result of training: a run with another manifest is another run."""
    features = data.splits["train"].features
    sequences = features.sequences
    decided = {name: getattr(settings, name) for name in _DECISIVE}
    decided |= {
        "task_name": "tagging",
        "labels": list(data.labels),
        "tag_scheme": data.scheme,
        "do_lower_case": model.tokenizer.do_lower_case,
        "training_data": run_folder.digest(sequences.token_ids, sequences.offsets, features.label_ids),
        "train_examples": len(features),
    }
    return decided | run_folder.model_manifest(model.config, model.sources.vocab_file, model.sources.checkpoint)


def flags_to_save(settings: Settings, scheme: str, do_lower_case: bool) -> dict:
    """Flags that repeat a training run from any working directory; scheme and do_lower_case as they were found."""
    values = dataclasses.asdict(settings) | {"do_lower_case": do_lower_case, "tag_scheme": scheme}
    values |= {name: files.absolute(values[name]) for name in _PATHS}
    values |= {"layers": ",".join(map(str, settings.layers))}
    return values | dict.fromkeys(("overwrite_output_dir", "output_file"))


def run(settings: Settings) -> dict:
    """Do what the settings say; returns the report, which is also written to run_report.json unless text is tagged."""
    began, folder = time.monotonic(), settings.output_dir
    if settings.input_file and settings.output_file != STANDARD:
        files.check_output_files([settings.output_file], [settings.input_file])
    elif not settings.for_text:
        files.check_can_write(folder, "output_dir")
    checkpoint = sources.choose_checkpoint(settings)
    model = sources.open_model(settings, checkpoint, settings.max_seq_length, settings.hub_preprocess)
    layers = find_layers(settings.layers, settings.freeze_encoder, model.config)
    settings = dataclasses.replace(settings, layers=layers)
    data = (read_plain_text if settings.for_text else read_data)(settings, model.tokenizer, checkpoint)
    plan = None
    if settings.do_train:
        train = data.splits["train"].features
        steps = check_steps(len(train), settings.train_batch_size, settings.num_train_epochs)
        manifest = training_manifest(settings, data, model)
        state = run_folder.find_state(folder, manifest, settings.overwrite_output_dir, checkpoint, _RESULTS)
        saved = flags_to_save(settings, data.scheme, model.tokenizer.do_lower_case)
        plan = run_folder.TrainingPlan(train, steps, manifest, data.labels, saved, state, _RESULTS)
    results = (EVAL_RESULTS,) * settings.do_eval + _RESULTS * settings.do_predict
    if not settings.do_train and not settings.for_text:
        run_folder.check_results(folder, results)

    # From here on TensorFlow is needed, which takes seconds: what can be wrong with flags and data has been said.
    prepare_host()
    from bert_cli.runs.tagging import TaggingSession

    session = TaggingSession(model.config, len(data.labels), settings)
    report = {"labels": list(data.labels), "tag_scheme": data.scheme, "precision": session.precision}
    report |= run_folder.train_or_load(session, folder, model, plan)
    if settings.for_text:
        write_plain_text(session, data, settings)
        return report
    files.make_directory(folder)
    if settings.do_eval:
        report |= evaluate(session, data, settings, report["global_step"])
    if settings.do_predict:
        report |= predict(session, data, settings)
    report["total_seconds"] = round(time.monotonic() - began, 3)
    if session.is_chief:
        run_folder.write_report(folder, report, results)
    return report


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-tag", __doc__, define_flags, lambda values, given: run(settings_from_flags(values, given)), arguments
    )


if __name__ == "__main__":
    raise SystemExit(main())
