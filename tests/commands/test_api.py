"""Vectors, answers and tags from Python: the same numbers as the commands, and refusals."""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bert_cli import (
    Classifier,
    FeatureExtractor,
    MaskFiller,
    QuestionAnswerer,
    Tagger,
    __version__,
    extract_features,
    run_squad,
    run_tagging,
)
from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.predicting import vectors as predicting_vectors
from bert_cli.predicting.vectors import VectorModel
from tests.commands import squad_run
from tests.commands.convert_run import TOKENS, make_source
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = ["The cat sees a dog.", "a bird", "", "qua " * 30, "a old house !"]


@pytest.mark.parametrize(
    ("pooling", "layers"),
    [
        ("mean", "-1"),
        ("cls", "all"),
        pytest.param("max", "embedding,0", marks=pytest.mark.slow),
        pytest.param("pooler", None, marks=pytest.mark.slow),
    ],
)
def test_text_vectors(trained, tmp_path, pooling, layers):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\na cat ||| the dog\n", encoding="utf-8")
    flags = [f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={tmp_path / 'out.npy'}", "--output_format=npy"]
    flags += [f"--init_checkpoint={trained}", f"--pooling={pooling}", "--max_seq_length=16", "--normalize"]
    assert extract_features.main([*flags, *([f"--layers={layers}"] if layers else [])]) == 0
    options = {"layers": layers} if layers else {}
    extractor = FeatureExtractor.load(trained, pooling=pooling, max_seq_length=16, normalize=True, **options)
    vectors = extractor.extract([*TEXTS, ("a cat", "the dog")])
    assert vectors.dtype == np.float32
    assert vectors.shape == (6, extractor.width)
    np.testing.assert_allclose(vectors, np.load(tmp_path / "out.npy"), atol=1e-6)
    assert extractor.extract([]).shape == (0, extractor.width)


def test_token_vectors(trained_once):
    extractor = FeatureExtractor.load(trained_once[0], pooling="none", layers="-1,embedding")
    token_vectors = extractor.extract(["the cat", ""])
    assert [text_vectors.tokens for text_vectors in token_vectors] == [
        ["[CLS]", "the", "cat", "[SEP]"],
        ["[CLS]", "[SEP]"],
    ]
    assert [text_vectors.vectors.shape for text_vectors in token_vectors] == [(4, 32), (2, 32)]
    pooled = FeatureExtractor.load(trained_once[0], layers="-1,embedding").extract(["the cat", ""])
    np.testing.assert_allclose([text_vectors.vectors.mean(axis=0) for text_vectors in token_vectors], pooled, atol=1e-6)


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        (np.array(["embedding", "-1"]), "embedding,-1"),
        (["embedding", np.int64(-1)], "embedding,-1"),
        ((layer for layer in ("embedding", 0)), "embedding,0"),
        (np.array([-1]), "-1"),
        (range(-1, 0), "-1"),
        (np.array(0), "0"),
    ],
)
def test_layers_in_any_sequence(trained, layers, text):
    vectors = FeatureExtractor.load(trained, layers=layers).extract(["the cat"])
    np.testing.assert_array_equal(vectors, FeatureExtractor.load(trained, layers=text).extract(["the cat"]))


@pytest.mark.parametrize(("value", "is_cut"), [("false", True), (np.bool_(False), True), ("true", False), (1, False)])
def test_long_text_is_read_as_on_a_command_line(trained, caplog, value, is_cut):
    FeatureExtractor.load(trained, max_seq_length=8, long_text=value).extract(["dog " * 9])
    assert len(cut_lines(caplog)) == is_cut


