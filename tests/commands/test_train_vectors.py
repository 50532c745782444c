"""bert-train-vectors on small real files: losses, metrics, modules, the best checkpoint, refusals."""

import functools
import json
import pathlib

import numpy as np
import pandas as pd
import pytest

from bert_cli import FeatureExtractor, convert_checkpoint
from bert_cli.base.errors import InputError
from bert_cli.metrics.vectors import cosines_of_pairs, search_results, similarity_results
from bert_cli.run_vectors import main
from bert_cli.serving.http.openai import embedding_items
from bert_cli.serving.loading import load_served
from bert_cli.settings.answering import ModelFlags
from bert_cli.settings.serving import Limits
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import find_checkpoint
from tests.commands import helpers
from tests.commands.conftest import ANIMALS, PEOPLE
from tests.commands.helpers import assert_same_tensors
from tests.rows import write_rows
from tests.snapshots import raises

MODULES = {"modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"}
PAIRS = [(text, " ".join(reversed(text.split()))) for text in PEOPLE + ANIMALS]


def write_data(folder: pathlib.Path) -> pathlib.Path:
    """Write pairs, pairs with scores, and triplets as JSON lines."""
    folder.mkdir(exist_ok=True)
    write_rows(folder / "pairs.tsv", [("anchor", "positive"), *PAIRS])
    scored = [(a, b, str(5 * int((i < 12) == (j < 12)))) for i, (a, _) in enumerate(PAIRS) for j, (_, b) in
              enumerate(PAIRS) if (i + 5 * j) % 7 == 0]  # fmt: skip
    write_rows(folder / "scored.tsv", [("id", "sentence1", "sentence2", "score"), *((f"r{i}", *row) for i, row in
                                                                                   enumerate(scored))])  # fmt: skip
    records = [
        {"query": a, "positive": b, "negatives": [PAIRS[(i + 12) % 24][0], PAIRS[(i + 13) % 24][0]][: i % 3]}
        for i, (a, b) in enumerate(PAIRS)
    ]
    (folder / "triplets.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return folder


def train(folder: pathlib.Path, model_flags: tuple[str, ...]) -> None:
    data = write_data(folder / "data")
    files = (f"--train_file={data / 'pairs.tsv'}", f"--dev_file={data / 'pairs.tsv'}", f"--output_dir={folder / 'out'}")
    assert main([*model_flags, *files, "--do_train", "--do_eval", "--eval_every=15", "--report"]) == 0


@pytest.fixture(scope="module")
def trained(built_once, two_layer_flags) -> pathlib.Path:
    return built_once("vector_run", lambda folder: train(folder, two_layer_flags)) / "out"


@pytest.fixture
def vectors(capfd):
    """Call bert-train-vectors with flags."""
    return functools.partial(helpers.call, capfd, "bert-train-vectors", main)


def weights_of(folder: pathlib.Path) -> dict[str, np.ndarray]:
    reader = open_checkpoint(find_checkpoint(str(folder)))
    return {name: reader.read(name) for name in reader.shapes}


def texts_and_pairs(pairs) -> tuple[list[str], np.ndarray]:
    texts = list(dict.fromkeys(text for pair in pairs for text in pair[:2]))
    return texts, np.array([[texts.index(text) for text in pair[:2]] for pair in pairs])


def test_a_run_writes_these_files(trained, run_folder):
    names = run_folder(trained).names()
    assert {"vocab.txt", "bert_config.json", "flags.txt", "run.json", "eval_results.txt", "report.html"} <= names
    assert names >= MODULES
    assert json.loads((trained / "1_Pooling" / "config.json").read_text())["pooling_mode_mean_tokens"] is True
    assert (trained / "2_Normalize" / "config.json").exists()
    # The best checkpoint is a whole model, too.
    assert (trained / "best" / "1_Pooling" / "config.json").exists()
    report = run_folder(trained).report()
    assert report["last_loss"] < report["first_loss"] / 2
    assert report["loss"] == "multiple_negatives"
    assert report["data_facts"]["train"]["columns"] == {"text": ["anchor"], "text_b": ["positive"]}


def test_metrics_are_those_of_the_vectors_in_use(trained, run_folder):
    """The evaluation and FeatureExtractor compute the same vectors."""
    texts, pairs = texts_and_pairs(PAIRS)
    extracted = np.asarray(FeatureExtractor.load(trained, precision="float32").extract(texts))
    np.testing.assert_allclose(np.linalg.norm(extracted, axis=1), 1, atol=1e-5)
    results = run_folder(trained).eval_results()
    expected = search_results(extracted, pairs)
    assert {name: results[name] for name in expected} == pytest.approx(expected)
    assert results["eval_mrr"] > 0.5


def test_served_converted_and_loaded_vectors_are_equal(trained, tmp_path):
    texts = PEOPLE[:3]
    expected = np.asarray(FeatureExtractor.load(trained, precision="float32").extract(texts))
    served = load_served("m", ModelFlags(), find_checkpoint(str(trained)))
    embeddings = served.vectors.embed(embedding_items({"input": texts}, served, Limits()))
    np.testing.assert_allclose([embedding.vector for embedding in embeddings], expected, atol=1e-5)
    assert convert_checkpoint.main([f"--from={trained}", f"--to={tmp_path / 'm'}"]) == 0
    assert {path.name for path in (tmp_path / "m").iterdir()} >= MODULES
    converted = FeatureExtractor.load(tmp_path / "m", precision="float32").extract(texts)
    np.testing.assert_allclose(converted, expected, atol=1e-5)


def test_scores_are_learned_by_their_order(vectors, two_layer_flags, trained, tmp_path, run_folder):
    scored = trained.parent / "data" / "scored.tsv"
    files = [f"--train_file={scored}", f"--dev_file={scored}", f"--output_dir={tmp_path / 'out'}"]
    outcome = vectors(*two_layer_flags, *files, "--do_train", "--do_eval", "--pooling=cls,mean", "--nonormalize")
    assert outcome.code == 0, outcome.err
    assert "--loss=cosent: the pairs have scores" in outcome.err
    assert "text from 'sentence1', second text from 'sentence2', score from 'score'; not used: id" in outcome.err
    results = run_folder(tmp_path / "out").eval_results()
    assert results["eval_spearman"] > 0.8
    rows = [line.split("\t")[1:] for line in scored.read_text().splitlines()[1:]]
    texts, pairs = texts_and_pairs(rows)
    extractor = FeatureExtractor.load(tmp_path / "out", precision="float32")
    assert extractor.width == 32
    extracted = np.asarray(extractor.extract(texts))
    cosines = cosines_of_pairs(extracted[pairs[:, 0]], extracted[pairs[:, 1]])
    expected = similarity_results(cosines, np.array([row[2] for row in rows], np.float32))
    assert {name: results[name] for name in expected} == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("loss", ["multiple_negatives", "triplet"])
def test_negatives_move_away(vectors, two_layer_flags, trained, tmp_path, loss):
    path = trained.parent / "data" / "triplets.jsonl"
    flags = [f"--train_file={path}", "--do_train", f"--loss={loss}", f"--output_dir={tmp_path / 'out'}"]
    assert vectors(*two_layer_flags, *flags).code == 0
    records = [json.loads(line) for line in path.read_text().splitlines()]
    triplets = [record for record in records if record["negatives"]]

    def share_of_right_orders(folder) -> float:
        extractor = FeatureExtractor.load(folder)
        names = (
            [r["query"] for r in triplets],
            [r["positive"] for r in triplets],
            [r["negatives"][0] for r in triplets],
        )
        anchors, positives, negatives = (np.asarray(extractor.extract(texts)) for texts in names)
        return float(np.mean(cosines_of_pairs(anchors, positives) > cosines_of_pairs(anchors, negatives)))

    assert share_of_right_orders(tmp_path / "out") > 0.9


def test_a_run_continues_a_sentence_model(vectors, trained, tmp_path, two_layer_flags):
    """Its modules stay, and its length is --max_seq_length."""
    data = trained.parent / "data" / "pairs.tsv"
    flags = [flag for flag in two_layer_flags if "_file" not in flag]
    outcome = vectors(
        *flags, f"--init_checkpoint={trained}", f"--train_file={data}", "--do_train", f"--output_dir={tmp_path / 'out'}"
    )
    assert outcome.code == 0, outcome.err
    assert "modules.json: pooling mean, length 1" in outcome.err
    # A run with other modules replaces these.
    again = vectors(
        *flags, f"--init_checkpoint={trained}", f"--train_file={data}", "--do_train", f"--output_dir={tmp_path / 'out'}",
        "--pooling=max", "--nonormalize", "--overwrite_output_dir",
    )  # fmt: skip
    assert again.code == 0, again.err
    assert not (tmp_path / "out" / "2_Normalize").exists()
    assert FeatureExtractor.load(tmp_path / "out").extract(["the dog"]).shape == (1, 16)


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ("anchor\tpositive\tscore\na\tb\t1\nb\tc\tno\n", []),
        ("anchor\tpositive\tscore\na\tb\t1\nb\tc\t\n", []),
        ("anchor\tpositive\tscore\na\tb\t1\nb\tc\t5\n", ["--loss=cosine"]),
        ("anchor\tpositive\tscore\na\tb\t1\n", ["--loss=multiple_negatives"]),
        ("anchor\tpositive\na\tb\n", ["--loss=cosent"]),
        ("anchor\tpositive\na\tb\n", ["--loss=triplet"]),
        ("anchor\tpositive\na\tb\nb\tc\n", ["--train_batch_size=1"]),
        ("anchor\tpositive\na\tb\n", ["--train_batch_size=8"]),
        ("anchor\tpositive\tscore\na\tb\t1\n", []),
        ("anchor\tpositive\na\t\n\tb\n", []),
        ("anchor\tpositive\na\tb\n", ["--do_eval"]),
        ("left\tright\na\tb\n", []),
        ("", []),
        ("anchor\tpositive\na\tb\n", ["--pooling=pooler"]),
        ("anchor\tpositive\tscore\na\tb\t1\n", ["--mine_negatives=2"]),
        ("anchor\tpositive\tnegative\na\tb\tc\n", ["--mine_negatives=2"]),
        ("anchor\tpositive\na\tb\n", ["--mine_negatives=2"]),
    ],
)
def test_data_that_cannot_be_trained_on(vectors, two_layer_flags, tmp_path, content, flags):
    (tmp_path / "t.tsv").write_text(content)
    outcome = vectors(
        *two_layer_flags, f"--train_file={tmp_path / 't.tsv'}", "--do_train", f"--output_dir={tmp_path / 'out'}", *flags
    )
    outcome.assert_refused()
    assert not (tmp_path / "out").exists()


