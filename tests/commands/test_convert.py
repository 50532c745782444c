"""bert-convert: bit-exact round trips with all heads, other files, and use by other commands."""

import functools
import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.commands.convert_run import TOKENS, assert_holds, convert, make_source, refused, tensors_of
from tests.rows import write_rows
from tests.snapshots import check_message

# Keras 3.15 reads TensorFlow variables through an old NumPy interface; Python hides this
# warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture
def source(tmp_path):
    """source(heads, labels, **config) -> a TF1 directory with random weights, and its tensors."""
    return functools.partial(make_source, tmp_path)


def test_from_tf1_to_keras_and_back_with_all_heads(source, tmp_path):
    folder, tensors = source()
    report = convert(folder, tmp_path / "keras" / "x.weights.h5", check=True)
    assert report["files"] == ["bert_config.json", "vocab.txt", "x.weights.h5"]
    assert report["unused"] == []
    assert set(report["differences"].values()) == {0.0}
    assert len(report["differences"]) == 7
    convert(tmp_path / "keras" / "x.weights.h5", tmp_path / "back" / "model.ckpt-1")
    assert_holds(tmp_path / "back" / "model.ckpt-1", tensors)
    for name in ("bert_config.json", "vocab.txt"):
        assert (tmp_path / "back" / name).read_bytes() == (folder / name).read_bytes()


def test_the_mean_of_the_last_checkpoints(source, tmp_path, capfd):
    """The mean covers the last two of three checkpoints and leaves out optimizer variables."""
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    folder, tensors = source(("masked_lm",))
    for number, factor in ((10, 100.0), (20, 0.5), (30, 1.0)):
        values = {name: tensor * np.float32(factor) for name, tensor in tensors.items()}
        write_tf1(str(folder / f"model.ckpt-{number}"), values | {"global_step": np.int64(number)})
    convert(folder / "model.ckpt-30", tmp_path / "mean" / "bert_model.ckpt", average_last=2)
    # Halves of the weights are exact, and so is their mean with the whole in float64,
    # which is rounded once.
    mean = {name: (tensor.astype(np.float64) * 0.75).astype(np.float32) for name, tensor in tensors.items()}
    assert_holds(tmp_path / "mean" / "bert_model.ckpt", mean)
    flags = [f"--to={tmp_path / 'no.ckpt'}", "--average_last=3"]
    check_message(refused(capfd, f"--from={folder / 'model.ckpt-20'}", *flags), "2 checkpoints")
    check_message(refused(capfd, f"--from={folder / 'bert_model.ckpt'}", *flags))


@pytest.mark.parametrize("name", ["hf", "google/bert_model.ckpt", "model.weights.h5"])
def test_a_head_that_no_nsp_left_untrained_is_dropped(source, tmp_path, capfd, name):
    folder, tensors = source(("masked_lm", "next_sentence"), name="run")
    (folder / "flags.txt").write_text("--no_nsp=true\n")
    report = convert(folder, tmp_path / name)
    assert not any("seq_relationship" in weight for weight in report["converted"])
    assert set(report["unused"]) == {weight for weight in tensors if "seq_relationship" in weight}
    if name == "hf":
        assert json.loads((tmp_path / "hf" / "config.json").read_text())["architectures"] == ["BertForMaskedLM"]
    for head in ("pretraining", "next_sentence"):
        check_message(
            refused(capfd, f"--from={folder}", f"--to={tmp_path / 'x'}", f"--head={head}"), f"--head={head}: "
        )
    assert not (tmp_path / "x").exists()


ONE_HEAD = [
    ("encoder", (), (), "BertModel"),
    ("pretraining", ("masked_lm", "next_sentence"), (), "BertForPreTraining"),
    ("masked_lm", ("masked_lm",), (), "BertForMaskedLM"),
    ("next_sentence", ("next_sentence",), (), "BertForNextSentencePrediction"),
    ("classifier", ("classifier",), ("no", "so-so", "yes"), "BertForSequenceClassification"),
    ("classifier", ("classifier",), (), "BertForSequenceClassification"),
    ("tagger", ("classifier",), ("O", "B-X", "I-X"), "BertForTokenClassification"),
    ("spans", ("spans",), (), "BertForQuestionAnswering"),
]
# Comparing the outputs takes most of a conversion's time: two heads, and a class without a pooler.
COMPARED = ("pretraining", "tagger")