@pytest.mark.parametrize("pooling", ["none", "mean"])
def test_texts_are_computed_in_chunks(trained, monkeypatch, pooling):
    """Chunks have a maximum number of values or lines, and do not change the result."""
    texts = ["the cat sees a dog ."] * 7  # 8 tokens with 16 numbers each
    whole = FeatureExtractor.load(trained, pooling=pooling).extract(texts)
    monkeypatch.setattr(predicting_vectors, "MAX_NUMBERS", 2 * 8 * 16)
    monkeypatch.setattr(predicting_vectors, "MAX_LINES", 3)
    extractor = FeatureExtractor.load(trained, pooling=pooling)
    sizes, extract = [], VectorModel.extract

    def counted(model, features):
        sizes.append(len(features))
        return extract(model, features)

    monkeypatch.setattr(VectorModel, "extract", counted)
    vectors = extractor.extract(texts)
    assert sizes == ([2, 2, 2, 1] if pooling == "none" else [3, 3, 1])
    for actual, expected in zip(vectors, whole, strict=True):
        actual, expected = (actual.vectors, expected.vectors) if pooling == "none" else (actual, expected)
        np.testing.assert_allclose(actual, expected, atol=1e-6)


def cut_lines(caplog):
    return [record.getMessage() for record in caplog.records if "were cut" in record.getMessage()]


@pytest.fixture
def trained_folder(request):
    """Return the directory of a fixture's training, which runs before the test's own messages."""
    return request.getfixturevalue(request.param)[0]


@pytest.mark.parametrize(
    ("trained_folder", "python_class"),
    [("trained_once", Classifier), ("tagger_once", Tagger)],
    indirect=["trained_folder"],
)
def test_a_flag_of_a_newer_version_is_named(trained_folder, python_class, tmp_path, caplog):
    folder = tmp_path / "model"
    shutil.copytree(trained_folder, folder)
    with open(folder / "flags.txt", "a", encoding="utf-8") as file:
        file.write("--quantum_mode=yes\n")
    python_class.load(str(folder))
    python_class.load(str(folder))
    (warning,) = [message for message in caplog.messages if "is unknown here" in message]
    assert f"{folder / 'flags.txt'}: --quantum_mode of bert_cli {__version__} is unknown here" in warning


def test_each_call_reports_its_cut_texts_once(trained, caplog, monkeypatch):
    monkeypatch.setattr(predicting_vectors, "MAX_LINES", 2)
    extractor = FeatureExtractor.load(trained, max_seq_length=8)
    extractor.extract(["a dog", "dog " * 9, "a cat", "cat " * 8])
    counts = "2 of 4 texts were cut to 8 tokens: 5 of 21 tokens (23.8%) were left out"
    assert cut_lines(caplog) == [f"warning: {counts}"]
    extractor.extract(["a dog"])
    FeatureExtractor.load(trained, max_seq_length=8, long_text=True).extract(["dog " * 9])
    assert len(cut_lines(caplog)) == 1


@pytest.mark.slow
def test_answers(answering, tmp_path, capfd):
    folder = answering
    pairs = [(question, squad_run.story(number)[0]) for number in range(3) for question in squad_run.story(number)[1]]
    lines = [{"id": str(n), "question": q, "context": c} for n, (q, c) in enumerate([*pairs, ("who ?", "")])]
    write_rows(tmp_path / "questions.jsonl", lines)
    flags = [f"--input_file={tmp_path / 'questions.jsonl'}", f"--init_checkpoint={folder}", "--precision=float32"]
    assert run_squad.main([*flags, f"--output_file={tmp_path / 'answers.jsonl'}"]) == 0
    answerer = QuestionAnswerer.load(folder, precision="float32")
    questions = [*pairs, ("who ?", "")]
    assert answerer.records(questions) == [
        json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()
    ]
    answers = answerer.answer(questions)
    assert (
        [answer.answer for answer in answers]
        == answers.best
        == [record["answer"] for record in answerer.records(questions)]
    )
    assert list(answers.to_frame()) == ["question", "context", "answer", "probability", "start", "end", "sentence"]
    assert answerer.answer([]) == []
    capfd.readouterr()
    answerer.answer([("cat dog " * 20, "a dog"), ("the dog", "a dog " * 200)])
    check_message(capfd.readouterr().err, "2 questions")
    with raises(InputError, "questions[0]: "):
        answerer.answer(["who ?"])


