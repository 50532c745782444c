"""Directories as transformers 5 saves them, with tokenizer.json and without vocab.txt, in the commands, the server and Python.

The slow tests take directories that its Trainer has saved, and compare with its outputs.
"""

import csv
import functools
import json
import pathlib

import numpy as np
import pytest

from bert_cli import (
    Classifier,
    FeatureExtractor,
    MaskFiller,
    QuestionAnswerer,
    Tagger,
    doctor,
    export_model,
    extract_features,
    fill_mask,
    run_classifier,
    run_pretraining,
    run_squad,
    run_tagging,
    tokenize_text,
)
from bert_cli.examples.tag_schemes import find_entities
from tests.commands import helpers
from tests.commands.convert_run import convert, make_source
from tests.commands.test_serve import serving
from tests.rows import write_rows
from tests.tokenizer_folders import E1, SIZE, SPECIAL, USER, VOCABULARY, bert, tokenizer_json, write
from tests.transformers_python import ask

# Keras 3.15 asks NumPy 2 for a TensorFlow variable's numbers in the old way; Python hides this warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
LABELS = ("no", "so-so", "yes")
TAGS = ("O", "B-X", "I-X")
TEXTS = ["the <user> [E1] a new York", "THE <USER>, of it !"]
MASKED = "the <user> [MASK] a new"
QUESTION = ("it <user>", "the <user> and [E1] a new york of foo .")
HEADS = {
    "classification": (("classifier",), LABELS, "BertForSequenceClassification"),
    "tagging": (("classifier",), TAGS, "BertForTokenClassification"),
    "answers": (("spans",), (), "BertForQuestionAnswering"),
    "masked_lm": (("masked_lm",), (), "BertForMaskedLM"),
}
# What transformers 5.24 writes.
TOKENIZER_CONFIG = bert(
    backend="tokenizers", extra_special_tokens=["[E1]"], is_local=False, model_max_length=512, strip_accents=None,
    tokenize_chinese_chars=True, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
    mask_token="[MASK]",
)  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, pathlib.Path]:
    """A directory of each task, written by the rules of transformers' format."""
    return {task: make_folder(tmp_path_factory.mktemp(task), task) for task in HEADS}


