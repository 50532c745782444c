"""--hub_module in all commands: modules of bert-export, archives, other modules, refusals."""

import json
import pathlib
import shutil
import tarfile

import numpy as np
import pytest

from bert_cli import Classifier, convert_checkpoint, extract_features, run_classifier, run_squad, run_tagging
from tests.commands import squad_run
from tests.snapshots import check_message

NAMES = ("input_word_ids", "input_mask", "input_type_ids")


@pytest.fixture
def trained(trained_two_layers) -> pathlib.Path:
    """Two layers, since a format may mix them up."""
    return trained_two_layers


@pytest.fixture(scope="module")
def modules(exported) -> pathlib.Path:
    """encoder and preprocess of the trained classifier; do not change them."""
    return exported


@pytest.fixture(scope="module")
def foreign(two_layer_model, tmp_path_factory) -> pathlib.Path:
    """A module that is not a BERT: the mean of word embeddings, with the vocabulary as an asset."""
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("foreign")
    size = json.loads((two_layer_model / "bert_config.json").read_text())["vocab_size"]
    shutil.copy(two_layer_model / "vocab.txt", folder / "vocab.txt")
    kept = tf.train.Checkpoint()
    kept.words = tf.Variable(tf.random.stateless_normal([size, 8], seed=(1, 2)), name="words")
    kept.dense = tf.Variable(tf.random.stateless_normal([8, 8], seed=(3, 4)), name="dense")
    kept.trainable_variables = [kept.words, kept.dense]
    kept.vocab_file = tf.saved_model.Asset(str(folder / "vocab.txt"))
    spec = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in NAMES}

    @tf.function(input_signature=[spec])
    def encode(inputs):
        mask = tf.cast(inputs["input_mask"], tf.float32)[..., tf.newaxis]
        rows = tf.gather(kept.words, inputs["input_word_ids"]) * mask
        mean = tf.reduce_sum(rows, axis=1) / tf.reduce_sum(mask, axis=1)
        return {"pooled_output": tf.tanh(mean @ kept.dense), "sequence_output": rows + mean[:, tf.newaxis]}

    kept.__call__ = encode
    tf.saved_model.save(kept, str(folder / "module"))
    return folder / "module"


NUMBERS = ["--max_seq_length=32", "--train_batch_size=4", "--learning_rate=0.003", "--precision=float32"]


@pytest.fixture
def start(cola) -> list[str]:
    """Flags for a short run without a model."""
    return ["--task_name=cola", f"--data_dir={cola}", *NUMBERS, "--do_train", "--do_predict"]


@pytest.mark.slow
def test_bert_module_equals_its_checkpoint(classify, start, modules, trained, tmp_path, run_folder):
    """Module, archive and checkpoint give the same run, bit for bit, and the same vocabulary."""
    with tarfile.open(tmp_path / "encoder.tar.gz", "w:gz") as archive:
        archive.add(modules / "encoder", arcname=".")
    tensors_by_name = {}
    for name, model_flags in (
        ("checkpoint", f"--init_checkpoint={trained}"),
        ("folder", f"--hub_module={modules}"),
        ("archive", f"--hub_module={tmp_path / 'encoder.tar.gz'}"),
    ):
        outcome = classify(*start, model_flags, "--num_train_epochs=0.5", f"--output_dir={tmp_path / name}")
        assert outcome.code == 0, outcome.err
        tensors_by_name[name] = run_folder(tmp_path / name).tensors(3)
        if name != "checkpoint":
            assert f"{model_flags.partition('=')[2]}" in outcome.err
            assert "39 variables loaded, 2 missing, 0 unused" in outcome.err
    for name in ("folder", "archive"):
        encoder = {
            key: value for key, value in tensors_by_name[name].items() if key.startswith("bert/") and "adam" not in key
        }
        assert len(encoder) == 39
        for file in ("vocab.txt", "bert_config.json"):
            assert (tmp_path / name / file).read_bytes() == (trained / file).read_bytes()
    for key, value in tensors_by_name["folder"].items():
        assert np.array_equal(value, tensors_by_name["archive"][key]), key
    predict_outcome = classify("--do_predict", f"--output_dir={tmp_path / 'archive'}", "--precision=float32")
    assert predict_outcome.code == 0, predict_outcome.err
    # Google's way: the flags of the training, again.
    for folder, handle in (("folder", modules), ("archive", tmp_path / "encoder.tar.gz")):
        same_flags = (
            "--do_predict",
            f"--output_dir={tmp_path / folder}",
            f"--hub_module={handle}",
            "--precision=float32",
        )
        outcome = classify(*same_flags)
        assert outcome.code == 0, outcome.err
        assert "not used" not in outcome.err
    classify(same_flags[1], f"--hub_module={modules}", "--text=a dog").assert_refused("leave --hub_module out")
    rows = [("a dog sees a cat", "1"), ("the farmer sings", "0")] * 4
    python = Classifier.train(rows, hub_module=modules, num_train_epochs=1, max_seq_length=16, report=False)
    assert python.labels == ("0", "1")


