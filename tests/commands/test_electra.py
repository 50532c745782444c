"""ELECTRA in the commands: Hugging Face's directories and Google's TF1 checkpoints."""

import json
import pathlib
import shutil

import numpy as np
import plain_squad
import pytest
from plain_electra import (
    class_logits,
    google_tensors,
    random_discriminator_head,
    random_generator_head,
    random_tensors,
    replaced_logits,
    states,
    word_logits,
)
from safetensors.numpy import load_file, save_file

from bert_cli import MaskFiller, doctor, fill_mask, run_classifier, run_squad
from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, REPLACED_TOKENS, HeadSpec
from bert_cli.model.config_files import read_config
from bert_cli.onnx.bert import FLAT
from bert_cli.onnx.int8 import FLAT_INT8
from bert_cli.onnx.runners import logits_runner, masked_words_runner
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import find_checkpoint
from tests.commands import helpers
from tests.commands.convert_run import TOKENS, assert_same_outputs, convert, make_source, tensors_of, there_and_back
from tests.commands.squad_run import read
from tests.commands.test_serve import serving
from tests.rows import write_rows

# Keras causes this warning, see test_convert.py.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZES = {
    "embedding_size": 8,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
LABELS = ("no", "so-so", "yes")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_folder(parent, architecture, tensors):
    path = parent / "electra"
    path.mkdir()
    values = SIZES | {"model_type": "electra", "max_position_embeddings": 12, "vocab_size": len(TOKENS)}
    values |= {"architectures": [architecture]}
    if architecture == "ElectraForSequenceClassification":
        values["id2label"] = dict(enumerate(LABELS))
    (path / "config.json").write_text(json.dumps(values))
    write_rows(path / "vocab.txt", TOKENS)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path


@pytest.fixture
def classifier(tmp_path):
    """An ElectraForSequenceClassification, and its tensors."""
    tensors = random_tensors(5, 3, words=len(TOKENS))
    return make_folder(tmp_path, "ElectraForSequenceClassification", tensors), tensors


def encoder_tensors():
    return {name: values for name, values in random_tensors(5, 3, len(TOKENS)).items() if "classifier" not in name}


def batch(texts=4, width=10, seed=0):
    rng = np.random.default_rng(seed)
    mask = (np.arange(width) < np.arange(width, width - texts, -1)[:, None]).astype(np.int32)
    words = rng.integers(5, len(TOKENS), mask.shape, dtype=np.int32) * mask
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": mask * (words % 2)}


