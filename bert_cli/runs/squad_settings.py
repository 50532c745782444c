"""The flags of bert-squad, and the settings that they make."""

import dataclasses
import os

from bert_cli.base.errors import InputError
from bert_cli.base.names import FLAGS
from bert_cli.examples.squad import MULTIPLE_ANSWERS
from bert_cli.features.squad import check_lengths
from bert_cli.outputs.squad import AnswerRules, check_rules
from bert_cli.runs import sources
from bert_cli.settings.flags import (
    CommandFlags,
    check_hub_flags,
    define_device_flags,
    define_gelu_flag,
    define_hub_flags,
    define_saving_flags,
    remembered_flags,
)
from bert_cli.weights.path import CheckpointPath, find_checkpoint

# What a run that does not train takes from the flags.txt of the training run, unless it is given.
REMEMBERED = ("max_seq_length", "doc_stride", "max_query_length", "version_2_with_negative", "gelu")
_TASKS = ("do_train", "do_predict", "do_eval")  # may be given together
_ALONE = ("question", "input_file", "score_only")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-squad; see define_flags for their meaning."""

    train_file: str | None = None
    predict_file: str | None = None
    output_dir: str | None = None
    version_2_with_negative: bool = False
    multiple_answers: str | None = None
    max_seq_length: int = 384
    doc_stride: int = 128
    max_query_length: int = 64
    vocab_file: str | None = None
    bert_config_file: str | None = None
    init_checkpoint: str | None = None
    hub_module: str | None = None
    hub_preprocess: str | None = None
    hub_trainable: bool = True
    do_lower_case: bool | None = None
    gelu: str = "auto"
    do_train: bool = False
    do_predict: bool = False
    do_eval: bool = False
    overwrite_output_dir: bool = False
    question: str | None = None
    context: str | None = None
    context_file: str | None = None
    input_file: str | None = None
    output_file: str | None = None
    score_only: bool = False
    predictions_file: str | None = None
    null_odds_file: str | None = None
    n_best_size: int = 20
    max_answer_length: int = 30
    null_score_diff_threshold: float = 0.0
    verbose_logging: bool = False
    train_batch_size: int = 32
    predict_batch_size: int = 8
    learning_rate: float = 5e-5
    num_train_epochs: float = 3.0
    steps_from_examples: bool = False
    skip_padding: bool = False
    warmup_proportion: float = 0.1
    bias_correction: bool = False
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 5
    random_seed: int = 12345
    log_steps: int = 100
    distribution_strategy: str = "auto"
    precision: str = "auto"
    use_tpu: bool = False
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None


def define_flags(flags: CommandFlags) -> None:
    _define_task_flags(flags)
    flags.section("Training")
    flags.integer("train_batch_size", 32, "windows in a training batch, over all devices", lower=1)
    flags.float("learning_rate", 5e-5, "peak learning rate of Adam", lower=0.0)
    flags.float("num_train_epochs", 3.0, "passes over the windows of the training data", lower=0.0)
    flags.boolean("steps_from_examples", False, "count steps from questions, not windows, as Google's script does")
    flags.boolean(
        "skip_padding",
        False,
        "leave padding out of the loss, which is faster where texts are short; Google's counts it",
    )
    flags.float("warmup_proportion", 0.1, "share of the steps in which the learning rate rises", lower=0.0, upper=1.0)
    flags.boolean(
        "bias_correction", False, "divide Adam's moments by 1 - beta^t, as other libraries do; Google's script does not"
    )
    flags.integer("random_seed", 12345, "seed of shuffling, dropout and new weights", lower=0)
    define_saving_flags(flags)
    define_device_flags(flags)


def _define_task_flags(flags: CommandFlags) -> None:
    flags.section("Data")
    flags.string("train_file", None, "SQuAD file to train on")
    flags.string("predict_file", None, "SQuAD file to answer, evaluate or score")
    flags.boolean("version_2_with_negative", False, "SQuAD 2.0: some questions have no answer in their text")
    flags.enum("multiple_answers", None, MULTIPLE_ANSWERS, "which of several answers to train on; default: an error")
    flags.integer("max_seq_length", 384, "longest window in tokens")
    flags.integer("doc_stride", 128, "tokens from the start of a window to that of the next")
    flags.integer("max_query_length", 64, "longest question in tokens; what is longer is cut")
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; false for a cased model")
    flags.section("Model")
    flags.string("init_checkpoint", None, "a TF1 checkpoint, a Hugging Face folder, or an output_dir")
    define_hub_flags(flags)
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint, or the built-in one")
    flags.string("bert_config_file", None, "bert_config.json; default: beside the checkpoint, or the built-in one")
    define_gelu_flag(flags)
    flags.section("What to do")
    flags.boolean("do_train", False, "train on train_file")
    flags.boolean("do_predict", False, "answer the questions of predict_file")
    flags.boolean("do_eval", False, "evaluate on predict_file: exact match and F1")
    flags.string("output_dir", None, "folder for checkpoints and results")
    flags.boolean("overwrite_output_dir", False, "start anew where output_dir holds another run")
    flags.section("Single questions")
    flags.string("question", None, "a question about --context or --context_file")
    flags.string("context", None, "the text that a question is about")
    flags.string("context_file", None, "a file with that text")
    flags.string("input_file", None, 'JSON lines {"id", "question", "context"} to answer, - for standard input')
    flags.string("output_file", None, "file for the answers to input_file as JSON lines; default: standard output")
    flags.section("Scores of any predictions")
    flags.boolean("score_only", False, "score predictions_file against predict_file")
    flags.string("predictions_file", None, 'the predictions: {"id": "answer"}')
    flags.string(
        "null_odds_file", None, 'for SQuAD 2.0: {"id": number}, higher for no answer; gives the best thresholds'
    )
    flags.section("Answers")
    flags.integer("n_best_size", 20, "starts and ends looked at in a window, and answers in an n-best list")
    flags.integer("max_answer_length", 30, "longest answer in tokens")
    flags.float("null_score_diff_threshold", 0.0, "there is no answer where the null odds are above this")
    flags.boolean("verbose_logging", False, "log the windows of 20 questions, not of one")
    flags.integer("predict_batch_size", 8, "windows in a batch of the prediction", lower=1)


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given, and remembered flags are filled in."""
    values = {field.name: values[field.name] for field in dataclasses.fields(Settings)}
    _check_task(values)
    check_hub_flags(values)
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    if not values["do_train"] and not values["score_only"]:
        checkpoint = trained_checkpoint(values["init_checkpoint"], values["output_dir"])
        names = [name for name in REMEMBERED if name not in given]
        values |= remembered_flags(os.path.join(checkpoint.folder, FLAGS), define_flags, names)
    check_lengths(values["max_seq_length"], values["doc_stride"], values["max_query_length"])
    settings = Settings(**values)
    check_rules(answer_rules(settings))
    return settings