def test_equal_texts_cannot_be_searched(vectors, two_layer_flags, tmp_path):
    write_rows(tmp_path / "t.tsv", [("anchor", "positive"), ("the dog", "the dog")])
    files = [
        f"--train_file={tmp_path / 't.tsv'}",
        f"--dev_file={tmp_path / 't.tsv'}",
        f"--output_dir={tmp_path / 'out'}",
    ]
    vectors(*two_layer_flags, *files, "--do_train", "--do_eval").assert_refused("t.tsv: ")


def test_negatives_are_mined_before_the_training(vectors, trained, tmp_path, two_layer_flags):
    data = trained.parent / "data" / "pairs.tsv"
    flags = [flag for flag in two_layer_flags if "_file" not in flag]
    outcome = vectors(
        *flags, f"--init_checkpoint={trained}", f"--train_file={data}", "--do_train", "--mine_negatives=2",
        "--loss=triplet", f"--output_dir={tmp_path / 'out'}",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "mining: the vectors of 48 texts" in outcome.err
    assert " negatives for 24 rows" in outcome.err
    assert json.loads((tmp_path / "out" / "run.json").read_text())["mine_negatives"] == 2


def options_of(flags: tuple[str, ...]) -> dict[str, object]:
    """Return the options of Python for flags such as --a=b and --nob."""
    pairs = [flag.removeprefix("--").partition("=") for flag in flags if not flag.startswith("--noreport")]
    numbers = {"max_seq_length": int, "train_batch_size": int, "save_checkpoints_steps": int}
    return {name: numbers.get(name, str)(value) if "rate" not in name and "epochs" not in name else float(value) for
            name, _, value in pairs} | {"report": False}  # fmt: skip


def test_python_trains_the_same_weights(trained, two_layer_flags, tmp_path):
    """Rows in memory give the weights of the command bit for bit; the file is read in the same order."""
    rows = list(PAIRS)
    options = options_of(two_layer_flags) | {"eval_every": 15}
    extractor = FeatureExtractor.train(rows, dev=rows, output_dir=tmp_path / "out", verbose=0, **options)
    expected = weights_of(trained)
    actual = weights_of(tmp_path / "out")
    assert_same_tensors(actual, expected)
    assert extractor.report["eval"]["eval_queries"] == 24
    assert extractor.data_facts["train"]["columns"] == {"text": ["anchor"], "text_b": ["positive"]}
    np.testing.assert_array_equal(
        extractor.extract(PEOPLE), FeatureExtractor.load(trained, precision="float32").extract(PEOPLE)
    )
    assert list(extractor.history.index)[-1] == 30


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([("the dog", "a dog", 0.5), ("the cat", "a bird", 0), ("a", "b", 1)], {"score": ["score"]}),
        ([("the dog", "a dog", "a cat", "a bird"), ("the cat", "a cat", "a dog", "")],
         {"negatives": ["negative_1", "negative_2"]}),
        ([{"query": "the dog", "document": "a dog", "year": 7}] * 3, {}),
        (pd.DataFrame({"sentence1": ["the dog", "a cat"], "sentence2": ["a dog", "b"], "label": [0.5, 1.0]}),
         {"score": ["label"]}),
    ],
)  # fmt: skip
def test_rows_in_memory(rows, columns, two_layer_flags):
    extractor = FeatureExtractor.train(rows, verbose=0, **options_of(two_layer_flags))
    facts = extractor.data_facts["train"]
    assert {role: names for role, names in facts["columns"].items() if role not in ("text", "text_b")} == columns
    assert extractor.extract(["the dog"]).shape == (1, 16)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([("a", "b"), ("a", "b", "c")], {}),
        (["a", "b"], {}),
        ([], {}),
        ([{"left": "a", "right": "b"}], {}),
        ([("a", "b", 1.5)], {"loss": "cosine"}),
        ([("a", "b")], {"loss": "triplet"}),
        ([("a", "b", 0.5), ("a", "b", None)], {}),
    ],
)
def test_rows_in_memory_that_cannot_be_trained_on(rows, options, two_layer_flags):
    with raises(InputError, "train"):
        FeatureExtractor.train(rows, verbose=0, **options_of(two_layer_flags), **options)
