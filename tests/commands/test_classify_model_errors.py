"""Each mistake in a model's files causes one line that names the file, exit code 1, and no changes."""

import json
import shutil

import numpy as np
import pytest
import safetensors.numpy

from tests.commands.helpers import assert_same_tensors

BAD_CONFIGS = {
    "no JSON": ("vocab_size = 98", [":1: is not JSON"]),
    "cut": ('{\n"vocab_size": 98,\n', [":3: is not JSON"]),
    "a list": ("[98]", ["holds no JSON object"]),
    "empty": ("", ["is not JSON"]),
    "words for numbers": ({"hidden_size": "16"}, ["'16'"]),
    "no layer": ({"num_hidden_layers": 0}, ["found 0"]),
    "heads that do not divide": ({"num_attention_heads": 3}, ["hidden_size 16", "num_attention_heads 3"]),
    "unknown activation": ({"hidden_act": "swish"}, ["hidden_act 'swish'"]),
    "dropout of all": ({"hidden_dropout_prob": 1.0}, ["1.0"]),
    "another kind of model": ({"model_type": "roberta"}, ["model_type is 'roberta'"]),
    "smaller than the vocabulary": ({"vocab_size": 97}, ["has 98 entries", "has 97 words"]),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_bad_config(name, refused, flags, model, tmp_path):
    content, fragments = BAD_CONFIGS[name]
    path = tmp_path / "bert_config.json"
    if isinstance(content, dict):
        values = json.loads((model / "bert_config.json").read_text(encoding="utf-8")) | content
        content = json.dumps({key: value for key, value in values.items() if value is not None})
    path.write_text(content, encoding="utf-8")
    refused([*flags, f"--bert_config_file={path}", "--do_train"], str(path), *fragments)


# name -> (function from the good bytes to bad ones, fragments of the message)
BAD_VOCABULARIES = {
    "without [CLS]": (lambda sound: sound.replace(b"[CLS]\n", b"cls\n"), ["has no line [CLS]"]),
    "empty": (lambda sound: b"", ["is empty"]),
    "UTF-16": (lambda sound: sound.decode().encode("utf-16"), [":1: is not UTF-8"]),
    "larger than the config": (lambda sound: sound + b"one\ntwo\n", ["has 100 entries", "has 98 words"]),
}


@pytest.mark.parametrize("name", BAD_VOCABULARIES)
def test_bad_vocabulary(name, refused, flags, model, tmp_path):
    damage, fragments = BAD_VOCABULARIES[name]
    path = tmp_path / "vocab.txt"
    path.write_bytes(damage((model / "vocab.txt").read_bytes()))
    refused([*flags, f"--vocab_file={path}", "--do_train"], str(path), *fragments)


def test_vocabulary_that_is_a_directory(refused, flags, tmp_path):
    refused([*flags, f"--vocab_file={tmp_path}", "--do_train"], f"{tmp_path}: is a directory", "--vocab_file")


@pytest.mark.parametrize(
    ("ending", "left"),
    [
        *(("index", left) for left in (0.0, 0.01, 0.5, 0.9, 0.9999)),
        # The data end with moments, which only a resumed run reads: see below.
        *(("data-00000-of-00001", left) for left in (0.0, 0.01, 0.5, 0.9)),
    ],
)
def test_truncated_checkpoint(ending, left, trained, flags, trained_flags, refused, classify, snapshot):
    path = trained / f"model.ckpt-30.{ending}"
    content = path.read_bytes()
    path.write_bytes(content[: int(left * len(content))])
    fragments = [str(trained / "model.ckpt-30"), "damaged or cut short"]
    before = snapshot(trained)
    classify("--do_predict", "--strict", f"--output_dir={trained}").assert_refused(*fragments)
    classify(*trained_flags, "--strict", f"--output_dir={trained}").assert_refused(*fragments)
    assert snapshot(trained) == before
    refused([*flags, "--do_train", f"--init_checkpoint={trained / 'model.ckpt-30'}"], *fragments)


@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
def test_run_does_not_resume_from_a_truncated_checkpoint(ending, trained, trained_flags, classify, snapshot):
    for path in trained.glob("model.ckpt-30.*"):
        path.unlink()
    path = trained / f"model.ckpt-20.{ending}"
    path.write_bytes(path.read_bytes()[:-1])
    before = snapshot(trained)
    fragments = (str(trained / "model.ckpt-20"), "cut short")
    classify(*trained_flags, "--strict", f"--output_dir={trained}").assert_refused(*fragments)
    (trained / "model.ckpt-10.index").write_bytes(b"")  # no complete checkpoint is left
    before = snapshot(trained)
    classify(*trained_flags, f"--output_dir={trained}").assert_refused(*fragments)
    assert snapshot(trained) == before


def test_checkpoint_without_its_data(trained, classify):
    (trained / "model.ckpt-30.data-00000-of-00001").unlink()
    flags = ("--do_predict", "--strict", f"--output_dir={trained}")
    classify(*flags).assert_refused(str(trained / "model.ckpt-30"), "damaged")


def test_damaged_checkpoint_is_skipped_for_the_previous_one(trained, trained_once, trained_flags, classify, run_folder):
    """The newest checkpoint has a wrong bit; prediction and training use the one before.

    Training then continues without moments.
    """
    whole, data = run_folder(trained_once[0]), trained / "model.ckpt-30.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[1000] ^= 1  # in bert/embeddings, which prediction needs, too
    data.write_bytes(content)
    (trained / "checkpoint").write_bytes(b"model_check\xff\x00")
    message = f"warning: {trained / 'model.ckpt-30'} is damaged or cut short (the checksum of bert/"
    lost = "is wrong): model.ckpt-20 is used, and steps 21 to 30 are lost"
    outcome = classify("--do_predict", f"--output_dir={trained}", "--engine=onnxruntime")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count(message) == outcome.err.count(lost) == 1
    assert f"{trained / 'model.ckpt-20'}: 25 variables loaded" in outcome.err
    assert "weights alone" not in outcome.err
    outcome = classify(*trained_flags, f"--output_dir={trained}", "--nodo_eval")
    assert outcome.code == 0, outcome.err
    assert f"resuming from {trained / 'model.ckpt-20'}" in outcome.err
    slim = (
        f"warning: {trained / 'model.ckpt-20'} holds weights alone: the optimizer's moments are lost and start from 0"
    )
    assert outcome.err.count(slim) == 1
    assert run_folder(trained).tensors(30).keys() == whole.tensors(30).keys()
    assert (trained / "checkpoint").read_bytes() == (trained_once[0] / "checkpoint").read_bytes()
    assert run_folder(trained).names() == whole.names() - {"report.html"}


@pytest.mark.slow  # test_controls.py resumes bit for bit from an older checkpoint with moments
def test_run_resumes_from_an_older_checkpoint_with_moments(trained_once, trained_flags, tmp_path, classify, run_folder):
    """It ends with the weights of an undisturbed run.

    The newest checkpoint equals the one written with --keep_moments=newest, byte for byte.
    """
    whole, out = run_folder(trained_once[0]), tmp_path / "out"
    flags = [*trained_flags, "--nodo_eval", "--nodo_predict", "--keep_moments=all", f"--output_dir={out}"]
    assert classify(*flags).code == 0
    for name in ("model.ckpt-30.index", "model.ckpt-30.data-00000-of-00001"):
        assert (out / name).read_bytes() == (trained_once[0] / name).read_bytes()
    weights = whole.tensors(20).keys()
    assert {name for name in run_folder(out).tensors(20) if "/adam_" not in name} == weights
    assert not any("/adam_" in name for name in weights)
    data = out / "model.ckpt-30.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-9])
    outcome = classify(*flags)
    assert outcome.code == 0, outcome.err
    assert "model.ckpt-20 is used, and steps 21 to 30 are lost" in outcome.err
    assert "weights alone" not in outcome.err
    assert_same_tensors(run_folder(out).tensors(30), whole.tensors(30))


def test_wrong_number_of_labels(trained, flags, classify, snapshot, tmp_path):
    """A checkpoint of two labels cannot predict three."""
    copied = tmp_path / "copied"  # without run.json, which records that there were two labels
    copied.mkdir()
    for path in [*trained.glob("model.ckpt-30*"), trained / "vocab.txt", trained / "bert_config.json"]:
        shutil.copy(path, copied)
    (copied / "labels.txt").write_text("0\n1\n2\n", encoding="utf-8")
    before = snapshot(copied)
    classify("--do_predict", *flags, f"--output_dir={copied}").assert_refused("[2, 16]", "[3, 16]")
    assert snapshot(copied) == before


@pytest.mark.parametrize("labels", ["1,0", "0,1,2"])
def test_labels_that_the_model_was_not_trained_with(labels, trained, classify, snapshot):
    """Every prediction would have the name of another class if the order changed."""
    before = snapshot(trained)
    outcome = classify("--do_predict", f"--output_dir={trained}", f"--labels={labels}")
    outcome.assert_refused(f"--labels={labels}: ")
    assert snapshot(trained) == before


def test_lost_labels(trained, classify, snapshot):
    """The task's labels 0 and 1 would be two, too, but they are not the trained labels."""
    (trained / "labels.txt").unlink()
    before = snapshot(trained)
    outcome = classify("--do_predict", f"--output_dir={trained}")
    outcome.assert_refused(f"{trained / 'labels.txt'}: ", "0, 1")
    assert snapshot(trained) == before


def test_shapes_of_another_model(trained, refused, flags, model, tmp_path):
    values = json.loads((model / "bert_config.json").read_text(encoding="utf-8")) | {"intermediate_size": 48}
    (tmp_path / "wide.json").write_text(json.dumps(values), encoding="utf-8")
    refused(
        [*flags, "--do_train", f"--bert_config_file={tmp_path / 'wide.json'}", f"--init_checkpoint={trained}"],
        f"{trained / 'model.ckpt-30'}: bert/encoder/layer_",
        "this model needs",
        "(and 2 more such variables)",
        "--bert_config_file",
    )


def write_hugging_face(folder, model, tensors):
    folder.mkdir()
    for source, target in (("bert_config.json", "config.json"), ("vocab.txt", "vocab.txt")):
        shutil.copy(model / source, folder / target)
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    return folder / "model.safetensors"


@pytest.mark.parametrize("size", [0, 5, 60, -40, -1])
def test_cut_safetensors(size, refused, flags, model, tmp_path):
    words = np.zeros((98, 16), np.float32)
    path = write_hugging_face(tmp_path / "hf", model, {"bert.embeddings.word_embeddings.weight": words})
    path.write_bytes(path.read_bytes()[:size])
    refused(
        [*flags, "--do_train", f"--init_checkpoint={tmp_path / 'hf'}"],
        f"{path}: ",
    )


def test_safetensors_of_another_model(refused, flags, model, tmp_path):
    path = write_hugging_face(tmp_path / "hf", model, {"transformer.wte.weight": np.zeros((98, 16), np.float32)})
    refused([*flags, "--do_train", f"--init_checkpoint={path}"], f"{path}: ", "wte")


def test_pickled_weights(refused, flags, model, tmp_path):
    path = write_hugging_face(tmp_path / "hf", model, {"x": np.zeros(1, np.float32)})
    path.rename(path.with_name("pytorch_model.bin"))
    for path_flag in (path.parent, path.with_name("pytorch_model.bin")):
        refused([*flags, "--do_train", f"--init_checkpoint={path_flag}"], "save_pretrained")


def test_folder_of_a_cased_release(refused, flags, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "cased_L-12_H-768_A-12")
    checkpoint = f"--init_checkpoint={tmp_path / 'cased_L-12_H-768_A-12'}"
    refused([*flags, "--do_train", checkpoint, "--do_lower_case"], "--do_lower_case", "cased_L-12_H-768_A-12")


def test_output_dir_must_not_be_the_init_checkpoint(trained, trained_flags, classify, snapshot):
    before = snapshot(trained)
    outcome = classify(*trained_flags, f"--output_dir={trained}", f"--init_checkpoint={trained}")
    outcome.assert_refused("--init_checkpoint", "lies in --output_dir")
    assert snapshot(trained) == before


DAMAGED = {
    "flags.txt": ("--do_predict", b"--max_seq_length=abc\n", ["flags.txt: "]),
    "labels.txt": ("--do_predict", b"0\n\xff\n", ["labels.txt:2: "]),
    "bert_config.json": ("--do_predict", b"{", ["bert_config.json:1: "]),
    "vocab.txt": ("--do_predict", b"a\nb\n", ["vocab.txt: "]),
    "run.json": ("--do_train", b"{", ["run.json:1: ", "--overwrite_output_dir"]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_of_a_run(name, trained, trained_flags, classify, snapshot):
    action, content, message = DAMAGED[name]
    (trained / name).write_bytes(content)
    before = snapshot(trained)
    flags = trained_flags if action == "--do_train" else [action]
    classify(*flags, f"--output_dir={trained}").assert_refused(*message)
    assert snapshot(trained) == before


def test_manifest_must_be_an_object(trained, trained_flags, classify):
    (trained / "run.json").write_text("[]", encoding="utf-8")
    classify(*trained_flags, f"--output_dir={trained}").assert_refused("run.json: ")
