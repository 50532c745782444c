"""bert-tag on small real files: training, scores, predictions in all forms, and plain text."""

import dataclasses
import itertools
import json
import logging
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.examples.tag_schemes import from_bio
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import read_config
from bert_cli.model.layers import named_weights
from bert_cli.outputs.tagging_scores import eval_results, tagging_scores
from bert_cli.run_tagging import main
from bert_cli.weights.checkpoint import write_tf1

LABELS = ("O", "B-ANI", "I-ANI", "B-PER", "I-PER")
PEOPLE = ["farmer", "old farmer", "young teacher", "teacher", "young farmer", "old teacher"]
ANIMALS = ["dog", "small dog", "green bird", "cat", "big red horse", "fish"]
VERBS = ["likes", "sees", "chases", "buys", "paints", "opens"]


def sentence(number: int) -> tuple[list[str], list[str]]:
    """Words and tags: "the old farmer likes a small dog ." with the entities and the verb of this number."""
    person, animal, verb = PEOPLE[number % 6], ANIMALS[(number * 5 + number // 6) % 6], VERBS[number * 7 % 6]
    words, tags = ["the"], ["O"]
    for text, kind in ((person, "PER"), (verb, ""), ("a", ""), (animal, "ANI"), (".", "")):
        parts = text.split(" ")
        words += parts
        tags += [f"B-{kind}"] + [f"I-{kind}"] * (len(parts) - 1) if kind else ["O"]
    return words, tags


def columns(sentences, separator="\t") -> str:
    return "\n".join("".join(f"{w}{separator}{t}\n" for w, t in zip(*pair, strict=True)) for pair in sentences)


# A sentence of 59 words, which needs three windows of 32 tokens.
LONG = tuple([item for number in range(8) for item in sentence(number)[part]] for part in (0, 1))
SPLITS = {
    "train": [sentence(number) for number in range(24)],
    "dev": [sentence(number) for number in (24, 29, 31, 33)],
    "test": [sentence(number) for number in (26, 30)] + [LONG, sentence(35)],
}


def write_data(folder: pathlib.Path, scheme: str = "BIO") -> pathlib.Path:
    folder.mkdir()
    for split, sentences in SPLITS.items():
        pairs = [(words, from_bio(tags, scheme)) for words, tags in sentences]
        (folder / f"{split}.txt").write_text(columns(pairs), encoding="utf-8")
    return folder


@dataclasses.dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def tag(capfd):
    """Call bert-tag with flags."""

    def call(*flags) -> Outcome:
        capfd.readouterr()
        code = main([str(flag) for flag in flags])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="module")
def tagger_once(tmp_path_factory, model_flags):
    """An output_dir after 60 steps, evaluation and prediction, and the flags that made it. Not to be changed."""
    folder = tmp_path_factory.mktemp("tagger")
    write_data(folder / "data")
    flags = [*model_flags, "--num_train_epochs=10", "--save_checkpoints_steps=30", "--learning_rate=0.01"]
    flags += ["--do_train", "--do_eval", "--do_predict"]
    with pytest.MonkeyPatch.context() as patch:
        # Relative paths on purpose: what is remembered of them has to hold from elsewhere.
        patch.chdir(folder)
        assert main([*flags, "--data_dir=data", "--output_dir=out"]) == 0
    return folder / "out", [*flags, f"--data_dir={folder / 'data'}"]


@pytest.fixture
def tagger(tagger_once) -> pathlib.Path:
    return tagger_once[0]


def predicted(path: pathlib.Path) -> list[list[str]]:
    """The last column of each sentence of test_predictions.txt."""
    blocks = path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return [[line.split("\t")[-1] for line in block.split("\n")] for block in blocks]


def flat(path: pathlib.Path) -> list[str]:
    return list(itertools.chain.from_iterable(predicted(path)))


def test_a_run_writes_these_files(tagger, run_folder):
    checkpoints = {f"model.ckpt-{n}.{part}" for n in (30, 60) for part in ("index", "data-00000-of-00001")}
    again = {"checkpoint", "vocab.txt", "bert_config.json", "labels.txt", "flags.txt", "run.json"}
    results = {"eval_results.txt", "test_predictions.txt", "run_report.json"}
    assert run_folder(tagger).names() == checkpoints | again | results
    assert (tagger / "labels.txt").read_text(encoding="utf-8").split() == list(LABELS)
    flags = (tagger / "flags.txt").read_text(encoding="utf-8").split("\n")
    assert {"--tag_scheme=BIO", "--layers=-1", "--doc_stride=16", "--max_seq_length=32"} <= set(flags)


def test_checkpoints_have_the_names_of_a_classifier_and_slots_for_what_is_trained(tagger, run_folder):
    tensors = run_folder(tagger).tensors(60)
    assert tensors["output_weights"].shape == (5, 16)
    assert tensors["output_bias"].shape == (5,)
    weights = {name for name in tensors if not name.endswith(("/adam_m", "/adam_v", "global_step"))}
    with_slots = {name.removesuffix("/adam_m") for name in tensors if name.endswith("/adam_m")}
    assert weights - with_slots == {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}  # no tag depends on it


def test_the_predictions_are_the_test_file_with_one_more_column(tagger):
    lines = (tagger / "test_predictions.txt").read_text(encoding="utf-8").split("\n")
    wanted = columns(SPLITS["test"]).split("\n")
    assert [line.rpartition("\t")[0] for line in lines] == wanted
    assert {line.rpartition("\t")[2] for line in lines if line} <= set(LABELS)


def test_it_learns_and_scores_what_it_predicts(tagger, run_folder):
    report = run_folder(tagger).report()
    scores = tagging_scores([tags for _, tags in SPLITS["test"]], predicted(tagger / "test_predictions.txt"))
    assert report["test"] == eval_results(scores)
    assert report["eval"]["eval_f1"] > 80
    assert report["test"]["eval_f1"] > 50  # its long sentence has positions that training never saw
    assert report["last_loss"] < report["first_loss"] / 2
    assert run_folder(tagger).eval_results() == report["eval"]
    assert report["eval"]["eval_entities_PER"] == 4
    assert report["decoding"] == "argmax"


def test_prediction_alone_needs_the_folder_alone(tagger_once, tag, tmp_path):
    """Flags are remembered, batches do not change the result, and --output_dir may be another."""
    for size in (1, 50):
        out = tmp_path / str(size)
        flags = ("--do_predict", f"--init_checkpoint={tagger_once[0]}", f"--predict_batch_size={size}")
        outcome = tag(*flags, f"--output_dir={out}", "--precision=float32")
        assert outcome.code == 0, outcome.err
        assert "1 of 4 sentences were too long and were cut: 6 windows in all" in outcome.err
        assert (out / "test_predictions.txt").read_bytes() == (tagger_once[0] / "test_predictions.txt").read_bytes()


class InterruptAfter(logging.Handler):
    """Raises KeyboardInterrupt, as Ctrl-C does, when the log says `text`."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def emit(self, record):
        if self.text in record.getMessage():
            raise KeyboardInterrupt


def interrupted(tag, text, *flags) -> Outcome:
    handler = InterruptAfter(text)
    logging.getLogger("bert_cli").addHandler(handler)
    try:
        return tag(*flags)
    finally:
        logging.getLogger("bert_cli").removeHandler(handler)


def assert_same_tensors(found, wanted):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_interrupted_run_goes_on_to_the_same_weights(tagger_once, tag, tmp_path, run_folder):
    whole, flags = tagger_once
    flags = [*flags, f"--output_dir={tmp_path / 'out'}"]
    outcome = interrupted(tag, "model.ckpt-30", *flags)
    assert outcome.code == 130
    outcome = tag(*flags)
    assert f"going on from {tmp_path / 'out' / 'model.ckpt-30'}" in outcome.err
    assert_same_tensors(run_folder(tmp_path / "out").tensors(60), run_folder(whole).tensors(60))
    for name in ("test_predictions.txt", "eval_results.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (whole / name).read_bytes()
    outcome = tag(*flags, "--nodo_predict", "--decoding=viterbi")  # decoding is no part of the training
    assert "training is already finished (60 steps)" in outcome.err
    outcome = tag(*flags, "--freeze_encoder", "--layers=-2")
    assert outcome.code == 1
    for change in ("freeze_encoder was False, is now True", "layers was -1, is now -2"):
        assert change in outcome.err


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory, model):
    """save(with_head) -> a folder with a checkpoint of an encoder, and on request of a classifier with its labels."""

    def save(with_head: bool) -> pathlib.Path:
        folder = tmp_path_factory.mktemp("pretrained")
        for name in ("vocab.txt", "bert_config.json"):
            (folder / name).write_bytes((model / name).read_bytes())
        variables = named_weights(BertTagger(read_config(str(folder / "bert_config.json")), 5, seed=3))
        tensors = {name: v.numpy() for name, v in variables.items() if with_head or not name.startswith("output_")}
        if with_head:  # so large that neighbours get quite different tags
            tensors["output_weights"] = np.random.default_rng(1).normal(0, 2, (5, 16)).astype(np.float32)
            (folder / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS), encoding="utf-8")
        write_tf1(str(folder / "bert_model.ckpt"), tensors)
        return folder

    return save


def test_frozen_encoder(tagger_once, pretrained, tag, tmp_path, run_folder):
    """bert/* stay what they were and have no slots; the classifier learns, and a resumed run ends the same."""
    start = pretrained(with_head=False)
    out, again = tmp_path / "out", tmp_path / "again"
    flags = [
        *tagger_once[1],
        f"--init_checkpoint={start}",
        "--freeze_encoder",
        "--layers=-1,-2",
        "--learning_rate=0.05",
    ]
    outcome = tag(*flags, f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    pieces = sum(len(words) for words, _ in SPLITS["train"])
    assert f"computing the frozen encoder once: {pieces} labelled pieces" in outcome.err
    found = run_folder(out).tensors(60)
    reader = tf.train.load_checkpoint(str(start / "bert_model.ckpt"))
    for name in reader.get_variable_to_shape_map():
        np.testing.assert_array_equal(found[name], reader.get_tensor(name), err_msg=name)
    assert {name for name in found if name.endswith("/adam_m")} == {"output_weights/adam_m", "output_bias/adam_m"}
    assert found["output_weights"].shape == (5, 32)
    report = run_folder(out).report()
    assert report["last_loss"] < report["first_loss"] / 2
    assert report["eval"]["eval_f1"] > 50

    assert interrupted(tag, "model.ckpt-30", *flags, f"--output_dir={again}").code == 130
    assert tag(*flags, f"--output_dir={again}").code == 0
    assert_same_tensors(run_folder(again).tensors(60), found)
    assert (again / "test_predictions.txt").read_bytes() == (out / "test_predictions.txt").read_bytes()


def test_layers_without_the_last_leave_it_alone(tagger_once, tag, tmp_path, run_folder):
    flags = ["--layers=0", "--num_train_epochs=1", "--nodo_eval", "--nodo_predict", f"--output_dir={tmp_path / 'out'}"]
    assert tag(*tagger_once[1], *flags).code == 0
    with_slots = {name for name in run_folder(tmp_path / "out").tensors(6) if name.endswith("/adam_m")}
    assert not any(name.startswith(("bert/encoder/layer_1/", "bert/pooler/")) for name in with_slots)
    assert "bert/encoder/layer_0/output/dense/kernel/adam_m" in with_slots


def impossible(tags) -> int:
    """How many I-x follow neither B-x nor I-x."""
    pairs = itertools.pairwise(["O", *tags])
    return sum(after[0] == "I" and before not in (f"B-{after[2:]}", after) for before, after in pairs)


def test_viterbi_never_gives_an_impossible_sequence(pretrained, tagger_once, tag, tmp_path):
    """With a model from elsewhere: weights, vocabulary, config and labels.txt are enough."""
    folder, found = pretrained(with_head=True), {}
    data = next(flag for flag in tagger_once[1] if flag.startswith("--data_dir"))
    for decoding in ("argmax", "viterbi"):
        out = tmp_path / decoding
        flags = (f"--init_checkpoint={folder}", data, "--max_seq_length=20", f"--output_dir={out}")
        assert tag("--do_predict", f"--decoding={decoding}", *flags).code == 0
        found[decoding] = sum(map(impossible, predicted(out / "test_predictions.txt")))
    assert found["argmax"] > 5
    assert found["viterbi"] == 0


def test_text(tagger, tag, snapshot):
    before = snapshot(tagger)
    text = "The  young teacher, see: a small dog."
    outcome = tag(f"--output_dir={tagger}", "--text", text)
    assert outcome.code == 0, outcome.err
    *rows, record = outcome.out.rstrip("\n").split("\n")
    assert [row.split("\t")[0] for row in rows] == [
        "The",
        "young",
        "teacher",
        ",",
        "see",
        ":",
        "a",
        "small",
        "dog",
        ".",
    ]
    found = json.loads(record)
    assert found["text"] == text
    assert {"type": "PER", "text": "young teacher", "start": 5, "end": 18} in [
        {key: value for key, value in entity.items() if key != "score"} for entity in found["entities"]
    ]
    for entity in found["entities"]:
        assert text[entity["start"] : entity["end"]] == entity["text"]
        assert 0 < entity["score"] <= 1
    assert snapshot(tagger) == before


def test_lines_of_a_file(tagger, tag, tmp_path):
    lines = ["the old farmer likes a dog .", "", "a fish", " ".join(LONG[0])]
    (tmp_path / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    flags = (f"--output_dir={tagger}", f"--input_file={tmp_path / 'lines.txt'}", "--decoding=viterbi")
    outcome = tag(*flags)
    assert tag(*flags, f"--output_file={tmp_path / 'found.jsonl'}").out == ""
    assert (tmp_path / "found.jsonl").read_text(encoding="utf-8") == outcome.out
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [record["text"] for record in records] == [line for line in lines if line]
    assert [entity["text"] for entity in records[0]["entities"]] == ["old farmer", "dog"]
    assert len(records[2]["entities"]) > 10


def test_json_lines(tagger, tag, tmp_path):
    """Tags are scored where there are any; other keys are kept."""
    data = tmp_path / "data"
    data.mkdir()
    rows = [{"id": n, "words": words, "tags": tags} for n, (words, tags) in enumerate(SPLITS["test"])]
    (data / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    bare = [{key: value for key, value in row.items() if key != "tags"} for row in rows]
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare), encoding="utf-8")
    out = tmp_path / "out"
    flags = (f"--init_checkpoint={tagger}", f"--data_dir={data}", f"--output_dir={out}", "--precision=float32")
    outcome = tag("--do_eval", "--do_predict", *flags)
    assert outcome.code == 0, outcome.err
    report = json.loads((out / "run_report.json").read_text(encoding="utf-8"))
    before = json.loads((tagger / "run_report.json").read_text(encoding="utf-8"))
    assert {**before["test"], "global_step": 60} == report["eval"]
    assert "test" not in report
    found = [json.loads(line) for line in (out / "test_predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [{**row, "predicted_tags": None} for row in found] == [{**row, "predicted_tags": None} for row in bare]
    assert [row["predicted_tags"] for row in found] == predicted(tagger / "test_predictions.txt")


def test_test_file_without_tags(tagger, tag, tmp_path):
    """A file of words alone; and one with other columns, of which --test_tags=no says that they are no tags."""
    words = "\n".join("".join(f"{word}\n" for word in pair[0]) for pair in SPLITS["test"])
    (tmp_path / "words.txt").write_text(words, encoding="utf-8")
    (tmp_path / "more.txt").write_text(words.replace("\n", " NN\n").replace("\n NN", "\n"), encoding="utf-8")
    for name, flag in (("words.txt", "--test_tags=auto"), ("more.txt", "--test_tags=no")):
        out = tmp_path / name.removesuffix(".txt")
        flags = (f"--init_checkpoint={tagger}", f"--test_file={tmp_path / name}", f"--output_dir={out}", flag)
        outcome = tag("--do_predict", *flags, "--precision=float32")
        assert outcome.code == 0, outcome.err
        assert "Test results" not in outcome.err
        lines = (out / "test_predictions.txt").read_text(encoding="utf-8").replace("\n\n", "\n").split()
        width = 2 if name == "words.txt" else 3
        assert lines[width - 1 :: width] == flat(tagger / "test_predictions.txt")


@pytest.mark.parametrize("scheme", ["BIOES", "IO"])
def test_other_schemes_come_back(scheme, tagger_once, tag, tmp_path, run_folder):
    """Entities are learnt in BIO, so the weights are those of the run on BIO; only the files are written otherwise."""
    data, out = write_data(tmp_path / "data", scheme), tmp_path / "out"
    flags = (f"--data_dir={data}", f"--output_dir={out}", "--num_train_epochs=2", "--decoding=viterbi", "--nodo_eval")
    outcome = tag(*tagger_once[1], *flags)
    assert outcome.code == 0, outcome.err
    assert (out / "labels.txt").read_text(encoding="utf-8").split() == list(LABELS)
    assert run_folder(out).report()["tag_scheme"] == scheme
    known = {"BIOES": {"O", *(f"{p}-{t}" for p in "BIES" for t in ("PER", "ANI"))}, "IO": {"O", "PER", "ANI"}}
    assert set(flat(out / "test_predictions.txt")) <= known[scheme]
    before = (out / "test_predictions.txt").read_bytes()
    assert tag("--do_predict", f"--output_dir={out}", "--decoding=viterbi", "--precision=float32").code == 0
    assert (out / "test_predictions.txt").read_bytes() == before


def test_all_pieces_are_trained_but_each_word_is_tagged_once(tagger_once, model, tag, tmp_path):
    """Words that the vocabulary spells: six letters, six pieces."""
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev", "test"):
        (data / f"{split}.txt").write_text("zorbak\tB-PER\nquv\tI-PER\nsings\tO\n" * 2 + "\n", encoding="utf-8")
    flags = (f"--data_dir={data}", f"--output_dir={tmp_path / 'out'}", "--train_batch_size=1", "--label_all_pieces")
    outcome = tag(*tagger_once[1], *flags, "--num_train_epochs=60", "--save_checkpoints_steps=60")
    assert outcome.code == 0, outcome.err
    pieces = "B-PER" + " I-PER" * 8 + " O"
    assert f"labels: - {pieces} {pieces} -" in outcome.err
    assert flat(tmp_path / "out" / "test_predictions.txt") == ["B-PER", "I-PER", "O"] * 2
