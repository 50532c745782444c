"""The groups of flags that several commands share; each flag is declared here or in a neighbouring file, once."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.base.names import RANDOM
from bert_cli.flags.option import option

# Tokens that predictions compute at once: with fewer, products are slower by a third, and so many take little memory.
LEAST_TOKENS = 4096
AT_LEAST = f"at least {LEAST_TOKENS:,} tokens are computed at once"


def read_names(flag: str, least: int, text: str) -> tuple[str, ...]:
    """Names with commas between; InputError unless there are `least` or more, all of them different."""
    names = tuple(name.strip() for name in text.split(","))
    if len(names) < least or "" in names or len(set(names)) < len(names):
        wanted = f"--{flag}={text}: two or more different names" if least > 1 else f"--{flag}: different names"
        raise InputError(f"{wanted} with commas between are needed")
    return names


def check_share(flag: str, value: float) -> None:
    """InputError unless 0 < value <= 1: the bounds of options take both ends in."""
    if not 0 < value <= 1:
        raise InputError(f"--{flag}={value}: a number above 0 and up to 1 is needed")


@dataclasses.dataclass(frozen=True)
class Input:
    """Files"""

    input_file: str = option("", "the file to read, - for standard input")


@dataclasses.dataclass(frozen=True)
class Output:
    """Files"""

    output_file: str = option("", "the file to write, - for standard output", passing=True)


@dataclasses.dataclass(frozen=True)
class NewText:
    """What to do"""

    text: str = option("", "answer this text with a trained model and print the result", passing=True)


@dataclasses.dataclass(frozen=True)
class SecondText:
    """What to do"""

    text_b: str = option("", "the second text of a pair whose first is --text", passing=True)


@dataclasses.dataclass(frozen=True)
class DataFolder:
    """Data"""

    data_dir: str = option("", "folder with the data", remembered=True, path=True)


@dataclasses.dataclass(frozen=True)
class TrainFile:
    """Data"""

    train_file: str = option("", "the file to train on", path=True)


@dataclasses.dataclass(frozen=True)
class Labels:
    """Data"""

    labels: tuple[str, ...] | None = option(
        None,
        "labels in the order of the output columns, such as 0,1,2; default: those of train.tsv",
        read=lambda text: read_names("labels", 2, text),
        # A name with a comma cannot be given as a flag; such labels come from the data and are found there again.
        write=",".join,
    )


@dataclasses.dataclass(frozen=True)
class Length:
    """Data"""

    max_seq_length: int = option(
        128, "longest input in tokens; what is longer is cut", lower=1, decides=True, remembered=True
    )


@dataclasses.dataclass(frozen=True)
class Start:
    """Model"""

    init_checkpoint: str = option(
        "",
        "a TF1 checkpoint (prefix, file or folder), a Hugging Face folder, or an output_dir; random: train from random "
        "weights; default: the built-in model",
        path=True,
        usual=(RANDOM,),
    )


@dataclasses.dataclass(frozen=True)
class ModelFiles:
    """Model"""

    vocab_file: str | None = option(None, "vocab.txt; default: beside the checkpoint, or the built-in one", path=True)
    bert_config_file: str | None = option(
        None, "bert_config.json; default: beside the checkpoint, or the built-in one", path=True
    )
    do_lower_case: bool | None = option(
        None,
        "lower-case the text and strip accents; false for a cased model; default: as the model was trained, else true",
    )
    strict: bool = option(
        False,
        "what speaks against the model's files (casing, size of the vocabulary, many unknown words) is an error, not a "
        "warning",
        passing=True,
    )
    gelu: str = option(
        "auto",
        "form of gelu; auto: tanh for Google's config, erf for Hugging Face's",
        choices=("auto", "erf", "tanh"),
        remembered=True,
    )


@dataclasses.dataclass(frozen=True)
class Hub:
    """Model"""

    hub_module: str | None = option(
        None,
        "instead of --init_checkpoint an encoder for tensorflow-hub: a folder, a .tar.gz, or a URL, which tensorflow-hub "
        "downloads and keeps; one that is no BERT is run as it is",
        path=True,
    )
    hub_preprocess: str | None = option(
        None, "the preprocessor that belongs to it, for vocabulary and casing; default: as --hub_module says", path=True
    )


@dataclasses.dataclass(frozen=True)
class HubTraining:
    """Model"""

    hub_trainable: bool = option(True, "train the module too; false trains only what stands on top of it", decides=True)


def check_hub(values: dict) -> None:
    """InputError where the flags of Hub and HubTraining do not go with the others."""
    # A run that does not train may name both: a model that was trained on a module, and this module.
    if values["hub_module"] and values["init_checkpoint"] and values.get("do_train"):
        raise InputError("--hub_module and --init_checkpoint: both name a model to start from; give one of them")
    if not values["hub_module"] and not values.get("hub_trainable", True):
        raise InputError("--hub_trainable=false is about --hub_module, which is missing")


@dataclasses.dataclass(frozen=True)
class Phases:
    """What to do"""

    do_train: bool = option(False, "train on the training data")
    do_eval: bool = option(False, "evaluate on the data held out for it")
    output_dir: str = option("bert_output", "folder for checkpoints and results", path=True)
    overwrite_output_dir: bool = option(False, "start anew where output_dir holds another run", passing=True)


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What to do"""

    do_predict: bool = option(False, "predict the test file")
    predict_batch_size: int = option(8, f"examples in a batch of the prediction; {AT_LEAST}", lower=1)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What to do"""

    eval_batch_size: int = option(8, f"examples in a batch of the evaluation; {AT_LEAST}", lower=1)


@dataclasses.dataclass(frozen=True)
class Seed:
    """Training"""

    random_seed: int = option(12345, "seed of shuffling, dropout and new weights", lower=0, decides=True)


@dataclasses.dataclass(frozen=True)
class Training:
    """Training"""

    train_batch_size: int = option(
        32, "examples in a training batch, over all devices", lower=1, decides=True, grid=True
    )
    learning_rate: float = option(5e-5, "peak learning rate", lower=0.0, decides=True, grid=True)


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """Training"""

    num_train_epochs: float = option(
        3.0, "passes over the training data; fractions are used", lower=0.0, decides=True, grid=True
    )
    warmup_proportion: float = option(
        0.1, "share of the steps in which the learning rate rises", lower=0.0, upper=1.0, decides=True
    )
    bias_correction: bool = option(
        False,
        "divide Adam's moments by 1 - beta^t, as other libraries do; Google's scripts do not",
        decides=True,
    )


@dataclasses.dataclass(frozen=True)
class Saving:
    """Training"""

    save_checkpoints_steps: int = option(1000, "steps between checkpoints", lower=1)
    keep_checkpoint_max: int = option(5, "how many checkpoints are kept; 0 for all", lower=0)
    log_steps: int = option(
        0,
        "steps between lines of history.jsonl, and of progress where there is no terminal; 0: 100, and so many in the "
        "history that a short training has a curve",
        lower=0,
    )
    tensorboard: bool = option(False, "write what goes into history.jsonl for TensorBoard, too")


@dataclasses.dataclass(frozen=True)
class BatchSize:
    """Devices"""

    batch_size: int = option(32, "texts that are computed at once", lower=1)


@dataclasses.dataclass(frozen=True)
class Workers:
    """Work"""

    num_workers: int = option(0, "processes that share the work", lower=0)


@dataclasses.dataclass(frozen=True)
class Log:
    """Log"""

    quiet: bool = option(False, "log warnings and results only, and show no progress", passing=True)
    verbose: bool = option(False, "log five examples of each split, not two", passing=True)


@dataclasses.dataclass(frozen=True)
class Replacing:
    """From and to"""

    overwrite: bool = option(False, "replace files that an earlier run of this command left there")