@pytest.mark.parametrize(
    ("class_name", "heads", "labels", "architecture", "check"),
    [
        *((*case, case[0] in COMPARED) for case in ONE_HEAD),
        *(pytest.param(*case, True, marks=pytest.mark.slow) for case in ONE_HEAD if case[0] not in COMPARED),
    ],
)
def test_from_tf1_to_hugging_face_and_back(source, tmp_path, class_name, heads, labels, architecture, check):
    """A class without a pooler loses only the pooler."""
    gelu = "erf" if class_name in ("pretraining", "spans") else "tanh"
    folder, tensors = source(heads, labels, gelu=gelu)
    report = convert(folder, tmp_path / "hf", check=check)
    values = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert values["architectures"] == [architecture]
    assert values["hidden_act"] == {"tanh": "gelu_new", "erf": "gelu"}[gelu]
    if check:
        assert set(report["differences"].values()) == {0.0}
        assert ("pooled_output" in report["differences"]) == (class_name not in ("masked_lm", "tagger", "spans"))
    if "classifier" in heads:
        assert list(values["id2label"].values()) == list(labels or ("LABEL_0", "LABEL_1", "LABEL_2"))
    convert(tmp_path / "hf", tmp_path / "back", to_format="tf1")
    kept = {name: value for name, value in tensors.items() if name not in report["left_out"]}
    assert_holds(tmp_path / "back" / "bert_model.ckpt", kept)
    names = {"bert_config.json", "vocab.txt", *(["labels.txt"] if labels else [])}
    for name in names:
        assert (tmp_path / "back" / name).read_bytes() == (folder / name).read_bytes()
    assert {path.name for path in (tmp_path / "back").iterdir()} == names | {
        "bert_model.ckpt.index",
        "bert_model.ckpt.data-00000-of-00001",
    }