def inputs_of(text):
    ids = np.array([[TOKENS.index(piece) for piece in ("[CLS]", *text.split(), "[SEP]")]])
    return {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": np.zeros_like(ids)}


def softmax(logits):
    exact = np.exp(logits - logits.max())
    return exact / exact.sum()


def encoded(tensors, inputs):
    return states(tensors, 2, inputs["input_word_ids"], inputs["input_mask"], inputs["input_type_ids"])


def test_class_logits_of_every_engine(classifier):
    from bert_cli.exports.loaded import load_head_model
    from bert_cli.weights.checkpoint import open_source

    path, tensors = classifier
    spec, config = HeadSpec(CLASSIFIER, 3), read_config(str(path / "config.json"))
    loaded = load_head_model(open_source(find_checkpoint(str(path))), config, spec)
    assert (loaded.report.missing, loaded.report.unused) == ([], [])
    inputs = batch()
    expected = class_logits(tensors, encoded(tensors, inputs))
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(loaded.model(inputs), expected, atol=1e-5)
    np.testing.assert_allclose(loaded.model(inputs, packed=True), expected, atol=1e-5)
    for form, allowed in ((FLAT, 1e-5), (FLAT_INT8, 0.4)):
        network = logits_runner(form, loaded.tensors, config, spec)
        for row, logits in enumerate(expected):
            single_row = {name: values[row : row + 1, : 10 - row] for name, values in inputs.items()}
            np.testing.assert_allclose(network(single_row)["logits"][0], logits, atol=allowed)


PRETRAINING = pytest.mark.parametrize(
    ("architecture", "head", "random_head", "logits"),
    [
        ("ElectraForMaskedLM", MASKED_LM, random_generator_head, word_logits),
        ("ElectraForPreTraining", REPLACED_TOKENS, random_discriminator_head, replaced_logits),
    ],
)


def save_for_pretraining(folder, architecture, head, random_head):
    """Return the new directory of a model with random weights, and its tensors."""
    words = {"words": len(TOKENS)} if head == MASKED_LM else {}
    tensors = encoder_tensors() | random_head(6, **words)
    return make_folder(folder, architecture, tensors), tensors


@PRETRAINING
def test_heads_of_pretraining(tmp_path, architecture, head, random_head, logits):
    from bert_cli.exports.loaded import build_network
    from bert_cli.weights.checkpoint import open_source, read_with_heads

    path, tensors = save_for_pretraining(tmp_path, architecture, head, random_head)
    config = read_config(str(path / "config.json"))
    weights = read_with_heads(open_source(find_checkpoint(str(path))), config, (head,))
    inputs = batch()
    real = inputs["input_mask"] > 0
    expected = logits(tensors, encoded(tensors, inputs))
    actual = build_network(config, (head,), weights.tensors)(inputs)[f"{head}_logits"].numpy()
    np.testing.assert_allclose(actual[real], expected[real], atol=3e-5)
    if head == MASKED_LM:
        network = masked_words_runner(weights.tensors, config, len(TOKENS))
        actual = network(
            {name: values[:1] for name, values in inputs.items()} | {"masked": np.array([[0, 3]], np.int64)}
        )
        np.testing.assert_allclose(actual["logits"][0], expected[0, 3], atol=3e-5)


@pytest.mark.slow  # fast: another head, and both heads in Google's checkpoints
@PRETRAINING
def test_heads_of_pretraining_there_and_back(tmp_path, architecture, head, random_head, logits):
    path, tensors = save_for_pretraining(tmp_path, architecture, head, random_head)
    assert_comes_back(path, tmp_path, tensors, architecture)


def assert_comes_back(path, tmp_path, tensors, architecture, between="google/bert_model.ckpt") -> dict:
    values = there_and_back(path, tmp_path, tensors, between)
    assert SIZES.items() <= values.items()
    assert values["architectures"] == [architecture]
    assert (values["model_type"], values["hidden_act"], values.get("position_embedding_type")) == (
        "electra",
        "gelu",
        None,
    )
    return values


@pytest.mark.parametrize(
    "between", ["google/bert_model.ckpt", pytest.param("keras/x.weights.h5", marks=pytest.mark.slow)]
)
def test_there_and_back_bit_for_bit(classifier, tmp_path, between):
    path, tensors = classifier
    values = assert_comes_back(path, tmp_path, tensors, "ElectraForSequenceClassification", between)
    assert list(values["id2label"].values()) == list(LABELS)
    tokenizer = json.loads((tmp_path / "back" / "tokenizer_config.json").read_text())
    assert tokenizer["tokenizer_class"] == "ElectraTokenizer"


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    """Google's checkpoint with both networks and without a config, and the tensors of each."""
    folder = tmp_path_factory.mktemp("google")
    discriminator = encoder_tensors() | random_discriminator_head(6)
    generator = random_tensors(7, 3, len(TOKENS), hidden=12) | random_generator_head(8, len(TOKENS), hidden=12)
    generator = {name: values for name, values in generator.items() if "classifier" not in name}
    # Both networks share their embeddings.
    generator |= {name: values for name, values in discriminator.items() if name.startswith("electra.embeddings.")}
    names = google_tensors(generator, "generator")
    names = {name.replace("generator/embeddings/", "electra/embeddings/"): values for name, values in names.items()}
    left = {"global_step": np.int64(7), "electra/embeddings/LayerNorm/beta/adam_m": np.zeros(8, np.float32)}
    write_tf1(str(folder / "electra_small"), google_tensors(discriminator, "electra") | names | left)
    write_rows(folder / "vocab.txt", TOKENS)
    return folder, discriminator, generator


@pytest.mark.parametrize(
    ("suffix", "architecture"),
    [pytest.param("", "ElectraForPreTraining", marks=pytest.mark.slow), ("/generator", "ElectraForMaskedLM")],
)
def test_googles_networks_there_and_back(google, tmp_path, suffix, architecture):
    folder, *networks = google
    convert(f"{folder}/electra_small{suffix}", tmp_path / "hf", check=True)
    values = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert values["architectures"] == [architecture]
    tensors = networks[suffix != ""]
    written = load_file(tmp_path / "hf" / "model.safetensors")
    assert written.keys() == tensors.keys()
    assert all(np.array_equal(written[name], values) for name, values in tensors.items())
    convert(tmp_path / "hf", tmp_path / "back" / "electra.ckpt", check=True)
    expected = google_tensors(tensors, suffix[1:] or "electra")
    expected = {
        name.replace("generator/embeddings/", "electra/embeddings/"): values for name, values in expected.items()
    }
    assert tensors_of(tmp_path / "back" / "electra.ckpt") == {
        name: values_.tobytes() for name, values_ in expected.items()
    }


@pytest.mark.parametrize("engine", ["tensorflow", "onnxruntime"])
def test_fill_mask_with_googles_generator(google, engine):
    folder, _, generator = google
    filler = MaskFiller.load(f"{folder}/electra_small/generator", precision="float32", engine=engine)
    text = "all work and no [MASK] makes jack a dull boy"
    candidates = filler.fill(text, top_k=len(TOKENS)).masks[0]
    # A head has width 64, or the layer's width if that is smaller.
    exact = softmax(word_logits(generator, states(generator, 1, *inputs_of(text).values()))[0, 5])
    assert [candidate.token for candidate in candidates] == [TOKENS[number] for number in np.argsort(-exact)]
    np.testing.assert_allclose([candidate.probability for candidate in candidates], np.sort(exact)[::-1], atol=1e-5)


def test_discriminator_cannot_fill_masks(google, tmp_path, capfd):
    outcome = helpers.call(capfd, "bert-fill-mask", fill_mask.main, f"--init_checkpoint={google[0]}", "all [MASK]")
    outcome.assert_refused("no masked-LM head", "discriminator of an ELECTRA")
    folder = make_folder(tmp_path, "ElectraForPreTraining", encoder_tensors() | random_discriminator_head(6))
    outcome = helpers.call(capfd, "bert-fill-mask", fill_mask.main, f"--init_checkpoint={folder}", "all [MASK]")
    outcome.assert_refused("no masked-LM head", "discriminator of an ELECTRA")


def test_a_config_of_a_bert_next_to_an_electra(google, tmp_path, capfd):
    config = tmp_path / "bert_config.json"
    config.write_text(json.dumps({"vocab_size": len(TOKENS)}))
    flags = (f"--init_checkpoint={google[0]}", f"--bert_config_file={config}", f"--output_dir={tmp_path / 'out'}")
    flags += ("--do_train", "--task_name=cola", f"--data_dir={tmp_path}")
    outcome = helpers.call(capfd, "bert-classify", run_classifier.main, *flags)
    outcome.assert_refused("describes a BERT", "holds an ELECTRA", '"model_type": "electra"')


@pytest.mark.parametrize(
    ("suffix", "network"), [("", "ELECTRA; heads: replaced_tokens"), ("/generator", "ELECTRA; heads: masked_lm")]
)
def test_doctor_reports_the_network(google, capfd, suffix, network):
    assert doctor.main([f"{google[0]}/electra_small{suffix}"]) == 0
    assert f"network: {network}\n" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heads", "labels", "name", "architecture"),
    [
        ((), (), "sequence_output", "ElectraModel"),
        (("masked_lm",), (), "masked_lm_logits", "ElectraForMaskedLM"),
        (("replaced_tokens",), (), "replaced_tokens_logits", "ElectraForPreTraining"),
        (("classifier",), LABELS, "classifier_logits", "ElectraForSequenceClassification"),
        (("classifier",), ("O", "B-X", "I-X"), "classifier_logits", "ElectraForTokenClassification"),
        (("spans",), (), "span_logits", "ElectraForQuestionAnswering"),
    ],
)
@pytest.mark.parametrize("width", [8, 16])
def test_transformers_agree_on_electra(tmp_path, heads, labels, name, architecture, width):
    transformers = pytest.importorskip("transformers", reason="needs transformers, which is not part of the project")
    torch = pytest.importorskip("torch", reason="needs torch, which is not part of the project")
    from bert_cli.exports.loaded import build_network
    from bert_cli.weights.checkpoint import open_source, read_with_heads

    network = {"model_type": "electra", "embedding_size": width, "gelu": "erf"}
    source, _ = make_source(tmp_path, heads, labels, **network)
    convert(source, tmp_path / "hf")
    theirs, info = getattr(transformers, architecture).from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(info.values())
    config = read_config(str(source / "bert_config.json"))
    weights = read_with_heads(open_source(find_checkpoint(str(source))), config, heads)
    ours = build_network(config, heads, weights.tensors, "Token" in architecture)
    inputs = batch(texts=8)
    outputs = ours(inputs)[name].numpy()
    words, mask, types = (torch.tensor(values).long() for values in inputs.values())
    with torch.no_grad():
        results = [
            output.numpy() for output in theirs.eval()(words, attention_mask=mask, token_type_ids=types).to_tuple()
        ]
    assert_same_outputs(results, outputs if "spans" in heads else [outputs], inputs["input_mask"])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["tensorflow", "onnxruntime"])