def test_tags(tagger, tmp_path):
    texts = ["The old farmer sees", "", "a cat " * 30]
    write_rows(tmp_path / "texts.txt", texts)
    flags = [f"--output_dir={tagger}", f"--input_file={tmp_path / 'texts.txt'}", "--precision=float32"]
    assert run_tagging.main([*flags, f"--output_file={tmp_path / 'tags.jsonl'}", "--decoding=viterbi"]) == 0
    tagged = Tagger.load(tagger, decoding="viterbi", precision="float32").tag(texts)
    expected = [json.loads(line)["entities"] for line in (tmp_path / "tags.jsonl").read_text().splitlines()]
    assert [result.entities for result in tagged] == expected
    assert tagged[0].words == ("The", "old", "farmer", "sees")
    assert tagged[0].tags == ("O", "B-PER", "I-PER", "O")
    assert len(tagged[2].tags) == 60
    assert (tagged[1].words, tagged[1].tags, tagged[1].entities) == ((), (), [])
    assert [result.text for result in tagged] == texts
    words = Tagger.load(tagger, decoding="viterbi", precision="float32").tag([texts[0].split(), [], texts[2].split()])
    assert [result.tags for result in words] == [result.tags for result in tagged]
    assert words[0] == tagged[0]
    frame = tagged.to_frame()
    assert frame.loc[0, ["type", "text", "start", "end"]].tolist() == ["PER", "old farmer", 4, 14]
    assert len(frame) == sum(map(len, tagged.entities))


def test_refusals(trained, tmp_path):
    for load in (FeatureExtractor.load, QuestionAnswerer.load, Tagger.load):
        with pytest.raises(InputError, match="no checkpoint there"):
            load(tmp_path / "missing")
    with raises(InputError, "pooling=average: "):
        FeatureExtractor.load(trained, pooling="average")
    with pytest.raises(InputError, match="there is no layer 7"):
        FeatureExtractor.load(trained, layers="7")
    with raises(InputError, "texts: "):
        FeatureExtractor.load(trained).extract("a cat")
    with raises(InputError, "texts[1]: "):
        FeatureExtractor.load(trained).extract(["a cat", 3])
    with raises(InputError):
        QuestionAnswerer.load(trained)
    with raises(InputError):
        Tagger.load(trained)


@pytest.fixture(scope="module")
def methods(trained_once, tagger_once, tmp_path_factory) -> dict:
    """Every method that reads texts; questions use the same context for each text."""
    classifier, tagger = Classifier.load(str(trained_once[0])), Tagger.load(str(tagger_once[0]))
    tokens = [*TOKENS, "the", "cat", "sees", "dog"]
    answering, _ = make_source(
        tmp_path_factory.mktemp("answering"), ("spans",), tokens=tokens, max_position_embeddings=96
    )
    pooled, unpooled = (FeatureExtractor.load(str(trained_once[0]), pooling=name) for name in ("mean", "none"))
    return {
        "predict": classifier.predict,
        "records": classifier.records,
        "extract": pooled.extract,
        "extract tokens": unpooled.extract,
        "count_tokens": pooled.count_tokens,
        "tag": tagger.tag,
        "tag records": tagger.records,
        "fill": MaskFiller.load().fill,
        "answer": QuestionAnswerer.load(str(answering), max_seq_length=96).answer,
    }


