"""A model and data sets that train in seconds, and bert-classify called as by a user."""

import functools
import json
import pathlib
import shutil

import pytest

from bert_cli import export_model
from bert_cli.run_classifier import main
from tests.built_once import snapshot as snapshot_of_files
from tests.commands import helpers, squad_run, stopping, tag_run
from tests.rows import write_rows

VOCABULARY = """a the my our old young small big red green cat dog bird fish horse farmer teacher house garden river bread
song sees likes eats chases buys sings paints builds opens in near under and not never . , ? '"""
WORDS = VOCABULARY.split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
# One layer: tracing takes most of a small run's time, and a command works the same for any number
# of layers. Tests about layers, their names or their weights use the fixtures with TWO_LAYERS.
CONFIG = {
    "vocab_size": len(SPECIAL) + len(WORDS) + 2 * len(LETTERS),
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.1,
}
TWO_LAYERS = CONFIG | {"num_hidden_layers": 2}
# Sentences about people and about animals have few words in common, so they are easy to tell apart.
PEOPLE = [
    "the old farmer buys bread .",
    "my teacher paints our house .",
    "a farmer builds a big red house near the garden .",
    "our young teacher sings a song .",
    "the teacher buys bread and paints , and builds .",
    "a farmer opens the house , and not the garden .",
    "the young farmer buys my house .",
    "my old teacher never sings .",
    "our farmer paints a big red garden .",
    "the teacher opens the garden .",
    "a teacher opens my old house .",
    "the farmer sings the teacher a song .",
]
ANIMALS = [
    "a dog chases a cat .",
    "small green fish",
    "the bird sees a fish in the river , under a horse .",
    "small horse , small dog ?",
    "that cat eats fish .",
    "a horse likes a small dog and a green bird .",
    "never under a horse !",
    "a dog sees a bird , likes it , eats it .",
    "the fish likes the river .",
    "the horse sees a cat .",
    "green bird , small bird ?",
    "a cat chases fish in the river .",
]
# (sentence, whether it is about people), 24 rows
SENTENCES = [row for pair in zip(PEOPLE, ANIMALS, strict=True) for row in zip(pair, (True, False), strict=True)]


def write_cola(folder: pathlib.Path, labels: tuple[str, ...] = ("0", "1")) -> pathlib.Path:
    """Write 24 training rows, 11 dev rows, two of them mislabeled, and 13 rows to predict."""
    if len(labels) == 2:
        marks = [labels[int(of_people)] for _, of_people in SENTENCES]
    else:
        marks = [labels[number % len(labels)] for number in range(len(SENTENCES))]
    rows = [[f"s{n:02}", mark, "", text] for n, (mark, (text, _)) in enumerate(zip(marks, SENTENCES, strict=True))]
    write_rows(folder / "train.tsv", rows)
    wrong = [[name, marks[n + 6], mark, text] for n, (name, _, mark, text) in enumerate(rows[5:7])]
    write_rows(folder / "dev.tsv", [*wrong, *rows[7:16]])
    write_rows(folder / "test.tsv", [["id", "sentence"], *([row[0], row[3]] for row in rows[3:16])])
    return folder


def write_mrpc(folder: pathlib.Path) -> pathlib.Path:
    names = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]
    rows = [
        [str(n % 2), str(700 + n), str(900 + n), PEOPLE[n % 12], PEOPLE[n % 12] if n % 2 else PEOPLE[(n + 5) % 12]]
        for n in range(16)
    ]
    write_rows(folder / "train.tsv", [names, *rows])
    write_rows(folder / "dev.tsv", [names, *rows[:7]])
    write_rows(folder / "test.tsv", [["index", *names[1:]], *([str(n), *row[1:]] for n, row in enumerate(rows[:9]))])
    return folder


def write_mnli(folder: pathlib.Path) -> pathlib.Path:
    names = ["index", *(f"column{n}" for n in range(7)), "sentence1", "sentence2", "label1", "gold_label"]
    labels = ("neutral", "entailment", "contradiction")
    rows = [
        [str(n), *["-"] * 7, PEOPLE[n % 12], PEOPLE[(n + n % 3) % 12], labels[n % 3], labels[n % 3]] for n in range(15)
    ]
    write_rows(folder / "train.tsv", [names, *rows])
    write_rows(folder / "dev_matched.tsv", [names, *rows[:7]])
    write_rows(folder / "test_matched.tsv", [names[:10], *(row[:10] for row in rows[:8])])
    return folder


@pytest.fixture
def classify(capfd):
    """Call bert-classify with flags."""

    return functools.partial(helpers.call, capfd, "bert-classify", main)


@pytest.fixture
def snapshot():
    return snapshot_of_files


@pytest.fixture
def refused(classify, tmp_path):
    """Call bert-classify, which must refuse, with a missing output_dir and with one that has files."""
    return helpers.refused_in_any_folder(classify, tmp_path, "results.tsv")


@pytest.fixture
def run_folder():
    return helpers.RunFolder