def _check_task(values: dict) -> None:
    """InputError unless the flags say one thing to do, and all that it needs."""
    runs = [name for name in _TASKS if values[name]]
    others = [name for name in _ALONE if values[name]]
    if not runs and not others:
        raise InputError(
            "nothing to do: give at least one of --do_train, --do_predict, --do_eval, or --question, --input_file, "
            "--score_only"
        )
    if len(runs[:1] + others) > 1:
        raise InputError(f"--{(runs[:1] + others)[0]} and --{others[-1]} do not go together; give one of them")
    needs = {"do_train": ("train_file", "output_dir"), "do_predict": ("predict_file", "output_dir")}
    needs |= {"do_eval": needs["do_predict"], "score_only": ("predictions_file", "predict_file")}
    for task in runs + others:
        for name in needs.get(task, ()):
            if not values[name]:
                raise InputError(f"--{task} needs --{name}; --help describes it")
    if values["question"] and bool(values["context"]) == bool(values["context_file"]):
        raise InputError("--question needs the text that it is about: give --context or --context_file, one of them")
    for names, task in (
        (("context", "context_file"), "question"),
        (("output_file",), "input_file"),
        (("predictions_file", "null_odds_file"), "score_only"),
    ):
        for name in names:
            if values[name] and not values[task]:
                raise InputError(f"--{name} goes with --{task}, which is missing")
    if values["null_odds_file"] and not values["version_2_with_negative"]:
        raise InputError("--null_odds_file is for SQuAD 2.0; give --version_2_with_negative too")


def trained_checkpoint(init_checkpoint: str | None, output_dir: str | None) -> CheckpointPath:
    if output_dir:
        return sources.trained_checkpoint(init_checkpoint, output_dir)
    if not init_checkpoint:
        raise InputError("--output_dir or --init_checkpoint is needed: where a model trained by bert-squad stands")
    return find_checkpoint(init_checkpoint)


def answer_rules(settings: Settings) -> AnswerRules:
    return AnswerRules(**{field.name: getattr(settings, field.name) for field in dataclasses.fields(AnswerRules)})