METHODS = ["predict", "records", "extract", "extract tokens", "count_tokens", "tag", "tag records", "fill", "answer"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_a_generator_and_refuses_other_containers(methods, name):
    texts = ["the [MASK] sees a dog .", "a [MASK]", "the bird [MASK]"]
    items = [(text, "the cat sees a dog .") for text in texts] if name == "answer" else texts
    expected = repr(methods[name](items))
    assert repr(methods[name](item for item in items)) == expected
    assert len(methods[name](tuple(items))) == 3
    frame = pd.DataFrame({"text": texts})
    for values in (
        frame.to_dict(),
        set(items),
        None,
        b"a [MASK]",
        *([] if name in ("predict", "fill") else ["a [MASK]"]),
    ):
        with pytest.raises(InputTypeError, match=r"^(texts|questions): a list of "):
            methods[name](values)
    for item in (None, float("nan"), b"a [MASK]", 3):
        with pytest.raises(InputTypeError, match=r"^(texts|questions)\[1\]: a .* is needed, found "):
            methods[name]([items[0], item])


TABLES = {
    "pandas": lambda pandas, columns: pandas.DataFrame(columns, index=[9, 4]),
    "pandas string[pyarrow]": lambda pandas, columns: pandas.DataFrame(columns, dtype="string[pyarrow]"),
    "pandas category": lambda pandas, columns: pandas.DataFrame(columns, dtype="category"),
    "pyarrow": lambda arrow, columns: arrow.table(columns),
    "polars": lambda polars, columns: polars.DataFrame(columns),
    "datasets": lambda datasets, columns: datasets.Dataset.from_dict(columns),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_tables_and_columns(methods, name, kind):
    library = pytest.importorskip(kind.partition(" ")[0], reason="the library is not installed")
    texts = ["the [MASK] sees a dog .", "a [MASK]"]
    questions = {"id": ["x", "y"], "context": ["the cat sees a dog .", "a cat"], "question": texts}
    columns = questions if name == "answer" else {"id": ["x", "y"], "text": texts}
    table = TABLES[kind](library, columns)
    items = list(zip(texts, questions["context"], strict=True)) if name == "answer" else texts
    results = methods[name](table)
    assert repr(results) == repr(methods[name](items))
    if name != "answer":
        assert repr(methods[name](table["text"])) == repr(results)


def test_labels_must_be_a_list(trained_once):
    folder = str(trained_once[0])
    assert Classifier.load(folder, labels=(name for name in "01")).labels == ("0", "1")
    assert Classifier.load(folder, labels=np.array(["no", "yes"])).labels == ("no", "yes")
    with raises(InputTypeError, "labels: "):
        Classifier.load(folder, labels="01")


def test_explanations_of_several_texts(trained_once):
    classifier = Classifier.load(str(trained_once[0]))
    frame = pd.DataFrame({"sentence": ["the old farmer", "a dog"]}, index=[5, 6])
    explanations = classifier.explain(frame["sentence"], budget=8)
    assert [explanation.words for explanation in explanations] == [("the", "old", "farmer"), ("a", "dog")]
    assert explanations[0] == classifier.explain("the old farmer", budget=8)
    assert explanations.to_frame().loc[6]["word"].tolist() == ["a", "dog"]
    assert list(classifier.explain((text for text in ["a dog"]), budget=8)) == list(explanations[1:])


def test_metrics_of_labeled_texts(trained_once):
    classifier = Classifier.load(str(trained_once[0]), precision="float32")
    texts, labels = ["the old farmer sings .", "a dog", "the bird"], [1, 0, 1]
    predictions = classifier.predict(texts).best
    metrics = classifier.evaluate(texts, labels)
    accuracy = np.mean([str(label) == best for label, best in zip(labels, predictions, strict=True)])
    assert metrics["eval_accuracy"] == pytest.approx(accuracy)
    rows = list(zip(texts, labels, strict=True))
    frame = pd.DataFrame({"label": labels, "text": texts})
    assert classifier.evaluate(rows) == classifier.evaluate(frame) == metrics
    with pytest.raises(InputError, match="cat"):
        classifier.evaluate(texts, ["cat", "0", "1"])


def test_a_model_describes_itself(trained_once, capsys):
    classifier = Classifier.load(str(trained_once[0]), precision="float32")
    lines = repr(classifier).splitlines()
    assert lines[0] == "Classifier"
    assert str(trained_once[0]) in lines[1]
    assert "  labels: 0, 1" in lines
    assert any(line.startswith("  parameters: ") for line in lines)
    assert "<th>labels</th><td>0, 1</td>" in classifier._repr_html_()
    assert classifier.summary()["total"] > 1000
    assert "labels: 0, 1" in capsys.readouterr().out
    assert repr(FeatureExtractor.load()).startswith("FeatureExtractor\n  model: ")


def test_explain_needs_texts(trained_once):
    classifier = Classifier.load(str(trained_once[0]))
    for values in (None, 3, {"a dog"}):
        with raises(InputTypeError, "texts: "):
            classifier.explain(values)
    with raises(InputError, "text_b: "):
        classifier.explain(["a dog"], "a cat")
    with raises(InputTypeError, "text_b: "):
        classifier.explain("a dog", 3)


def test_lost_chunk_is_an_error(trained_once, monkeypatch):
    """Without this error, the array would contain uninitialized memory."""
    extractor = FeatureExtractor.load(str(trained_once[0]))
    whole = list(extractor._vectors.rows([("a dog", None), ("a cat", None)]))
    monkeypatch.setattr(predicting_vectors.TextVectors, "rows", lambda vectors, pairs, prompt_name: iter(whole))
    assert extractor.extract(["a dog", "a cat"]).shape == (2, extractor.width)
    with pytest.raises(RuntimeError, match="2 of 3 texts have a vector"):
        extractor.extract(["a dog", "a cat", "a bird"])


def test_classes_are_importable_without_tensorflow():
    code = "import sys, bert_cli; bert_cli.Tagger, bert_cli.QuestionAnswerer, bert_cli.FeatureExtractor"
    code += "; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_history_of_a_training_is_a_table(trained_once, tmp_path):
    folder = trained_once[0]
    history = Classifier.load(folder).history
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    assert history.index.tolist() == [line["step"] for line in lines]
    assert history["loss"].dropna().tolist() == [line["loss"] for line in lines if "loss" in line]
    evaluated = [line["metrics"] for line in lines if "metrics" in line]
    assert history["eval_loss"].dropna().tolist() == [metrics["eval_loss"] for metrics in evaluated]
    Classifier.load(folder).save(tmp_path / "copy")
    with raises(InputError, "history.jsonl"):
        Classifier.load(tmp_path / "copy").history  # noqa: B018


def test_another_label_is_explained(trained_once):
    classifier = Classifier.load(trained_once[0])
    text = "the old farmer sees a dog"
    predicted = classifier.explain(text, budget=20)
    best = predicted.prediction["label"]
    (other,) = set(classifier.labels) - {best}
    assert classifier.explain(text, budget=20, label=best).shares == predicted.shares
    explanation = classifier.explain(text, budget=20, label=other)
    # With two labels, what speaks for one speaks against the other.
    np.testing.assert_allclose(explanation.shares, np.negative(predicted.shares), atol=1e-6)
    assert explanation.prediction == {**predicted.prediction, "explained_label": other}
    assert classifier.explain([text], budget=20, label=other)[0] == explanation
    for label in ("none", 0):
        with raises(InputError, f"label={label!r}: "):
            classifier.explain(text, label=label)


def test_a_tagger_is_evaluated(tagger_once, run_folder):
    folder, flags = tagger_once
    data = next(flag for flag in flags if flag.startswith("--data_dir=")).partition("=")[2]
    tagger = Tagger.load(folder, precision="float32")
    results = tagger.evaluate(f"{data}/dev.txt")
    stored = run_folder(folder).eval_results()
    assert results == {name: value for name, value in stored.items() if name in results}
    assert {"eval_f1", "eval_precision_PER"} <= results.keys()
    blocks = pathlib.Path(data, "dev.txt").read_text(encoding="utf-8").strip().split("\n\n")
    sentences = [list(zip(*(line.split() for line in block.split("\n")), strict=True)) for block in blocks]
    assert tagger.evaluate(sentences) == results
    for wrong, place in (([(["a"], ["B-OTHER"])], "data[0]: "), (f"{data}/none.txt", "none.txt: ")):
        with raises(InputError, place):
            tagger.evaluate(wrong)
