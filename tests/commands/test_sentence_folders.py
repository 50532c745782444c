"""Directories of sentence-transformers in all callers, compared with the vectors that it gives."""

import json
import pickle

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, convert_checkpoint, export_model, extract_features, run_classifier
from bert_cli.base.errors import InputError
from bert_cli.sentence.modules import read_modules
from bert_cli.serving.http.openai import embedding_items
from bert_cli.serving.loading import load_served
from bert_cli.serving.responses import RequestError
from bert_cli.settings.answering import ModelFlags
from bert_cli.settings.serving import Limits
from bert_cli.weights.path import find_checkpoint
from tests.sentence_cases import CASES, TEXTS, expected_vectors, folder_of
from tests.snapshots import check_message, raises
from tests.transformers_python import ask

# Keras 3.15 asks NumPy 2 for a TensorFlow variable's numbers in the old way; Python hides this warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def assert_same(vectors, name):
    np.testing.assert_allclose(np.asarray(vectors), expected_vectors(name), atol=1e-5)


def prompt_of(name):
    return CASES[name].get("prompt_name")


@pytest.mark.parametrize("name", CASES)
def test_feature_extractor(name, tmp_path):
    extractor = FeatureExtractor.load(str(folder_of(name, tmp_path / "m")), prompt_name=prompt_of(name))
    assert_same(extractor.extract(TEXTS), name)
    assert extractor.width == len(expected_vectors(name)[0])


@pytest.mark.parametrize("name", CASES)
def test_served_vectors(name, tmp_path):
    model = load_served("m", ModelFlags(), find_checkpoint(str(folder_of(name, tmp_path / "m"))))
    body = {"input": TEXTS} | ({"prompt_name": prompt_of(name)} if prompt_of(name) else {})
    embeddings = model.vectors.embed(embedding_items(body, model, Limits()))
    assert_same([embedding.vector for embedding in embeddings], name)


def test_prompts_of_served_texts_may_differ(tmp_path):
    model = load_served("m", ModelFlags(), find_checkpoint(str(folder_of("named_prompt", tmp_path / "m"))))
    passages = embedding_items({"input": TEXTS[:2], "prompt_name": "passage"}, model, Limits())
    queries = embedding_items({"input": TEXTS[:2]}, model, Limits())
    mixed = model.vectors.embed([passages[0], queries[1], passages[1]])
    np.testing.assert_allclose(mixed[0][0], expected_vectors("named_prompt")[0], atol=1e-5)
    np.testing.assert_allclose(mixed[1][0], model.vectors.embed(queries)[1][0], atol=1e-6)
    np.testing.assert_allclose(mixed[2][0], expected_vectors("named_prompt")[1], atol=1e-5)
    # "passage of the dog" with [CLS] and [SEP]
    assert mixed[0][1] == 6
    with raises(RequestError, "'prompt_name': "):
        embedding_items({"input": "a", "prompt_name": "x"}, model, Limits())


@pytest.mark.parametrize("name", ["cls", "chain", "without_prompt_tokens", "length"])
def test_extracted_files(name, tmp_path):
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    flags = [f"--init_checkpoint={folder_of(name, tmp_path / 'm')}", f"--input_file={tmp_path / 'in.txt'}"]
    assert extract_features.main([*flags, f"--output_file={tmp_path / 'out.jsonl'}"]) == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert_same([line["values"] for line in lines], name)


def test_flags_replace_the_modules(tmp_path, capsys):
    (tmp_path / "in.txt").write_text("the dog\n", encoding="utf-8")
    folder = folder_of("dense", tmp_path / "m")
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'in.txt'}", "--pooling=cls"]
    assert extract_features.main([*flags, f"--output_file={tmp_path / 'out.jsonl'}"]) == 0
    vector = json.loads((tmp_path / "out.jsonl").read_text())["values"]
    np.testing.assert_allclose(
        vector, FeatureExtractor.load(str(folder), pooling="cls").extract(["the dog"])[0], atol=1e-5
    )
    assert len(vector) == 8
    check_message(capsys.readouterr().err, "--pooling=cls")


@pytest.mark.parametrize("name", ["chain", "concatenated", "without_prompt_tokens"])
@pytest.mark.parametrize("target", ["hf", "tf1/bert_model.ckpt"])
def test_converted_directories_give_the_same_vectors(name, target, tmp_path):
    source = folder_of(name, tmp_path / "m")
    assert convert_checkpoint.main([f"--from={source}", f"--to={tmp_path / target}"]) == 0
    folder = str(tmp_path / target.partition("/")[0])
    assert_same(FeatureExtractor.load(folder, prompt_name=prompt_of(name)).extract(TEXTS), name)