def make_folder(parent: pathlib.Path, task: str) -> pathlib.Path:
    heads, labels, architecture = HEADS[task]
    tokens = [*VOCABULARY, "<user>", "[E1]"]
    source, _ = make_source(parent, heads, labels, tokens=tokens, max_position_embeddings=512, gelu="erf")
    convert(source, parent / "saved")
    folder = parent / "saved"
    for name in ("vocab.txt", "labels.txt", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == [architecture]
    config |= {"dtype": config.pop("torch_dtype"), "transformers_version": "5.24.0", "tie_word_embeddings": True}
    write(folder, config=config, tokenizer=tokenizer_json([USER, E1]), tokenizer_config=TOKENIZER_CONFIG)
    # Beside the model of a Trainer, and of its checkpoints; a pickle that must not be opened.
    for name in ("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth"):
        (folder / name).write_bytes(b"cos\nsystem\n")
    return folder


def call(capfd, main, *flags) -> str:
    """Call a command, and return what it prints."""
    outcome = helpers.call(capfd, "bert", main, *map(str, flags))
    assert outcome.code == 0, outcome.err
    return outcome.out


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_tags_of_a_text(folders, capfd):
    folder = folders["tagging"]
    output = call(capfd, run_tagging.main, f"--init_checkpoint={folder}", f"--text={TEXTS[1]}", "--precision=float32")
    tagged = Tagger.load(str(folder), precision="float32").tag([TEXTS[1]])[0]
    assert tagged.words == ("THE", "<USER>", ",", "of", "it", "!")
    assert records(output)[0]["entities"] == tagged.entities


def test_an_answer_with_an_added_token(folders, tmp_path, capfd):
    question, context = QUESTION
    flags = [f"--init_checkpoint={folders['answers']}", "--precision=float32", "--n_best_size=200"]
    answer = QuestionAnswerer.load(str(folders["answers"]), precision="float32", n_best_size=200).answer([QUESTION])[0]
    texts = [each["text"] for each in answer.nbest]
    assert "<user> and [E1]" in texts
    assert not any(text.startswith(("user", ">")) for text in texts)
    output = call(capfd, run_squad.main, *flags, f"--question={question}", f"--context={context}")
    assert f"{answer.probability:.4f}  {texts[0]}" in output


def test_a_server_of_three_models(folders):
    models = [f"--model={task}={folders[task]}" for task in ("tagging", "answers", "masked_lm")]
    with serving(f"--output_dir={folders['classification']}", *models, "--precision=float32") as server:
        ask_server = functools.partial(ask_model, server)
        classified = [ask_server("default", {"text": text}) for text in TEXTS]
        tagged = [ask_server("tagging", {"text": text}) for text in TEXTS]
        answer = ask_server("answers", dict(zip(("question", "context"), QUESTION, strict=True)))
        masks = ask_server("masked_lm", {"text": MASKED})["masks"]
    expected = Classifier.load(str(folders["classification"]), precision="float32").predict(TEXTS).probabilities
    assert [list(each["probabilities"]) for each in classified] == [list(LABELS)] * 2
    np.testing.assert_allclose([list(each["probabilities"].values()) for each in classified], expected, atol=1e-6)
    tagger = Tagger.load(str(folders["tagging"]), precision="float32")
    assert [each["entities"] for each in tagged] == [each["entities"] for each in tagger.records(TEXTS)]
    answerer = QuestionAnswerer.load(str(folders["answers"]), precision="float32")
    assert answer["answer"] == answerer.answer([QUESTION])[0].answer
    filler = MaskFiller.load(str(folders["masked_lm"]), precision="float32")
    assert masks[0][0]["token"] == filler.fill(MASKED).masks[0][0].token


def ask_model(server, name: str, body: dict) -> dict:
    status, answer = server.post("/predict", body | {"model": name})
    assert status == 200, answer
    return answer


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Directories that transformers' Trainer has saved, and transformers' outputs for TEXTS, by task."""
    parent = tmp_path_factory.mktemp("saved")
    words = [token for token in VOCABULARY if token not in SPECIAL]
    write_rows(parent / "vocab.txt", [*SPECIAL, *words])
    requests = []
    for task, (_, labels, _) in HEADS.items():
        requests.append(["save", task, str(parent / task), str(parent / "vocab.txt"), labels])
        requests.append(["run", task, str(parent / task), texts_of(task)])
    results = ask("hugging_face_models.py", requests)
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training_args.bin"]
    assert all(names == files for names in results[::2])
    return {task: (parent / task, result) for task, result in zip(HEADS, results[1::2], strict=True)}


def texts_of(task: str) -> list:
    return {"answers": [list(QUESTION)], "masked_lm": [MASKED]}.get(task, TEXTS)


def softmax(logits) -> np.ndarray:
    exact = np.exp(np.array(logits) - np.max(logits, axis=-1, keepdims=True))
    return exact / exact.sum(axis=-1, keepdims=True)


@pytest.mark.slow
def test_classification_of_a_saved_folder(saved, tmp_path, capfd):
    folder, theirs = saved["classification"]
    assert theirs["labels"] == list(LABELS)
    expected = softmax([output["logits"] for output in theirs["outputs"]])
    model = Classifier.load(str(folder), precision="float32")
    assert (model.labels, model.problem_type) == (LABELS, "single_label")
    np.testing.assert_allclose(model.predict(TEXTS).probabilities, expected, atol=1e-5)
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f'"{text}",yes\n' for text in TEXTS))
    flags = [f"--init_checkpoint={folder}", f"--output_dir={tmp_path / 'out'}", "--precision=float32"]
    files = [f"--dev_file={tmp_path / 'texts.csv'}", f"--predict_file={tmp_path / 'texts.csv'}"]
    call(capfd, run_classifier.main, *flags, *files, "--do_eval", "--do_predict")
    with open(tmp_path / "out" / "predictions.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    predicted = [[float(row[f"prob_{label}"]) for label in LABELS] for row in rows]
    np.testing.assert_allclose(predicted, expected, atol=1e-5)
    for engine in ("onnxruntime", "tensorflow"):
        output = call(capfd, run_classifier.main, *flags, f"--text={TEXTS[0]}", f"--engine={engine}")
        np.testing.assert_allclose(list(records(output)[0]["probabilities"].values()), expected[0], atol=1e-5)
    with serving(f"--output_dir={folder}", "--precision=float32") as server:
        answers = [server.post("/predict", {"text": text})[1]["probabilities"] for text in TEXTS]
    np.testing.assert_allclose([list(answer.values()) for answer in answers], expected, atol=1e-5)


@pytest.mark.slow
def test_tags_of_a_saved_folder(saved, capfd):
    folder, theirs = saved["tagging"]
    tagger = Tagger.load(str(folder), precision="float32")
    with serving(f"--output_dir={folder}", "--precision=float32") as server:
        served = [server.post("/predict", {"text": text})[1]["entities"] for text in TEXTS]
    for text, output, entities in zip(TEXTS, theirs["outputs"], served, strict=True):
        probabilities = softmax(output["logits"])[1:-1]
        tagged = tagger.tag([text])[0]
        assert len(tagged.words) == len(probabilities)  # one piece each
        assert list(tagged.tags) == [TAGS[index] for index in probabilities.argmax(axis=-1)]
        best = probabilities.max(axis=-1)
        expected = [best[entity.start : entity.end].mean() for entity in find_entities(tagged.tags)]
        np.testing.assert_allclose([entity["score"] for entity in entities], expected, atol=1e-5)
        printed = call(capfd, run_tagging.main, f"--init_checkpoint={folder}", f"--text={text}", "--precision=float32")
        assert records(printed)[0]["entities"] == entities == tagged.entities


@pytest.mark.slow
def test_answers_of_a_saved_folder(saved, tmp_path, capfd):
    folder, theirs = saved["answers"]
    (output,) = theirs["outputs"]
    question, context = QUESTION
    words = context.split()
    first = output["ids"].index(SPECIAL.index("[SEP]")) + 1
    paragraph = {"context": context, "qas": [{"id": "q", "question": question}]}
    (tmp_path / "data.json").write_text(
        json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": [paragraph]}]})
    )
    flags = [
        f"--init_checkpoint={folder}",
        f"--predict_file={tmp_path / 'data.json'}",
        f"--output_dir={tmp_path / 'out'}",
    ]
    call(capfd, run_squad.main, *flags, "--do_predict", "--precision=float32", "--n_best_size=200")
    nbest = json.loads((tmp_path / "out" / "nbest_predictions.json").read_text(encoding="utf-8"))["q"]
    assert len(nbest) > 20
    for entry in nbest:
        start, end = (first + words.index(word) for word in (entry["text"].split()[0], entry["text"].split()[-1]))
        found = [entry["start_logit"], entry["end_logit"]]
        np.testing.assert_allclose(found, [output["start_logits"][start], output["end_logits"][end]], atol=1e-5)
    answer = QuestionAnswerer.load(str(folder), precision="float32", n_best_size=200).answer([QUESTION])[0]
    assert answer.answer == nbest[0]["text"]
    with serving(f"--output_dir={folder}", "--precision=float32") as server:
        served = server.post("/predict", dict(zip(("question", "context"), QUESTION, strict=True)))[1]
    assert served["answer"] == nbest[0]["text"]


@pytest.mark.slow
def test_blanks_of_a_saved_folder(saved, capfd):
    folder, theirs = saved["masked_lm"]
    (output,) = theirs["outputs"]
    place = output["ids"].index(SPECIAL.index("[MASK]"))
    expected = softmax(output["logits"][place])
    tokens = [*VOCABULARY, "<user>", "[E1]"]
    masks = MaskFiller.load(str(folder), precision="float32").fill(MASKED, top_k=10).masks[0]
    found = dict(masks)
    assert list(found) == [tokens[index] for index in np.argsort(-expected)[:10]]
    np.testing.assert_allclose(list(found.values()), np.sort(expected)[::-1][:10], atol=1e-5)
    assert next(iter(found)) in call(capfd, fill_mask.main, MASKED, f"--init_checkpoint={folder}")


@pytest.mark.slow
@pytest.mark.parametrize("task", HEADS)
def test_a_saved_folder_converted_there_and_back(saved, tmp_path, task):
    folder, theirs = saved[task]
    convert(folder, tmp_path / "tf1", to_format="tf1", check=True)
    convert(tmp_path / "tf1", tmp_path / "again", check=True)
    convert(folder, tmp_path / "copy", check=True)
    names = ("again", "copy")
    results = ask("hugging_face_models.py", [["run", task, str(tmp_path / name), texts_of(task)] for name in names])
    for result in results:
        assert result["problems"] == []
        assert result["labels"] == theirs["labels"]
        for output, expected in zip(result["outputs"], theirs["outputs"], strict=True):
            for name, values in expected.items():
                np.testing.assert_allclose(output[name], values, atol=1e-6)


@pytest.mark.slow
def test_a_saved_folder_in_the_other_commands(saved, tmp_path, capfd):
    folder = saved["classification"][0]
    write_rows(tmp_path / "texts.txt", TEXTS)
    tokens = call(capfd, tokenize_text.main, TEXTS[0], f"--init_checkpoint={folder}").split()
    assert {"<user>", "[E1]", str(SIZE), str(SIZE + 1)} <= set(tokens)
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'texts.txt'}"]
    call(capfd, extract_features.main, *flags, f"--output_file={tmp_path / 'vectors.jsonl'}", "--layers=-1")
    vectors = FeatureExtractor.load(str(folder), precision="float32").extract(TEXTS)
    assert vectors.shape == (2, 16)
    assert (tmp_path / "vectors.jsonl").stat().st_size > 0
    assert doctor.main([str(folder)]) == 0
    for more in (["--format=saved_model"], ["--format=onnx", "--names=hugging_face"]):
        call(
            capfd, export_model.main, f"--init_checkpoint={folder}", f"--export_dir={tmp_path / str(len(more))}", *more
        )
    train(saved, tmp_path, capfd)


def train(saved, tmp_path, capfd) -> None:
    """Fine-tune each directory for a step, and go on with the pre-training of one."""
    common = ["--do_train", "--train_batch_size=2", "--num_train_epochs=1", "--noreport"]
    (tmp_path / "train.csv").write_text("text,label\n<user> a,yes\n[E1] the,no\n<user>,yes\n")
    (tmp_path / "train.txt").write_text("the\tO\n<user>\tB-X\n\n[E1]\tB-X\na\tO\n")
    question = {"id": "q", "question": "it", "answers": [{"text": "<user>", "answer_start": 4}]}
    data = {"data": [{"title": "", "paragraphs": [{"context": "the <user> a", "qas": [question]}]}]}
    (tmp_path / "train.json").write_text(json.dumps(data))
    for task, main, name in (
        ("classification", run_classifier.main, "train.csv"),
        ("tagging", run_tagging.main, "train.txt"),
        ("answers", run_squad.main, "train.json"),
    ):
        out = tmp_path / f"{task}_out"
        flags = [f"--init_checkpoint={saved[task][0]}", f"--train_file={tmp_path / name}", f"--output_dir={out}"]
        call(capfd, main, *flags, *common, *(["--labels=no,so-so,yes"] if task == "classification" else []))
        stored = json.loads((out / "tokenizer_config.json").read_text(encoding="utf-8"))
        assert str(SIZE) in stored["added_tokens_decoder"]
    from bert_cli.create_pretraining_data import main

    (tmp_path / "text.txt").write_text("the <user> a new york .\nit is [E1] .\n\nthe foo .\nof it !\n")
    files = [f"--input_file={tmp_path / 'text.txt'}", f"--output_file={tmp_path / 'examples'}"]
    call(capfd, main, *files, f"--vocab_file={saved['masked_lm'][0] / 'tokenizer.json'}", "--max_seq_length=16")
    flags = [f"--input_file={tmp_path / 'examples'}", f"--init_checkpoint={saved['masked_lm'][0]}", "--do_train"]
    flags += [f"--output_dir={tmp_path / 'pretrained'}", "--num_train_steps=1", "--max_seq_length=16"]
    call(capfd, run_pretraining.main, *flags, "--train_batch_size=2", "--noreport")