@pytest.mark.parametrize(("class_name", "heads", "labels", "architecture"), ONE_HEAD)
def test_transformers_agree(source, tmp_path, class_name, heads, labels, architecture):
    transformers = pytest.importorskip("transformers", reason="needs transformers, which is not part of the project")
    torch = pytest.importorskip("torch", reason="needs torch, which is not part of the project")
    from bert_cli.exports.loaded import build_network
    from bert_cli.model.config_files import read_config
    from bert_cli.weights.checkpoint import open_source, read_with_heads
    from bert_cli.weights.path import find_checkpoint

    folder, _ = source(heads, labels)
    convert(folder, tmp_path / "hf")
    theirs, info = getattr(transformers, architecture).from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(info.values())
    config = read_config(str(folder / "bert_config.json"))
    weights = read_with_heads(open_source(find_checkpoint(str(folder))), config, heads)
    ours = build_network(config, heads, weights.tensors, class_name == "tagger")
    rng = np.random.default_rng(0)
    words, types = rng.integers(0, len(TOKENS), (3, 12), np.int32), rng.integers(0, 2, (3, 12), np.int32)
    outputs = ours({"input_word_ids": words, "input_mask": np.ones_like(words), "input_type_ids": types})
    outputs = {name: value.numpy() for name, value in outputs.items()}
    with torch.no_grad():
        their_outputs = theirs.eval()(torch.tensor(words).long(), token_type_ids=torch.tensor(types).long())
    logits = [
        outputs[name] for name in ("classifier_logits", "masked_lm_logits", "next_sentence_logits") if name in outputs
    ]
    expected = {
        "encoder": [outputs["sequence_output"], outputs["pooled_output"]],
        "spans": list(outputs.get("span_logits", [])),
    }.get(class_name, logits)
    for their_output, our_output in zip(their_outputs.to_tuple(), expected, strict=True):
        np.testing.assert_allclose(their_output.numpy(), our_output, atol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert tokenizer("All work, and no pläy!")["input_ids"] == [2, 5, 6, 15, 7, 8, 9, 1, 3]


def test_google_checkpoints(shared, tmp_path):
    source = shared / "data" / "checkpoint_tf1_tiny"
    report = convert(source, tmp_path / "hf", check=True)
    assert set(report["differences"].values()) == {0.0}
    convert(tmp_path / "hf", tmp_path / "h5", to_format="h5")
    convert(tmp_path / "h5", tmp_path / "back", to_format="tf1")
    before = tensors_of(source / "bert_model.ckpt")
    weights = {name for name in before if name != "global_step" and not name.endswith(("/adam_m", "/adam_v"))}
    assert tensors_of(tmp_path / "back" / "bert_model.ckpt") == {name: before[name] for name in weights}
    assert len(before) == 3 * len(weights) + 1


def test_one_of_several_heads(source, tmp_path, capfd):
    folder, tensors = source(labels=("a", "b", "c"))
    check_message(refused(capfd, f"--from={folder}", f"--to={tmp_path / 'hf'}"), "--head")
    assert not (tmp_path / "hf").exists()
    report = convert(folder, tmp_path / "hf", head="tagger")
    assert "output_weights" in report["converted"]
    assert "cls/squad/output_bias" in report["unused"]
    stored = load_file(tmp_path / "hf" / "model.safetensors")
    np.testing.assert_array_equal(stored["classifier.weight"], tensors["output_weights"])


def test_narrow_types(source, tmp_path, capfd):
    folder, _ = source(("spans",), num_hidden_layers=1)
    report = convert(folder, tmp_path / "hf", float16=True, check=True)
    assert 0 < report["differences"]["span_logits"] < 0.1
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["torch_dtype"] == "float16"
    assert {str(value.dtype) for value in load_file(tmp_path / "hf" / "model.safetensors").values()} == {"float16"}
    for target in ("x.ckpt", "x.weights.h5"):
        line = refused(capfd, f"--from={folder}", f"--to={tmp_path / target}", "--bfloat16")
        assert "holds float32" in line


def test_resizing(source, tmp_path):
    folder, tensors = source(("masked_lm",), num_hidden_layers=1)
    report = convert(folder, tmp_path / "x.ckpt", resize_vocab=30, resize_positions=20, check=True)
    assert max(report["differences"].values()) < 1e-5
    resized = tensors_of(tmp_path / "x.ckpt")
    words = np.frombuffer(resized["bert/embeddings/word_embeddings"], np.float32).reshape(30, 16)
    np.testing.assert_array_equal(words[:17], tensors["bert/embeddings/word_embeddings"])
    values = json.loads((tmp_path / "bert_config.json").read_text())
    assert (values["vocab_size"], values["max_position_embeddings"]) == (30, 20)


def test_a_larger_vocabulary_is_refused(source, tmp_path, capfd):
    folder, _ = source(())
    write_rows(folder / "vocab.txt", [*TOKENS, "more"])
    check_message(refused(capfd, f"--from={folder}", f"--to={tmp_path / 'hf'}"), "18 entries", "--resize_vocab=18")
    assert not (tmp_path / "hf").exists()
    check_message(refused(capfd, f"--from={folder}", f"--to={tmp_path / 'y'}", "--resize_vocab=17"))
    os.remove(folder / "vocab.txt")
    report = convert(folder, tmp_path / "bare")
    assert report["files"] == ["config.json", "model.safetensors"]


def test_casing_and_a_vocabulary_in_tokenizer_json_only(source, tmp_path):
    folder, _ = source(())
    convert(folder, tmp_path / "hf", do_lower_case=False)
    os.remove(tmp_path / "hf" / "vocab.txt")
    convert(tmp_path / "hf", tmp_path / "back" / "m.ckpt")
    assert (tmp_path / "back" / "vocab.txt").read_text().split() == TOKENS
    assert json.loads((tmp_path / "back" / "tokenizer_config.json").read_text())["do_lower_case"] is False


def test_conversion_within_a_directory(source):
    folder, _ = source(("classifier",), ("a", "b", "c"))
    assert convert(folder, folder / "x.weights.h5")["files"] == ["x.weights.h5"]
    convert(folder / "bert_model.ckpt", folder)
    convert(folder / "bert_model.ckpt", folder, overwrite=True, head="encoder")
    assert "classifier.weight" not in load_file(folder / "model.safetensors")


def test_tagger_is_recognized_by_its_flags(source, tmp_path, capfd):
    """flags.txt has a tagger's scheme and layers; Hugging Face's class reads the last layer only."""
    folder, tensors = source(("classifier",), ("a", "b", "c"))
    (folder / "flags.txt").write_text("--tag_scheme=IO\n--layers=1\n")
    convert(folder, tmp_path / "hf")
    values = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert values["architectures"] == ["BertForTokenClassification"]
    assert not (tmp_path / "hf" / "flags.txt").exists()
    (folder / "flags.txt").write_text("--tag_scheme=IO\n--layers=0\n")
    check_message(refused(capfd, f"--from={folder}", f"--to={tmp_path / 'other'}"))
    convert(folder, tmp_path / "copy" / "x.ckpt")
    assert (tmp_path / "copy" / "flags.txt").read_text() == "--tag_scheme=IO\n--layers=0\n"
    assert_holds(tmp_path / "copy" / "x.ckpt", tensors)


def test_labels_of_a_hugging_face_folder(source, tmp_path):
    """A directory written by transformers has its labels only in config.json."""
    folder, _ = source(("classifier",), ("no", "so-so", "yes"))
    convert(folder, tmp_path / "hf")
    os.remove(tmp_path / "hf" / "labels.txt")
    convert(tmp_path / "hf", tmp_path / "x.ckpt")
    assert (tmp_path / "labels.txt").read_text() == "no\nso-so\nyes\n"


def test_labels_keep_drop_rename_and_permute_rows(source, tmp_path):
    folder, tensors = source(("classifier",), ("no", "so-so", "yes"))
    (folder / "flags.txt").write_text("--problem_type=single_label\n--labels=no,so-so,yes\n--positive_label=yes\n")
    (folder / "calibration.json").write_text('{"temperature": 2.0, "rows": 9}')
    report = convert(folder, tmp_path / "hf", labels=("ja=yes", "no"), check=True)
    assert set(report["differences"].values()) == {0.0}
    written = load_file(tmp_path / "hf" / "model.safetensors")
    for name, stored in (("classifier.weight", "output_weights"), ("classifier.bias", "output_bias")):
        np.testing.assert_array_equal(written[name], tensors[stored][[2, 0]])
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["id2label"] == {"0": "ja", "1": "no"}
    assert not (tmp_path / "hf" / "calibration.json").exists(), "it was fitted with the dropped label"

    convert(folder, tmp_path / "new" / "m.ckpt", labels=("yes", "nein=no", "so-so"))
    assert_holds(
        tmp_path / "new" / "m.ckpt",
        tensors | {name: tensors[name][[2, 0, 1]] for name in ("output_weights", "output_bias")},
    )
    assert (tmp_path / "new" / "labels.txt").read_text() == "yes\nnein\nso-so\n"
    flags = (tmp_path / "new" / "flags.txt").read_text()
    assert flags == "--problem_type=single_label\n--labels=yes,nein,so-so\n--positive_label=yes\n"
    assert json.loads((tmp_path / "new" / "calibration.json").read_text())["temperature"] == 2.0


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, {"no": 0.25, "so-so": 0.5, "yes": 0.75}),
        (("ja=yes", "no"), {"ja": 0.75, "no": 0.25}),
        (("so-so", "yes", "no"), {"no": 0.25, "so-so": 0.5, "yes": 0.75}),
    ],
    ids=["all", "renamed and dropped", "another order"],
)
@pytest.mark.parametrize("target", ["hf", "m.ckpt"])
def test_tuned_thresholds_are_kept(source, tmp_path, labels, expected, target):
    folder, _ = source(("classifier",), ("no", "so-so", "yes"))
    (folder / "flags.txt").write_text("--problem_type=multi_label\n--labels=no,so-so,yes\n--threshold=tuned\n")
    (folder / "thresholds.json").write_text('{"no": 0.25, "so-so": 0.5, "yes": 0.75}')
    out = tmp_path / "new" / target
    convert(folder, out, labels=labels)
    written = (out if target == "hf" else out.parent) / "thresholds.json"
    assert json.loads(written.read_text()) == expected


