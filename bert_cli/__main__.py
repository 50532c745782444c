"""The command `bert`, or `python -m bert_cli`: list the commands, or run one without "bert-"."""

import difflib
import importlib
import sys

from bert_cli import __version__
from bert_cli.base.errors import InputError
from bert_cli.base.log import LogStream
from bert_cli.runtime.streams import drop_unwritten, print_text, repair_streams, settle_log

# Command -> (module, description).
COMMANDS = {
    "bert-classify": ("run_classifier", "text classification, regression, multiple choice"),
    "bert-prepare": ("prepare_data", "train, dev and test files from your own table"),
    "bert-tag": ("run_tagging", "named-entity recognition, token classification"),
    "bert-squad": ("run_squad", "extractive question answering (SQuAD)"),
    "bert-train-vectors": ("run_vectors", "train sentence embeddings on text pairs"),
    "bert-extract-features": ("extract_features", "embeddings of tokens, words or texts"),
    "bert-fill-mask": ("fill_mask", "predict masked words"),
    "bert-build-vocab": ("build_vocab", "build or extend a WordPiece vocabulary"),
    "bert-create-pretraining-data": (
        "create_pretraining_data",
        "pre-training examples as TFRecords, from text",
    ),
    "bert-pretrain": ("run_pretraining", "pre-train with masked LM and next sentences"),
    "bert-serve": ("serve", "serve models over HTTP"),
    "bert-report": ("report_runs", "HTML report of a run, or a comparison of runs"),
    "bert-convert": ("convert_checkpoint", "convert a model between formats"),
    "bert-export": ("export_model", "export for TensorFlow Serving, TF Hub or ONNX"),
    "bert-tokenize": ("tokenize_text", "tokens, ids and segments of a text"),
    "bert-doctor": ("doctor", "versions, devices, memory, the size of a model"),
}


def list_commands() -> str:
    """Return the version and one line per command."""
    lines = [
        f"bert_cli {__version__}; COMMAND --help explains a command, --helpfull all its flags",
        "",
    ]
    lines += [f"  {command:<29} {text}" for command, (_, text) in COMMANDS.items()]
    module = COMMANDS["bert-tag"][0]
    return "\n".join([*lines, "", f"bert-tag is also bert tag and python -m bert_cli.{module}, and so on"])


def _print(text: str) -> int:
    """Print a text and return the exit code."""
    try:
        print_text(text)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        drop_unwritten(sys.stdout)
    except InputError as error:
        return _fail(str(error))
    return 0


def _fail(message: str) -> int:
    LogStream().print(f"bert: error: {message}")
    settle_log()
    return 1


def main(arguments: list[str] | None = None) -> int:
    """Run `bert COMMAND …`, or print the list of commands, and return the exit code."""
    repair_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0].lstrip("-") in ("help", "h", "helpfull", "helpshort"):
        return _print(list_commands())
    if arguments[0].lstrip("-") == "version":
        return _print(f"bert_cli {__version__}")
    name = f"bert-{arguments[0].removeprefix('bert-').replace('_', '-')}"
    if name not in COMMANDS:
        # Compare without the prefix that all commands use: with it, every word would
        # be similar to one.
        short_names = [command.removeprefix("bert-") for command in COMMANDS]
        matches = difflib.get_close_matches(name.removeprefix("bert-"), short_names, n=1)
        hint = f"did you mean bert {matches[0]}?" if matches else "bert --help lists the commands"
        return _fail(f"{arguments[0]}: no such command; {hint}")
    return importlib.import_module(f"bert_cli.{COMMANDS[name][0]}").main(arguments[1:])


if __name__ == "__main__":
    raise SystemExit(main())