@pytest.mark.slow
def test_module_can_be_frozen(classify, start, modules, tmp_path, run_folder):
    flags = [*start, "--hub_trainable=false", "--num_train_epochs=1", f"--output_dir={tmp_path / 'out'}"]
    outcome = classify(*flags, f"--hub_module={modules}", f"--hub_preprocess={modules / 'preprocess'}")
    assert outcome.code == 0, outcome.err
    import tensorflow as tf

    encoder, tensors = tf.saved_model.load(str(modules / "encoder")), run_folder(tmp_path / "out").tensors(6)
    for name, variable in encoder.weights.items():
        assert np.array_equal(tensors[name], variable.numpy()), name
    assert {name for name in tensors if name.endswith("/adam_m")} == {"output_weights/adam_m", "output_bias/adam_m"}
    assert "--hub_trainable=false" in (tmp_path / "out" / "flags.txt").read_text().split("\n")


@pytest.mark.slow
def test_module_that_is_not_a_bert(classify, start, foreign, tmp_path, run_folder):
    """It is trained unchanged, checkpoints have its weights, and a later run finds it again."""
    out = tmp_path / "out"
    flags = [*start, "--num_train_epochs=20", "--learning_rate=0.03", f"--output_dir={out}", f"--hub_module={foreign}"]
    outcome = classify(*flags, "--do_eval")
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, f"{foreign}: ")
    tensors = run_folder(out).tensors(120)
    assert {"hub/words", "hub/dense", "output_weights", "hub/words/adam_m"} <= set(tensors)
    assert run_folder(out).eval_results()["eval_accuracy"] >= 0.7
    first = run_folder(out).probabilities()
    shutil.move(out, tmp_path / "moved")
    predict = ["--do_predict", f"--output_dir={tmp_path / 'moved'}", start[1]]
    config = tmp_path / "moved" / "bert_config.json"
    classify(*predict).assert_refused(f"{config}: ", f"--hub_module={foreign}")
    second_outcome = classify(*predict, f"--hub_module={foreign}")
    assert second_outcome.code == 0, second_outcome.err
    assert "is not used" not in second_outcome.err
    np.testing.assert_allclose(run_folder(tmp_path / "moved").probabilities(), first, atol=1e-6)
    for trained_flags in (["--do_train", "--do_predict"], ["--do_train"]):
        finished = classify(
            *flags[:-2], *trained_flags, f"--output_dir={tmp_path / 'moved'}", f"--hub_module={foreign}"
        )
        assert "training is already finished" in finished.err


@pytest.fixture(scope="module")
def trained_on_module_once(trained_once, foreign, tmp_path_factory) -> pathlib.Path:
    """An output_dir of a model with a module that is not a BERT; do not change it."""
    out = tmp_path_factory.mktemp("on_module") / "out"
    data = next(flag for flag in trained_once[1] if flag.startswith("--data_dir="))
    flags = ["--task_name=cola", data, *NUMBERS, "--do_train", "--do_predict", "--num_train_epochs=0.2"]
    assert run_classifier.main([*flags, f"--output_dir={out}", f"--hub_module={foreign}"]) == 0
    return out


@pytest.fixture
def trained_on_module(trained_on_module_once, tmp_path) -> pathlib.Path:
    """A copy for one test."""
    return pathlib.Path(shutil.copytree(trained_on_module_once, tmp_path / "on_module"))


def name_module(folder: pathlib.Path, handle: str) -> None:
    path = folder / "bert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hub_module": handle}))


@pytest.mark.parametrize(
    "handle", ["http", "../outside", "inner/../../outside", "link", "/absolute", "gs://bucket/module"]
)
def test_module_outside_the_folder_is_never_loaded(handle, trained_on_module, classify, foreign, tmp_path, server):
    from bert_cli import Classifier, FeatureExtractor
    from bert_cli.base.errors import InputError

    shutil.copytree(foreign, tmp_path / "outside")
    (trained_on_module / "inner").mkdir()
    (trained_on_module / "link").symlink_to(tmp_path / "outside")
    handle = {"http": f"{server.url}/module", "/absolute": str(tmp_path / "outside")}.get(handle, handle)
    name_module(trained_on_module, handle)
    config = trained_on_module / "bert_config.json"
    message = f"{config}: this model was trained on the module {handle}, which is not in its folder"
    classify("--do_predict", f"--output_dir={trained_on_module}").assert_refused(message, f"--hub_module={handle}")
    for load in (Classifier.load, FeatureExtractor.load):
        with pytest.raises(InputError) as caught:
            load(str(trained_on_module))
        assert str(caught.value).startswith(message)
    assert server.requests == []