def test_the_tuned_threshold_of_two_labels_is_kept(trained, tmp_path):
    (trained / "thresholds.json").write_text('{"1": 0.7}')
    convert(trained, tmp_path / "new" / "m.ckpt", labels=("yes=1", "no=0"))
    assert json.loads((tmp_path / "new" / "thresholds.json").read_text()) == {"yes": 0.7}


def test_threshold_of_two_labels_keeps_its_label(trained, tmp_path):
    """The threshold is of the last label by default, which is another one in the new order."""
    flags = (trained / "flags.txt").read_text("utf-8")
    for name, line in (("fixed", "--threshold=0.3\n"), ("no", "")):
        (trained / "flags.txt").write_text(flags + line, "utf-8")
        convert(trained, tmp_path / name / "m.ckpt", labels=("one=1", "0"))
        assert (tmp_path / name / "labels.txt").read_text("utf-8") == "one\n0\n"
        written = (tmp_path / name / "flags.txt").read_text("utf-8").splitlines()
        assert [entry for entry in written if "positive" in entry] == ["--positive_label=one"] * bool(line)


@pytest.mark.parametrize(
    ("heads", "labels", "value"),
    [
        (("masked_lm",), (), "a,b"),
        (("classifier",), ("no", "so-so", "yes"), "yes"),
        (("classifier",), ("no", "so-so", "yes"), "yes,maybe"),
    ],
)
def test_wrong_labels_are_refused(source, tmp_path, capfd, heads, labels, value):
    folder, _ = source(heads, labels)
    refused(capfd, f"--from={folder}", f"--to={tmp_path}/hf", f"--labels={value}")
    assert not (tmp_path / "hf").exists()


def test_a_converted_classifier_predicts_the_same(classify, run_folder, trained, cola, tmp_path):
    """bert-classify --do_predict reads each format, with labels and flags next to the weights."""
    expected = run_folder(trained).probabilities()
    convert(trained, tmp_path / "hf", check=True)
    convert(trained, tmp_path / "h5" / "x.weights.h5")
    convert(tmp_path / "hf", tmp_path / "tf1", to_format="tf1")
    common = ["--task_name=cola", f"--data_dir={cola}", "--max_seq_length=32", "--precision=float32", "--do_predict"]
    for name in ("hf", "h5", "tf1"):
        out = tmp_path / f"out_{name}"
        outcome = classify(*common, f"--init_checkpoint={tmp_path / name}", f"--output_dir={out}")
        assert outcome.code == 0, outcome.err
        np.testing.assert_allclose(run_folder(out).probabilities(), expected, atol=1e-6)
