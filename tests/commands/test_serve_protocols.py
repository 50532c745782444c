"""bert-serve's protocols with trained models, as a process, compared with the Python API."""

import shutil

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, QuestionAnswerer, Tokenizer
from tests.commands.test_serve import TEXTS, serving

PAIRS = [(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2])]


@pytest.fixture(scope="module")
def pairs(trained_once, tmp_path_factory):
    """The trained classifier as a classifier of pairs."""
    folder = shutil.copytree(trained_once[0], tmp_path_factory.mktemp("pairs") / "out")
    flags = folder / "flags.txt"
    flags.write_text(flags.read_text("utf-8").replace("--task_name=cola", "--task_name=mrpc"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def served(pairs, tagger_once, answering):
    with serving(
        f"--model=pairs={pairs}",
        f"--model=tags={tagger_once[0]}",
        f"--model=answers={answering}",
        f"--model=words={answering}",
    ) as server:
        yield server


def test_columns_of_all_kinds(served, pairs, answering):
    """KServe's and TensorFlow Serving's columns are the members of POST /predict."""
    first, second = (list(texts) for texts in zip(*PAIRS, strict=True))
    for model, columns in (
        ("pairs", {"text": first, "text_b": second}),
        ("tags", {"text": first}),
        ("answers", {"question": ["who sees a dog ?"], "context": ["the cat sees a dog . a bird sings ."]}),
    ):
        status, answer = served.post(f"/v1/models/{model}:predict", {"inputs": columns})
        assert status == 200
        rows = served.post(
            "/predict",
            {
                "texts": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
                "model": model,
            },
        )[1]["predictions"]
        outputs = {tensor["name"]: tensor for tensor in served.ask("GET", f"/v2/models/{model}")[1]["outputs"]}
        echoed = {"index", "id", "nbest", "null_odds", *columns}
        assert outputs.keys() == rows[0].keys() - echoed
        inputs = [
            {"name": name, "datatype": "BYTES", "shape": [len(texts)], "data": texts} for name, texts in columns.items()
        ]
        tensors = served.post(f"/v2/models/{model}/infer", {"inputs": inputs})[1]["outputs"]
        assert [tensor["name"] for tensor in tensors] == list(outputs)
        if model == "pairs":
            expected = Classifier.load(str(pairs)).predict(PAIRS)
            assert answer["outputs"]["label"] == expected.best
            np.testing.assert_allclose(answer["outputs"]["probabilities"], expected.probabilities, atol=1e-6)
            np.testing.assert_allclose(tensors[1]["data"], np.ravel(expected.probabilities), atol=1e-6)
        if model == "answers":
            expected = QuestionAnswerer.load(str(answering)).records([tuple(texts[0] for texts in columns.values())])[0]
            assert answer["outputs"]["answer"] == [expected["answer"]]


def test_vectors_and_ranks(served, pairs):
    expected = FeatureExtractor.load(str(pairs), normalize=True).extract(TEXTS)
    status, vectors = served.post("/embed", {"inputs": TEXTS})
    assert status == 200
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    body = {"query": TEXTS[0], "texts": TEXTS}
    scores = Classifier.load(str(pairs)).predict([(TEXTS[0], text) for text in TEXTS]).probabilities[:, 1]
    ranks = served.post("/rerank", body)[1]
    assert [rank["index"] for rank in ranks] == np.argsort(-scores).tolist()
    np.testing.assert_allclose([rank["score"] for rank in ranks], -np.sort(-scores), atol=1e-6)
    cosines = np.asarray(vectors) @ vectors[0]
    ranks = served.post("/v1/rerank", {"query": TEXTS[0], "documents": TEXTS, "model": "answers"})[1]["results"]
    assert ranks[0]["index"] == 0
    assert ranks[0]["relevance_score"] == pytest.approx(1, abs=1e-5)
    assert len(ranks) == len(cosines)


def test_tokens(served, pairs):
    texts = ["The dogs, séen!", "a bird"]
    tokens = served.post("/tokenize", {"inputs": texts})[1]
    tokenizer = Tokenizer.load(str(pairs))
    for text, row in zip(texts, tokens, strict=True):
        assert [token["id"] for token in row] == tokenizer.encode(text)["input_ids"]
        assert [token["special"] for token in row] == [True, *[False] * (len(row) - 2), True]
        assert all(text[token["start"] : token["stop"]] == token["text"] for token in row[1:-1])