def test_module_given_as_a_flag_is_loaded(trained_on_module, foreign):
    from bert_cli import Classifier, FeatureExtractor

    name_module(trained_on_module, "../outside")
    assert Classifier.load(str(trained_on_module), hub_module=str(foreign)).predict(["a dog ."]).best
    assert FeatureExtractor.load(str(trained_on_module), hub_module=str(foreign)).extract(["a dog ."]).shape == (1, 8)


@pytest.mark.parametrize("module_name", ["bert", "foreign"])
def test_vectors_of_a_module_from_python(module_name, modules, foreign, tmp_path):
    """The vectors equal those of the command."""
    from bert_cli import FeatureExtractor

    (tmp_path / "texts.txt").write_text("a dog sees a cat\nthe old farmer\n")
    module = {"bert": modules, "foreign": foreign}[module_name]
    flags = [f"--input_file={tmp_path / 'texts.txt'}", "--pooling=mean", f"--output_file={tmp_path / 'out.npy'}"]
    flags += ["--output_format=npy", f"--hub_module={module}", f"--hub_preprocess={modules / 'preprocess'}"]
    assert extract_features.main([*flags, "--max_seq_length=16"]) == 0
    extractor = FeatureExtractor.load(
        hub_module=str(module), hub_preprocess=str(modules / "preprocess"), max_seq_length=16
    )
    vectors = extractor.extract(["a dog sees a cat", "the old farmer"])
    np.testing.assert_allclose(vectors, np.load(tmp_path / "out.npy"), atol=1e-6)


@pytest.fixture
def server():
    """A server on this machine that records its requests."""
    import http.server
    import threading
    import types

    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        # The default interval would add half a second to the shutdown.
        threading.Thread(target=running.serve_forever, args=[0.01], daemon=True).start()
        yield types.SimpleNamespace(url=f"http://127.0.0.1:{running.server_port}", requests=requests)
        running.shutdown()


def test_module_inside_the_folder_is_loaded(trained_on_module, classify, foreign):
    shutil.copytree(foreign, trained_on_module / "module")
    name_module(trained_on_module, "module")
    outcome = classify("--do_predict", f"--output_dir={trained_on_module}")
    assert outcome.code == 0, outcome.err


def test_features_of_a_model_that_was_trained_on_a_module(trained_on_module, trained, foreign, tmp_path, capfd):
    (tmp_path / "texts.txt").write_text("a dog sees a cat\n")
    flags = [f"--input_file={tmp_path / 'texts.txt'}", "--pooling=mean", f"--output_file={tmp_path / 'out.jsonl'}"]
    flags += [f"--hub_module={foreign}", "--max_seq_length=16"]
    assert extract_features.main([*flags, f"--init_checkpoint={trained_on_module}"]) == 0
    assert extract_features.main([*flags, f"--init_checkpoint={trained}"]) == 1
    check_message(capfd.readouterr().err, "--hub_module and --init_checkpoint: ")


