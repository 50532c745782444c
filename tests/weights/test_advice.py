"""Download advice if a model name is given as a path."""

import pytest

from bert_cli.weights.advice import download_advice


@pytest.mark.parametrize(
    ("path", "expected_texts"),
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
def test_model_names_have_advice(path, expected_texts):
    text = download_advice(path, "from")
    for expected_text in expected_texts:
        assert expected_text in text


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("microsoft/deberta-v3-base", "deberta"),
        ("FacebookAI/roberta-base", "roberta"),
        ("xlm-roberta-base", "xlm"),
        ("sentence-transformers/all-mpnet-base-v2", "mpnet"),
        ("albert-base-v2", "albert"),
        ("google-t5/t5-small", "t5"),
        ("nomic-ai/nomic-embed-text-v1", "nomic"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3"),
    ],
)
def test_a_name_of_another_network_is_not_to_be_downloaded(path, word):
    text = download_advice(path, "from")
    assert f"another network than BERT ({word})" in text
    assert "download " not in text


@pytest.mark.parametrize(
    "path",
    [
        "sentence-transformers/all-MiniLM-L6-v2",
        "BAAI/bge-small-en-v1.5",
        "hfl/chinese-roberta-wwm-ext",
        "dslim/bert-base-NER",
        "nobody/small-model",
        "my_team/Text_Classifier-v1",
    ],
)
def test_a_bert_by_another_name(path):
    assert f"https://huggingface.co/{path} into a folder" in download_advice(path, "from")


def test_a_name_in_a_directory_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    assert download_advice("models/small-model", "from") is None
    assert "its page on huggingface.co" in download_advice("all-MiniLM-L6-v2", "from")


@pytest.mark.parametrize(
    "path", ["./bert-x", "a/b/bert-x", "bert-x.ckpt", "model.zip", "some-model", "bert", "uncased_L-3_H-128_A-2"]
)
def test_paths_have_no_advice(path):
    assert download_advice(path, "from") is None


def test_uncased_models_need_no_flag():
    assert "--do_lower_case" not in download_advice("bert-large-uncased-whole-word-masking", "from")
