"""Classes of the Python API used by several threads: each call gets its result."""

import concurrent.futures

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger

TEXTS = [
    f"the {size} {animal} sees a {second_animal}"
    for size in ("old", "small")
    for animal in ("dog", "cat")
    for second_animal in ("bird", "fish", "horse")
]


def from_threads(call):
    """Return the results of `call` for each text, from eight threads that start together."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(call, TEXTS * 4))


@pytest.mark.parametrize("engine", ["onnxruntime", "tensorflow"])
def test_classifiers_and_vectors(trained_once, engine):
    model = Classifier.load(str(trained_once[0]), engine=engine, precision="float32")
    alone = [model.predict([text]).probabilities[0] for text in TEXTS] * 4
    np.testing.assert_allclose(from_threads(lambda text: model.predict([text]).probabilities[0]), alone, atol=1e-6)
    encoder = FeatureExtractor.load(str(trained_once[0]), engine=engine, precision="float32")
    alone = [encoder.extract([text])[0] for text in TEXTS] * 4
    np.testing.assert_allclose(from_threads(lambda text: encoder.extract([text])[0]), alone, atol=1e-5)


def test_other_heads(tagger_once, answering):
    tagger = Tagger.load(str(tagger_once[0]))
    assert from_threads(lambda text: tagger.tag([text])[0].tags) == [tagger.tag([text])[0].tags for text in TEXTS] * 4
    answerer = QuestionAnswerer.load(str(answering))

    def answer(text):
        return answerer.answer([("who sees ?", f"{text} . a bird sings .")])[0].answer

    assert from_threads(answer) == [answer(text) for text in TEXTS] * 4
    filler = MaskFiller.load()

    def fill(text):
        return [
            candidate.token
            for candidate in filler.fill(text.replace("sees", "[MASK]"), top_k=1 + len(text) % 3).masks[0]
        ]

    assert from_threads(fill) == [fill(text) for text in TEXTS] * 4
