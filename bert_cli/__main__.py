"""`python -m bert_cli` lists the commands, a line each."""

from bert_cli.base.version import __version__

# Command -> (its module, what it does).
COMMANDS = {
    "bert-classify": ("run_classifier", "train and use a classifier of texts or pairs"),
    "bert-prepare": ("prepare_data", "a table of your own to train, dev and test.tsv"),
    "bert-tag": ("run_tagging", "train and use a tagger of words"),
    "bert-squad": ("run_squad", "train and use a finder of answers in texts"),
    "bert-extract-features": ("extract_features", "vectors of tokens, words or texts"),
    "bert-fill-mask": ("fill_mask", "fill the blanks of a text"),
    "bert-build-vocab": ("build_vocab", "make a vocabulary from text, or extend one"),
    "bert-create-pretraining-data": ("create_pretraining_data", "text to TFRecords for pre-training"),
    "bert-pretrain": ("run_pretraining", "pre-train on text or TFRecords"),
    "bert-report": ("report_runs", "the page of a run, or one that compares several"),
    "bert-convert": ("convert_checkpoint", "convert a model between formats"),
    "bert-export": ("export_model", "TensorFlow Serving, tensorflow-hub, ONNX"),
}


def listing() -> str:
    """The text that is printed."""
    lines = [f"bert_cli {__version__}; COMMAND --help lists its flags", ""]
    lines += [f"  {command:<29} {text}" for command, (_, text) in COMMANDS.items()]
    module = COMMANDS["bert-tag"][0]
    return "\n".join([*lines, "", f"Each is a module too: bert-tag is python -m bert_cli.{module}."])


if __name__ == "__main__":
    print(listing())