def test_answers_with_the_logits_of_transformers(tmp_path, capfd, engine):
    """bert-squad on a directory written by transformers gives the answers of transformers' logits."""
    transformers = pytest.importorskip("transformers", reason="needs transformers, which is not part of the project")
    torch = pytest.importorskip("torch", reason="needs torch, which is not part of the project")
    vocab_file = ROOT / "bert_cli" / "builtin" / "vocab.txt"
    vocabulary = {token: number for number, token in enumerate(vocab_file.read_text(encoding="utf-8").splitlines())}
    sizes = SIZES | {"vocab_size": len(vocabulary), "max_position_embeddings": 64, "initializer_range": 0.5}
    torch.manual_seed(1)
    theirs = transformers.ElectraForQuestionAnswering(transformers.ElectraConfig(**sizes)).eval()
    theirs.save_pretrained(tmp_path / "hf")
    shutil.copy(vocab_file, tmp_path / "hf")
    data = json.loads((ROOT / "data" / "squad" / "dev-v2.json").read_text(encoding="utf-8"))
    data["data"] = [{"title": "", "paragraphs": data["data"][0]["paragraphs"][:12]}]
    (tmp_path / "data.json").write_text(json.dumps(data))
    questions = plain_squad.read_questions(data)
    windows = plain_squad.windows(questions, vocabulary, True, 32, 8, 12)
    assert len(questions) == 48
    assert len(windows) > len(questions)  # some contexts need several windows
    inputs = [torch.tensor([window[name] for window in windows]) for name in ("input_ids", "input_mask", "segment_ids")]
    with torch.no_grad():
        outputs = theirs(inputs[0], attention_mask=inputs[1], token_type_ids=inputs[2])
    # Use an n-best size that covers all positions of a window, so that padding displaces no tokens.
    rules = {
        "n_best_size": 32,
        "max_answer_length": 12,
        "version_2_with_negative": True,
        "null_score_diff_threshold": 0.0,
    }
    start, end = outputs.start_logits.tolist(), outputs.end_logits.tolist()
    expected = plain_squad.predict(questions, windows, start, end, True, rules)
    flags = {"init_checkpoint": tmp_path / "hf", "predict_file": tmp_path / "data.json", "output_dir": tmp_path / "out"}
    flags |= rules | {"max_seq_length": 32, "doc_stride": 8, "max_query_length": 12}
    flags |= {"precision": "float32", "engine": engine, "version_2_with_negative": "true"}
    outcome = helpers.call(capfd, "bert-squad", run_squad.main, "--do_predict", *helpers.words(flags))
    assert outcome.code == 0, outcome.err
    predictions, nbest, odds = (read(tmp_path / "out" / f"{name}.json") for name in expected)
    assert predictions == expected["predictions"]
    assert 0 < list(predictions.values()).count("") < len(questions)
    assert odds == pytest.approx(expected["null_odds"], abs=1e-4)
    for qas_id, entries in expected["nbest_predictions"].items():
        assert [entry["text"] for entry in nbest[qas_id]] == [entry["text"] for entry in entries]
        for name in ("probability", "start_logit", "end_logit"):
            assert [entry[name] for entry in nbest[qas_id]] == pytest.approx(
                [entry[name] for entry in entries], abs=1e-4
            )