def write_model(folder: pathlib.Path, config: dict) -> pathlib.Path:
    vocabulary = [*SPECIAL, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    write_rows(folder / "vocab.txt", vocabulary)
    (folder / "bert_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def flags_of(model: pathlib.Path) -> tuple[str, ...]:
    """Return a model's flags, and numbers that let 30 steps separate people from animals."""
    return (
        f"--vocab_file={model / 'vocab.txt'}",
        f"--bert_config_file={model / 'bert_config.json'}",
        "--max_seq_length=32",
        "--train_batch_size=4",
        "--learning_rate=0.003",
        "--num_train_epochs=5",
        "--save_checkpoints_steps=10",
        "--precision=float32",
        "--noreport",  # saves half a second per run; tests for the report use --report
    )


@pytest.fixture(scope="session")
def model(built_once) -> pathlib.Path:
    """A directory with vocab.txt and bert_config.json."""
    return built_once("model", lambda folder: write_model(folder, CONFIG))


@pytest.fixture(scope="session")
def two_layer_model(built_once) -> pathlib.Path:
    """Like `model`, with two layers."""
    return built_once("two_layer_model", lambda folder: write_model(folder, TWO_LAYERS))


@pytest.fixture(scope="session")
def model_flags(model) -> tuple[str, ...]:
    return flags_of(model)


@pytest.fixture(scope="session")
def two_layer_flags(two_layer_model) -> tuple[str, ...]:
    return flags_of(two_layer_model)


@pytest.fixture
def cola(tmp_path) -> pathlib.Path:
    return write_cola(tmp_path / "cola")


@pytest.fixture
def mrpc(tmp_path) -> pathlib.Path:
    return write_mrpc(tmp_path / "mrpc")


@pytest.fixture
def mnli(tmp_path) -> pathlib.Path:
    return write_mnli(tmp_path / "mnli")


@pytest.fixture
def cola_with_labels(tmp_path):
    """Make the data set with labels other than 0 and 1."""
    return lambda *labels: write_cola(tmp_path / "cola_labels", labels)


def phases_of(model_flags: tuple[str, ...]) -> list[str]:
    """Return flags for a cola run with all phases, without data and output."""
    return ["--task_name=cola", *model_flags, "--do_train", "--do_eval", "--do_predict"]


def train(folder: pathlib.Path, model_flags: tuple[str, ...], report: str) -> None:
    """Train 30 steps on folder / "cola", evaluate and predict, into folder / "out"."""
    write_cola(folder / "cola")
    with pytest.MonkeyPatch.context() as patch:
        # Use relative paths: the remembered paths must be valid from other directories.
        patch.chdir(folder)
        assert main([*phases_of(model_flags), report, "--data_dir=cola", "--output_dir=out"]) == 0


@pytest.fixture(scope="session")
def trained_once(built_once, model_flags) -> tuple[pathlib.Path, list[str]]:
    """A trained classifier, see `train`, and its flags; do not change it."""
    folder = built_once("trained", lambda folder: train(folder, model_flags, "--report"))
    return folder / "out", [*phases_of(model_flags), f"--data_dir={folder / 'cola'}"]


@pytest.fixture(scope="session")
def trained_two_layers_once(built_once, two_layer_flags) -> pathlib.Path:
    """A trained classifier with two layers and without a page; do not change it."""
    return built_once("trained_two_layers", lambda folder: train(folder, two_layer_flags, "--noreport")) / "out"


@pytest.fixture
def trained_two_layers(trained_two_layers_once, tmp_path) -> pathlib.Path:
    """The two-layer classifier, copied for one test."""
    return pathlib.Path(shutil.copytree(trained_two_layers_once, tmp_path / "trained"))


@pytest.fixture
def trained(trained_once, tmp_path) -> pathlib.Path:
    """The trained output_dir, copied for one test."""
    return pathlib.Path(shutil.copytree(trained_once[0], tmp_path / "trained"))


@pytest.fixture(scope="session")
def trained_flags(trained_once) -> list[str]:
    """Flags for the run `trained`, without --output_dir."""
    return trained_once[1]


@pytest.fixture
def flags(model_flags, cola) -> list[str]:
    """Flags for a run on `cola` without a phase; later flags override them."""
    return ["--task_name=cola", f"--data_dir={cola}", *model_flags]


@pytest.fixture
def tag(capfd):
    """Call bert-tag with flags."""
    return functools.partial(helpers.call, capfd, "bert-tag", tag_run.main)


@pytest.fixture(scope="session")
def tagger_once(built_once, two_layer_flags) -> tuple[pathlib.Path, list[str]]:
    """A tagger, see tag_run.train, and its flags; do not change it."""
    folder = built_once("tagger", lambda folder: tag_run.train(folder, two_layer_flags))
    return folder / "out", [*tag_run.phases_of(two_layer_flags), f"--data_dir={folder / 'data'}"]


@pytest.fixture(scope="session")
def tagger(tagger_once) -> pathlib.Path:
    return tagger_once[0]


@pytest.fixture(scope="session")
def answering(built_once, model) -> pathlib.Path:
    """Output directory with a question-answering model, see squad_run.train; do not change it."""
    return built_once("answering", lambda folder: squad_run.train(model, folder)) / "out"


@pytest.fixture(scope="session")
def exported(built_once, trained_two_layers_once) -> pathlib.Path:
    """Hub modules made from the trained classifier's encoder; do not change them."""

    def export(folder: pathlib.Path) -> None:
        flags = {"format": "hub", "init_checkpoint": trained_two_layers_once, "max_seq_length": 24}
        assert export_model.main(helpers.words(flags | {"export_dir": folder / "modules"})) == 0

    return built_once("exported", export) / "modules"


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    """Commands in processes that are forked from one with TensorFlow."""
    with stopping.starter(tmp_path_factory.mktemp("logs")) as running_starter:
        yield running_starter
