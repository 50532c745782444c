"""A name of a model in place of a path is answered with where the model is to be had."""

import pytest

from bert_cli.weights.known_models import download_advice


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        (
            "bert-base-uncased",
            ["2018_10_18/uncased_L-12_H-768_A-12.zip", "--from=uncased_L-12_H-768_A-12/bert_model.ckpt"],
        ),
        ("google-bert/bert-base-cased", ["cased_L-12_H-768_A-12.zip", "--do_lower_case=false"]),
        (
            "google/bert_uncased_L-2_H-128_A-2",
            [
                "https://storage.googleapis.com/bert_models/2020_02_20/uncased_L-2_H-128_A-2.zip",
                "https://huggingface.co/google/bert_uncased_L-2_H-128_A-2 into",
            ],
        ),
        ("uncased_L-8_H-512_A-8", ["2020_02_20/uncased_L-8_H-512_A-8.zip", "google/bert_uncased_L-8_H-512_A-8 into"]),
        (
            "uncased_L-12_H-768_A-12",
            ["2018_10_18/uncased_L-12_H-768_A-12.zip", "huggingface.co/google-bert/bert-base-uncased into"],
        ),
        ("multi_cased_L-12_H-768_A-12", ["2018_11_23/multi_cased_L-12_H-768_A-12.zip", "--do_lower_case=false"]),
        ("someone/my-bert", ["https://huggingface.co/someone/my-bert"]),
        ("distilbert-base", ["its page on huggingface.co"]),
    ],
)
def test_names(path, parts):
    text = download_advice(path, "from")
    for part in parts:
        assert part in text


@pytest.mark.parametrize(
    "path", ["./bert-x", "a/b/bert-x", "bert-x.ckpt", "model.zip", "some-model", "bert", "uncased_L-3_H-128_A-2"]
)
def test_paths(path):
    assert download_advice(path, "from") is None


def test_uncased_models_need_no_flag():
    assert "--do_lower_case" not in download_advice("bert-large-uncased-whole-word-masking", "from")