@pytest.mark.slow
def test_a_server_of_a_classifier_and_of_generators(classifier, google, tmp_path):
    folder, tensors = classifier
    (tmp_path / "generator").mkdir()
    words = encoder_tensors() | random_generator_head(6, len(TOKENS))
    generator = make_folder(tmp_path / "generator", "ElectraForMaskedLM", words)
    models = [f"--model=words={generator}", f"--model=google={google[0]}/electra_small/generator"]
    models.append(f"--model=vectors={google[0]}")
    text, masked = "all work and no play", "all work and no [MASK] makes jack"
    with serving(f"--output_dir={folder}", *models, "--precision=float32") as server:
        kinds = {entry["name"]: entry["kind"] for entry in server.ask("GET", "/v1/models")[1]["data"]}
        status, answer = server.post("/predict", {"text": text})
        filled = {name: server.post("/predict", {"text": masked, "model": name}) for name in ("words", "google")}
        vectors = server.post("/v1/embeddings", {"input": text, "model": "vectors"})[1]["data"]
    assert kinds == {"default": "classifier", "words": "masked_lm", "google": "masked_lm", "vectors": "encoder"}
    hidden = states(google[1], 1, *inputs_of(text).values())[0].mean(0)
    np.testing.assert_allclose(vectors[0]["embedding"], hidden / np.linalg.norm(hidden), atol=1e-5)
    assert status == 200
    inputs = inputs_of(text)
    expected = softmax(class_logits(tensors, encoded(tensors, inputs))[0])
    assert list(answer["probabilities"]) == list(LABELS)
    np.testing.assert_allclose(list(answer["probabilities"].values()), expected, atol=1e-5)
    for name, network, heads in (("words", words, 2), ("google", google[2], 1)):
        status, answer = filled[name]
        assert status == 200, answer
        expected = softmax(word_logits(network, states(network, heads, *inputs_of(masked).values()))[0, 5])
        candidates = answer["masks"][0]
        assert [entry["token"] for entry in candidates] == [
            TOKENS[number] for number in np.argsort(-expected)[: len(candidates)]
        ]
        np.testing.assert_allclose(
            [entry["probability"] for entry in candidates], np.sort(expected)[::-1][: len(candidates)], atol=1e-5
        )
