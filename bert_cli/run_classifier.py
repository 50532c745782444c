"""Fine-tune a BERT classifier, evaluate it, and predict, as Google's run_classifier.py does.

    bert-classify --task_name=cola --do_train --do_eval --do_predict

trains on data/train.tsv, evaluates on data/dev.tsv, predicts data/test.tsv, and writes into bert_output: model.ckpt-N
(Google's variable names), eval_results.txt, test_results.tsv (a line of probabilities per test row, in the order of
labels.txt), predictions.tsv (the same with header, id, label and text), and what a later run needs, so that
`bert-classify --do_predict --output_dir=bert_output` is enough then. With a downloaded model, add
--init_checkpoint=MODEL/bert_model.ckpt; its vocab.txt and bert_config.json are found beside it.
"""

import dataclasses
import logging
import os
import time

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import EVAL_RESULTS, FLAGS, PREDICTIONS_TABLE, TEST_RESULTS
from bert_cli.examples.classification import describe_examples, find_labels, find_task, read_examples
from bert_cli.features.classification import ClassificationFeatures, classification_features, format_features
from bert_cli.features.stream import check_steps
from bert_cli.outputs.classification import write_predictions, write_test_results
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.outputs.metrics import classification_metrics, classification_report, format_report
from bert_cli.runs import folder as run_folder
from bert_cli.runs import sources
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
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.host import prepare_host
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")
_RESULTS = (TEST_RESULTS, PREDICTIONS_TABLE)
# What a run that only evaluates or predicts takes from the flags.txt of the training run, unless it is given.
REMEMBERED = ("task_name", "data_dir", "max_seq_length", "header", "gelu")
# Settings that change the result of training.
_DECISIVE = (
    "task_name", "max_seq_length", "train_batch_size", "learning_rate", "num_train_epochs", "warmup_proportion",
    "bias_correction", "random_seed", "hub_trainable",
)  # fmt: skip
_PATHS = (
    "data_dir", "output_dir", "vocab_file", "bert_config_file", "init_checkpoint", "hub_module", "hub_preprocess",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-classify; see define_flags for their meaning."""

    data_dir: str = "data"
    task_name: str | None = None
    output_dir: str = "bert_output"
    vocab_file: str | None = None
    bert_config_file: str | None = None
    init_checkpoint: str | None = None
    hub_module: str | None = None
    hub_preprocess: str | None = None
    hub_trainable: bool = True
    do_lower_case: bool | None = None
    max_seq_length: int = 128
    do_train: bool = False
    do_eval: bool = False
    do_predict: bool = False
    train_batch_size: int = 32
    eval_batch_size: int = 8
    predict_batch_size: int = 8
    learning_rate: float = 5e-5
    num_train_epochs: float = 3.0
    warmup_proportion: float = 0.1
    bias_correction: bool = False
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 5
    labels: tuple[str, ...] | None = None
    header: str = "auto"
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
    flags.string("task_name", None, "cola (four columns, any labels), mrpc, mnli or xnli")
    flags.string("data_dir", "data", "folder with train.tsv, dev.tsv and test.tsv (names as the task has them)")
    flags.string(
        "labels", None, "labels in the order of the output columns, such as 0,1,2; default: those of train.tsv"
    )
    flags.enum(
        "header", "auto", ("auto", "yes", "no"), "whether the first row of a file is a header; auto: Google's rule"
    )
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; false for a cased model")
    flags.integer("max_seq_length", 128, "longest input in tokens; what is longer is cut", lower=1)
    flags.section("Model")
    flags.string(
        "init_checkpoint", None, "a TF1 checkpoint (prefix, file or folder), a Hugging Face folder, or an output_dir"
    )
    define_hub_flags(flags)
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint, or the built-in one")
    flags.string("bert_config_file", None, "bert_config.json; default: beside the checkpoint, or the built-in one")
    define_gelu_flag(flags)
    flags.section("What to do")
    flags.boolean("do_train", False, "train on the train file")
    flags.boolean("do_eval", False, "evaluate on the dev file")
    flags.boolean("do_predict", False, "predict the test file")
    flags.string("output_dir", "bert_output", "folder for checkpoints and results")
    flags.boolean("overwrite_output_dir", False, "start anew where output_dir holds another run")
    flags.section("Training")
    flags.integer("train_batch_size", 32, "examples in a training batch, over all devices", lower=1)
    flags.integer("eval_batch_size", 8, "examples in a batch of the evaluation", lower=1)
    flags.integer("predict_batch_size", 8, "examples in a batch of the prediction", lower=1)
    flags.float("learning_rate", 5e-5, "peak learning rate of Adam", lower=0.0)
    flags.float("num_train_epochs", 3.0, "passes over the training data; fractions are used", lower=0.0)
    flags.float("warmup_proportion", 0.1, "share of the steps in which the learning rate rises", lower=0.0, upper=1.0)
    flags.boolean(
        "bias_correction", False, "divide Adam's moments by 1 - beta^t, as other libraries do; Google's script does not"
    )
    flags.integer("random_seed", 12345, "seed of shuffling, dropout and new weights", lower=0)
    define_saving_flags(flags)
    define_device_flags(flags)


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given, and remembered flags are filled in."""
    values = {field.name: values[field.name] for field in dataclasses.fields(Settings)}
    if not (values["do_train"] or values["do_eval"] or values["do_predict"]):
        raise InputError("nothing to do: give at least one of --do_train, --do_eval, --do_predict")
    check_hub_flags(values)
    if not values["do_train"]:
        values |= _remembered(values, given)
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    if not values["task_name"]:
        raise InputError("--task_name is needed: cola, mrpc, mnli or xnli (the four-column format is cola)")
    values["task_name"] = values["task_name"].lower()
    find_task(values["task_name"])
    if values["labels"] is not None:
        labels = tuple(label.strip() for label in values["labels"].split(","))
        if len(labels) < 2 or "" in labels or len(set(labels)) < len(labels):
            raise InputError(f"--labels={values['labels']}: two or more different names with commas between are needed")
        values["labels"] = labels
    return Settings(**values)


def _remembered(values: dict, given: frozenset[str]) -> dict:
    checkpoint = sources.trained_checkpoint(values["init_checkpoint"], values["output_dir"])
    names = [name for name in REMEMBERED if name not in given]
    return remembered_flags(os.path.join(checkpoint.folder, FLAGS), define_flags, names)


@dataclasses.dataclass(frozen=True)
class Split:
    """One file of the data: its rows, and their features."""

    examples: list
    features: ClassificationFeatures


def read_splits(
    settings: Settings, tokenizer: FullTokenizer, checkpoint: CheckpointPath | None
) -> tuple[tuple[str, ...], dict[str, Split]]:
    """Labels, those of the checkpoint where it is trained, and the splits that are needed."""
    wanted = {"train": settings.do_train, "dev": settings.do_eval, "test": settings.do_predict}
    labels, splits = settings.labels, {}
    if not settings.do_train:
        saved = sources.read_labels(checkpoint)
        if labels and saved and labels != saved:
            raise InputError(
                f"--labels={','.join(labels)}: the model in {checkpoint.folder} was trained with {','.join(saved)}, in this "
                "order; leave --labels out"
            )
        labels = labels or saved or find_task(settings.task_name).labels
    for name in (name for name, needed in wanted.items() if needed):
        examples = read_examples(settings.task_name, name, settings.data_dir, settings.header, labels)
        labels = labels or find_labels(settings.task_name, examples)
        features = classification_features(examples, labels, tokenizer, settings.max_seq_length)
        LOG.info("%s: %s", name, describe_examples(examples))
        for line in format_features(features, labels, tokenizer, settings.max_seq_length):
            LOG.info(line)
        if features.num_truncated:
            LOG.info(
                "%s: %d of %d examples were cut to %d tokens",
                name, features.num_truncated, len(features), settings.max_seq_length,
            )  # fmt: skip
        splits[name] = Split(examples, features)
    LOG.info("labels: %s", ", ".join(labels))
    return labels, splits


def training_manifest(settings: Settings, labels, features, model: sources.OpenedModel) -> dict:
    """All that decides the result of training: a run with another manifest is another run."""
    data = run_folder.digest(features.sequences.token_ids, features.sequences.offsets, features.label_ids)
    decided = {name: getattr(settings, name) for name in _DECISIVE}
    decided |= {
        "labels": list(labels),
        "do_lower_case": model.tokenizer.do_lower_case,
        "training_data": data,
        "train_examples": len(features),
    }
    return decided | run_folder.model_manifest(model.config, model.sources.vocab_file, model.sources.checkpoint)


def flags_to_save(settings: Settings, labels: tuple[str, ...], do_lower_case: bool) -> dict:
    """Flags that repeat a training run from any working directory; `labels` and `do_lower_case` as they were found."""
    values = dataclasses.asdict(settings) | {"do_lower_case": do_lower_case, "overwrite_output_dir": None}
    values |= {name: files.absolute(values[name]) for name in _PATHS}
    # A name with a comma cannot be given as a flag; such labels come from train.tsv and are found there again.
    return values | {"labels": None if any("," in label for label in labels) else ",".join(labels)}


def run(settings: Settings) -> dict:
    """Do what the settings say; returns the report that is also written to run_report.json."""
    began, folder = time.monotonic(), settings.output_dir
    files.check_can_write(folder, "output_dir")
    checkpoint = sources.choose_checkpoint(settings)
    model = sources.open_model(settings, checkpoint, settings.max_seq_length, settings.hub_preprocess)
    labels, splits = read_splits(settings, model.tokenizer, checkpoint)
    plan = None
    if settings.do_train:
        train = splits["train"].features
        steps = check_steps(len(train), settings.train_batch_size, settings.num_train_epochs)
        manifest = training_manifest(settings, labels, train, model)
        state = run_folder.find_state(folder, manifest, settings.overwrite_output_dir, checkpoint, _RESULTS)
        saved = flags_to_save(settings, labels, model.tokenizer.do_lower_case)
        plan = run_folder.TrainingPlan(train, steps, manifest, labels, saved, state, _RESULTS)
    results = (EVAL_RESULTS,) * settings.do_eval + _RESULTS * settings.do_predict
    if not settings.do_train:
        run_folder.check_results(folder, results)

    # From here on TensorFlow is needed, which takes seconds: what can be wrong with flags and data has been said.
    prepare_host()
    from bert_cli.runs.classification import ClassifierSession

    session = ClassifierSession(model.config, len(labels), settings)
    report = {"labels": list(labels), "precision": session.precision}
    report |= run_folder.train_or_load(session, folder, model, plan)
    files.make_directory(folder)
    if settings.do_eval:
        report |= evaluate(session, splits["dev"], labels, settings, report["global_step"])
    if settings.do_predict:
        report |= predict(session, splits["test"], labels, settings)
    report["total_seconds"] = round(time.monotonic() - began, 3)
    if session.is_chief:
        run_folder.write_report(folder, report, results)
    return report


def evaluate(session, split: Split, labels: tuple[str, ...], settings: Settings, global_step: int) -> dict:
    """Write eval_results.txt and log it with the scores of each class; returns the same figures."""
    features = split.features
    results = session.infer(features, settings.eval_batch_size, "evaluating")
    probabilities = results["probabilities"]
    metrics = classification_metrics(
        features.label_ids, results["losses"], probabilities, labels, settings.eval_batch_size
    )
    metrics |= {"global_step": global_step}
    details = classification_report(features.label_ids, probabilities, labels)
    if session.is_chief:
        write_eval_results(os.path.join(settings.output_dir, EVAL_RESULTS), metrics)
    for line in format_eval_results(metrics):
        LOG.info(line)
    for line in format_report(details):
        LOG.info("  %s", line)
    metrics = {name: value if isinstance(value, int) else float(value) for name, value in metrics.items()}
    return {"eval_examples_per_second": results["examples_per_second"], "eval": metrics | details}


def predict(session, split: Split, labels: tuple[str, ...], settings: Settings) -> dict:
    """Write test_results.tsv and predictions.tsv."""
    results = session.infer(split.features, settings.predict_batch_size, "predicting")
    texts = [(example.text_a, example.text_b) for example in split.examples]
    if session.is_chief:
        paths = [os.path.join(settings.output_dir, name) for name in _RESULTS]
        write_test_results(paths[0], results["probabilities"])
        write_predictions(paths[1], split.features.guids, texts, labels, results["probabilities"])
        LOG.info("wrote %s and %s: %d predictions", *paths, len(texts))
    return {"predict_examples_per_second": results["examples_per_second"]}


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-classify", __doc__, define_flags, lambda values, given: run(settings_from_flags(values, given)), arguments
    )


if __name__ == "__main__":
    raise SystemExit(main())