@pytest.mark.slow
def test_tags_answers_and_features_of_modules(modules, foreign, tmp_path, capfd):
    (tmp_path / "data").mkdir()
    for name in ("train", "dev", "test"):
        lines = "the\tO\nold\tB-X\ndog\tI-X\nsees\tO\n\na\tO\ncat\tB-X\n"
        (tmp_path / "data" / f"{name}.txt").write_text(lines)
    squad_data = squad_run.write_data(tmp_path / "squad.json", 3)
    (tmp_path / "texts.txt").write_text("a dog sees a cat\nthe old farmer\n")
    for name, module in (("bert", modules), ("foreign", foreign)):
        common = [f"--hub_module={module}", "--precision=float32"]
        train = [*common, "--do_train", "--do_predict", "--num_train_epochs=2", "--train_batch_size=2"]
        tag = [
            *train,
            f"--data_dir={tmp_path / 'data'}",
            f"--output_dir={tmp_path / f'{name}_tag'}",
            "--max_seq_length=16",
        ]
        assert run_tagging.main([*tag, "--hub_trainable=false"]) == 0
        assert (tmp_path / f"{name}_tag" / "test_predictions.txt").exists()
        squad = [*train, f"--train_file={squad_data}", f"--predict_file={squad_data}", "--max_seq_length=26"]
        squad += ["--doc_stride=6", "--max_query_length=8", f"--output_dir={tmp_path / f'{name}_squad'}"]
        assert run_squad.main(squad) == 0
        assert len(json.loads((tmp_path / f"{name}_squad" / "predictions.json").read_text())) == 6
        features = [*common, f"--input_file={tmp_path / 'texts.txt'}", "--pooling=mean", "--output_format=npy"]
        features.append("--max_seq_length=16")
        assert extract_features.main([*features, f"--output_file={tmp_path / f'{name}.npy'}"]) == 0
        vectors = np.load(tmp_path / f"{name}.npy")
        assert vectors.shape == (2, 16 if name == "bert" else 8)
    import tensorflow as tf

    encoder = tf.saved_model.load(str(foreign))
    vocabulary = (modules / "encoder" / "assets" / "vocab.txt").read_text().split("\n")
    ids = [vocabulary.index(word) for word in ("[CLS]", "the", "old", "farmer", "[SEP]")]
    ones = tf.ones([1, 5], tf.int32)
    states = encoder({"input_word_ids": [ids], "input_mask": ones, "input_type_ids": ones * 0})["sequence_output"]
    np.testing.assert_allclose(vectors[1], tf.reduce_mean(states, axis=1)[0], atol=1e-5)
    capfd.readouterr()
    assert extract_features.main([*features, f"--output_file={tmp_path / 'x.npy'}", "--layers=embedding"]) == 1
    assert "this module shows neither attention nor its embedding" in capfd.readouterr().err
    convert = [f"--from={foreign}", f"--to={tmp_path / 'converted'}"]
    assert convert_checkpoint.main(convert) == 1
    assert "the variables of this module make up no BERT" in capfd.readouterr().err


@pytest.mark.slow
def test_published_modules_have_no_config(trained, tmp_path, classify, start, capfd):
    """Sizes and casing come from the variables, words from the assets; pre-training can continue."""
    import tensorflow as tf

    from bert_cli import run_pretraining

    reader = tf.train.load_checkpoint(str(trained))
    names = [name for name in reader.get_variable_to_shape_map() if name.startswith("bert/") and "adam" not in name]
    module = tf.train.Checkpoint()
    module.variables = []
    for name in names:
        value = reader.get_tensor(name)
        # Published modules separate the attention heads, which shows their number.
        if "/self/" in name:
            value = value.reshape(*value.shape[:-1], 2, 8)
        module.variables.append(tf.Variable(value, name=name))
    module.vocab_file = tf.saved_model.Asset(str(trained / "vocab.txt"))
    module.do_lower_case = tf.Variable(True, trainable=False)
    tf.saved_model.save(module, str(tmp_path / "module"))
    outcome = classify(*start, f"--hub_module={tmp_path / 'module'}", f"--output_dir={tmp_path / 'out'}")
    assert outcome.code == 0, outcome.err
    assert "39 variables loaded, 2 missing, 0 unused" in outcome.err
    config = json.loads((tmp_path / "out" / "bert_config.json").read_text())
    expected = json.loads((trained / "bert_config.json").read_text())
    same = (
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "type_vocab_size",
    )
    assert {name: config[name] for name in same} == {name: expected[name] for name in same}
    assert "--do_lower_case=true" in (tmp_path / "out" / "flags.txt").read_text()
    (tmp_path / "text.txt").write_text(
        "the cat sees a dog .\na bird sings .\n\nthe old farmer buys bread .\na fish eats .\n"
    )
    flags = [f"--init_checkpoint={tmp_path / 'module'}", f"--input_file={tmp_path / 'text.txt'}", "--do_train"]
    flags += ["--num_train_steps=2", "--train_batch_size=2", "--max_seq_length=16", "--max_predictions_per_seq=3"]
    assert run_pretraining.main([*flags, f"--output_dir={tmp_path / 'more'}", "--eval_share=0"]) == 0
    assert "39 variables loaded" in capfd.readouterr().err


@pytest.mark.slow
def test_refusals(refused, start, modules, model, tmp_path):
    module = f"--hub_module={modules}"
    refused([*start, f"--hub_module={tmp_path / 'no'}"], f"{tmp_path / 'no'}: no such module", "--hub_module")
    refused([*start, "--hub_module=http://127.0.0.1:9/bert/1"], "http://127.0.0.1:9/bert/1: ")
    refused([*start, module, f"--hub_preprocess={model}"], "--hub_preprocess")
    refused([*start, f"--hub_module={modules / 'preprocess'}"])
    refused([*start, module, "--max_seq_length=65"], "64 positions")