def test_a_module_that_cannot_be_computed_stops_a_conversion(tmp_path, capsys):
    source = folder_of("max", tmp_path / "m")
    modules = json.loads((source / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_LSTM", "type": "sentence_transformers.models.LSTM"})
    (source / "modules.json").write_text(json.dumps(modules))
    flags = [f"--from={source}", f"--to={tmp_path / 'hf'}"]
    assert convert_checkpoint.main(flags) == 1
    assert "lists the module LSTM (2_LSTM)" in capsys.readouterr().err
    assert convert_checkpoint.main([*flags, "--head=encoder"]) == 0
    assert "warning: dropped: the modules in" in capsys.readouterr().err
    assert not (tmp_path / "hf" / "modules.json").exists()


def test_modules_of_another_model_in_the_target_are_refused(tmp_path, capsys):
    target = tmp_path / "hf"
    target.mkdir()
    (target / "modules.json").write_text("[]")
    source = folder_of("max", tmp_path / "m")
    (source / "modules.json").unlink()
    assert convert_checkpoint.main([f"--from={source}", f"--to={target}"]) == 1
    check_message(capsys.readouterr().err, "modules.json: ")


@pytest.mark.parametrize("name", ["chain", "prompt"])
def test_saved_and_pickled_extractors_give_the_same_vectors(name, tmp_path):
    extractor = FeatureExtractor.load(str(folder_of(name, tmp_path / "m")))
    extractor.save(str(tmp_path / "saved"))
    assert_same(FeatureExtractor.load(str(tmp_path / "saved")).extract(TEXTS), name)
    assert_same(pickle.loads(pickle.dumps(extractor)).extract(TEXTS), name)


def test_a_chosen_pooling_is_written(tmp_path):
    """A plain encoder becomes a directory of sentence-transformers."""
    source = folder_of("cls", tmp_path / "m")
    for path in ("modules.json", "1_Pooling", "2_Normalize"):
        (source / path).rename(tmp_path / path)
    extractor = FeatureExtractor.load(str(source), pooling="cls", normalize=True, max_seq_length=24)
    for write, folder in ((extractor.save, tmp_path / "saved"), (extractor.to_hugging_face, tmp_path / "hf")):
        write(str(folder))
        assert read_modules(str(folder)).describe() == "pooling cls, length 1"
        assert_same(FeatureExtractor.load(str(folder)).extract(TEXTS), "cls")


def test_onnx_exports_keep_the_modules(tmp_path):
    source = folder_of("chain", tmp_path / "m")
    flags = [f"--init_checkpoint={source}", f"--export_dir={tmp_path / 'onnx'}", "--names=hugging_face"]
    for more in ([], ["--overwrite"]):
        assert export_model.main(["--format=onnx", *flags, *more]) == 0
    assert read_modules(str(tmp_path / "onnx")).describe() == read_modules(str(source)).describe()


@pytest.mark.slow
def test_sentence_transformers_reads_the_written_directories(tmp_path):
    jobs = []
    for name in CASES:
        source, target = folder_of(name, tmp_path / name), tmp_path / f"{name}-converted"
        assert convert_checkpoint.main([f"--from={source}", f"--to={target}"]) == 0
        jobs.append({"folder": str(target), "texts": TEXTS, "prompt_name": prompt_of(name)})
    for name, vectors in zip(CASES, ask("sentence_folders.py", jobs), strict=True):
        assert_same(vectors, name)


@pytest.mark.parametrize("arguments", [{"layers": "0"}, {"long_text": True}, {"pooling": "pooler"}])
def test_choices_that_no_module_computes_are_said(arguments, tmp_path, caplog):
    extractor = FeatureExtractor.load(str(folder_of("mean", tmp_path / "m")), **arguments)
    extractor.save(tmp_path / "saved")
    check_message(caplog.text, next(iter(arguments)))
    caplog.clear()
    FeatureExtractor.load(str(tmp_path / "m")).save(tmp_path / "plain")
    assert "no modules" not in caplog.text


def test_the_log_counts_the_loaded_variables(tmp_path, capfd):
    (tmp_path / "in.txt").write_text("the dog\n", encoding="utf-8")
    flags = [f"--init_checkpoint={folder_of('mean', tmp_path / 'm')}", f"--input_file={tmp_path / 'in.txt'}"]
    assert extract_features.main([*flags, f"--output_file={tmp_path / 'out.jsonl'}"]) == 0
    assert capfd.readouterr().err.count(" variables loaded, 0 missing, ") == 1


def test_an_encoder_has_no_classifier(tmp_path, capsys):
    """SetFit's directories are like this, with the classifier in a pickle."""
    folder = folder_of("mean", tmp_path / "m")
    with raises(InputError):
        Classifier.load(str(folder))
    assert run_classifier.main([f"--init_checkpoint={folder}", "--text=a", f"--output_dir={tmp_path / 'none'}"]) == 1
    assert "has no trained classifier, only an encoder" in capsys.readouterr().err
