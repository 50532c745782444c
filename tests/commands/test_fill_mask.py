"""bert-fill-mask as a user calls it, compared with an independent model in NumPy."""

import json
import pathlib
import shutil

import numpy as np
import numpy_bert
import pytest

from bert_cli import MaskFiller
from bert_cli.base.errors import InputError
from bert_cli.fill_mask import main
from bert_cli.run_pretraining import main as pretrain_main
from bert_cli.serving.loading import load_served
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import find_checkpoint
from tests.serving.http.calls import Application
from tests.snapshots import check_message, raises

TEXT = "the cat sees a dog .\nmy dog likes bread .\na bird sings .\n\nthe farmer buys a house .\nthe house opens .\n"


@pytest.fixture(scope="module")
def pretrained(two_layer_model, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("pretrained")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    flags = {
        "vocab_file": two_layer_model / "vocab.txt",
        "bert_config_file": two_layer_model / "bert_config.json",
        "max_seq_length": 24,
    }
    flags |= {"input_file": folder / "text.txt", "output_dir": folder / "out", "num_train_steps": 3}
    flags |= {"max_predictions_per_seq": 3, "train_batch_size": 4, "precision": "float32"}
    assert pretrain_main(["--do_train", *(f"--{name}={value}" for name, value in flags.items())]) == 0
    return folder / "out"


def test_served_texts_are_named_as_in_the_request(pretrained):
    model = load_served("masks", ModelFlags(), find_checkpoint(str(pretrained)))
    application = Application(model)
    try:
        texts = ["the [MASK]"] * 100
        assert len(application.post("/predict", {"texts": texts})[1]["predictions"]) == 100
        texts[80] = "no mask"
        for path, body, place in (
            ("/predict", {"texts": texts}, "texts[80]"),
            ("/v1/models/masks:predict", {"instances": texts}, "instances[80]"),
            ("/v1/models/masks:predict", {"inputs": {"text": texts}}, "'inputs'[80]"),
            ("/predict", {"text": "no mask"}, "the body"),
        ):
            status, answer = application.post(path, body)
            assert (status, f"{place}: has no [MASK]" in str(answer)) == (400, True), answer
    finally:
        application.close()


@pytest.fixture
def fill(pretrained, capfd):
    """Call the command; return exit code, standard output and the last line of standard error."""

    def call(*arguments, **flags):
        flags = {"init_checkpoint": pretrained, "precision": "float32"} | flags
        capfd.readouterr()
        code = main([*arguments, *(f"--{name}={value}" for name, value in flags.items())])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err.rstrip("\n").rpartition("\n")[2]

    return call


def expected(folder, run_folder, words: list[str], first_length: int):
    """Return masked-LM probabilities [masks, V] and that of "B follows A", computed in NumPy."""
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    config = json.loads((folder / "bert_config.json").read_text(encoding="utf-8"))
    weights = {name: value for name, value in run_folder(folder).tensors(3).items() if "adam" not in name}
    # "a" is in it twice, and the last one counts.
    numbers = {word: number for number, word in enumerate(vocabulary)}
    ids = np.array([[numbers[word] for word in words]])
    segments = (np.arange(len(words)) >= first_length).astype(int)[None]
    outputs = numpy_bert.forward(config, weights, ids, np.ones_like(ids), segments)
    places = np.array([[index for index, word in enumerate(words) if word == "[MASK]"]])
    masked = numpy_bert.masked_lm(
        config, weights, outputs["sequence_output"], places, np.zeros_like(places), np.ones_like(places)
    )
    follows = numpy_bert.next_sentence(weights, outputs["pooled_output"], [0])
    return vocabulary, np.exp(masked["log_probs"][0]), follows["probabilities"][0, 0]


@pytest.mark.parametrize("engine", ["tensorflow", "onnxruntime"])
def test_candidates_equal_the_numpy_model(fill, pretrained, run_folder, tmp_path, engine):
    words = "[CLS] the [MASK] sees a [MASK] . [SEP] it sings [SEP]".replace("it", "my").split()
    vocabulary, probabilities, follows = expected(pretrained, run_folder, words, 8)
    (tmp_path / "texts.txt").write_text("The [MASK] sees a [MASK]. ||| my sings\n\nthe [MASK]\n", encoding="utf-8")
    code, out, _ = fill(input_file=tmp_path / "texts.txt", top_k=4, engine=engine)
    assert code == 0
    first, second = [json.loads(line) for line in out.splitlines()]
    assert first["text"] == "The [MASK] sees a [MASK]. ||| my sings"
    assert len(second["masks"]) == 1
    assert "next_sentence_probability" not in second
    assert first["next_sentence_probability"] == pytest.approx(follows, abs=2e-6)
    assert len(first["masks"]) == 2
    for candidates, mask_probabilities in zip(first["masks"], probabilities, strict=True):
        order = np.argsort(-mask_probabilities)[:4]
        assert [candidate["token"] for candidate in candidates] == [vocabulary[index] for index in order]
        assert [candidate["probability"] for candidate in candidates] == pytest.approx(
            mask_probabilities[order], abs=2e-6
        )


def probability_of(folder, run_folder, words: list[str], first_length: int, position: int, word: str) -> float:
    """Return a token's probability at a position, computed in NumPy while it alone is masked."""
    masked = [*words[:position], "[MASK]", *words[position + 1 :]]
    # The oracle lists all masks in order.
    number = masked[:position].count("[MASK]")
    vocabulary, probabilities, _ = expected(folder, run_folder, masked, first_length)
    return float(probabilities[number, len(vocabulary) - 1 - vocabulary[::-1].index(word)])


@pytest.mark.parametrize("engine", ["tensorflow", "onnxruntime"])
def test_candidates_of_several_pieces_are_read_from_left_to_right(fill, pretrained, run_folder, tmp_path, engine):
    pieces = {"dog": ["dog"], "dogs": ["dog", "##s"], "my dogs": ["my", "dog", "##s"], "bread": ["bread"]}
    before, after = ["[CLS]", "the"], ["sees", "a", "[MASK]", ".", "[SEP]"]
    texts = tmp_path / "texts.txt"
    texts.write_text("The [MASK] sees a [MASK].\n", encoding="utf-8")
    code, out, _ = fill(input_file=texts, candidates=",".join(pieces), engine=engine)
    assert code == 0
    first, second = json.loads(out)["masks"]
    for mask, left, right in ((first, before, after), (second, [*before, "[MASK]", *after[:2]], after[3:])):
        oracle = {}
        for word, parts in pieces.items():
            product = 1.0
            for index, part in enumerate(parts):
                words = [*left, *parts[:index], *["[MASK]"] * (len(parts) - index), *right]
                product *= probability_of(pretrained, run_folder, words, len(words), len(left) + index, part)
            oracle[word] = product
        assert {entry["token"]: entry["probability"] for entry in mask} == pytest.approx(oracle, rel=1e-4)
        assert [entry["token"] for entry in mask] == sorted(oracle, key=oracle.__getitem__, reverse=True)


def test_scores_equal_the_numpy_model(fill, pretrained, run_folder, tmp_path):
    words = "[CLS] the dogs [SEP] my bird sings [SEP]".replace("dogs", "dog ##s").split()
    texts = tmp_path / "texts.txt"
    texts.write_text("The dogs ||| my bird sings\n\nbread\n", encoding="utf-8")
    code, out, _ = fill("--score", input_file=texts)
    assert code == 0
    pair, single = map(json.loads, out.splitlines())
    positions = [1, 2, 3, 5, 6, 7]
    assert [token["token"] for token in pair["tokens"]] == [words[position] for position in positions]
    oracle = [
        np.log(probability_of(pretrained, run_folder, words, 5, position, words[position])) for position in positions
    ]
    assert [token["log_probability"] for token in pair["tokens"]] == pytest.approx(oracle, abs=1e-4)
    assert pair["pseudo_log_likelihood"] == pytest.approx(sum(oracle), abs=1e-4)
    assert pair["pseudo_perplexity"] == pytest.approx(np.exp(-np.mean(oracle)), rel=1e-4)
    assert list(single) == ["text", "pseudo_log_likelihood", "pseudo_perplexity", "tokens"]
    assert len(single["tokens"]) == 1
    code, out, _ = fill("bread", "--score")
    assert code == 0
    assert out.splitlines()[0] == "bread"
    assert f"{single['pseudo_log_likelihood']:.4f}  pseudo-log-likelihood of 1 token" in out


def test_candidates_and_scores_refuse_other_texts(fill, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("a dog\nthe [MASK]\n", encoding="utf-8")
    for text in ("a dog", "a dog ||| a bird"):
        code, out, line = fill(text, candidates="dog")
        assert (code, out) == (1, "")
        check_message(line)
    for arguments in (
        ["the [MASK]", "--score"],
        ["--score", f"--input_file={texts}", f"--output_file={tmp_path / 'out.jsonl'}"],
        ["the [MASK]", "--candidates=dog,,cat"],
        ["the [MASK]", "--candidates=dog,日本"],
        ["the [MASK]" + " dog" * 60, "--candidates=dogs,bread"],
    ):
        code, out, line = fill(*arguments)
        assert (code, out) == (1, "")
        check_message(line)
    assert not (tmp_path / "out.jsonl").exists()


def test_texts_on_the_command_line(fill, tmp_path):
    code, out, _ = fill("the [MASK] sees a dog", "--top_k=2", "a dog ||| a [MASK]")
    lines = out.splitlines()
    assert code == 0
    assert [lines[0], lines[3]] == ["the [MASK] sees a dog", "a dog ||| a [MASK]"]
    assert len(lines) == 7
    assert lines[6].endswith("  the second text follows the first")
    (tmp_path / "one.txt").write_text("the [MASK] sees a dog", encoding="utf-8")
    code, out, _ = fill(input_file=tmp_path / "one.txt", output_file=tmp_path / "answers.jsonl", top_k=2)
    assert (code, out) == (0, "")
    record = json.loads((tmp_path / "answers.jsonl").read_text(encoding="utf-8"))
    assert [f"  {c['probability']:.4f}  {c['token']}" for c in record["masks"][0]] == lines[1:3]


def test_text_may_begin_with_a_space(fill):
    code, out, _ = fill(" the [MASK] sees a dog")
    assert code == 0
    assert out.startswith(" the [MASK] sees a dog\n")
    code, _, line = fill("a [MASK]", " ")
    assert code == 1
    check_message(line)


def test_many_lines_come_in_order(fill, tmp_path):
    texts = [f"the [MASK] sees {'a dog ' * (number % 5)}{'[MASK]' if number % 3 else ''}" for number in range(700)]
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    code, out, _ = fill(input_file=tmp_path / "texts.txt", top_k=1)
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert code == 0
    assert [record["text"] for record in records] == [text.strip() for text in texts]
    alike = {}
    for record in records:
        alike.setdefault(record["text"], set()).add(tuple(mask[0]["token"] for mask in record["masks"]))
    assert all(len(results) == 1 for results in alike.values())
    assert len(alike) >= 5


def test_bad_input_is_one_line(fill, tmp_path, trained):
    def refused(fragments, *arguments, **flags):
        code, out, line = fill(*arguments, **flags)
        assert (code, out) == (1, "")
        assert line.startswith("bert-fill-mask: error: ")
        assert all(fragment in line for fragment in fragments), line

    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"a [MASK]\nno mask here\n")
    refused(["text 1: has no [MASK]"], "no mask here")
    refused(["texts.txt:2: has no [MASK]"], input_file=texts, output_file=tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    (tmp_path / "link.txt").symlink_to(texts)
    for output_file in (texts, tmp_path / "link.txt"):
        refused(["would be written over, but it is read"], input_file=texts, output_file=output_file)
    assert texts.read_bytes() == b"a [MASK]\nno mask here\n"
    refused(["no/such: no such folder"], input_file=texts, output_file="no/such/out.jsonl")
    refused(["text 2: is too long for the model, which has 64 positions"], "a [MASK]", "a [MASK] " * 70)
    refused(["nothing to do: give TEXTS"])
    refused(["a text is empty"], "a [MASK] |||  ")
    refused(["no such file"], input_file=tmp_path / "none")
    refused(["has no masked-LM head"], "a [MASK]", init_checkpoint=trained)
    refused(["--init_checkpoint"], "a [MASK]", init_checkpoint=tmp_path / "nothing")
    refused(["did you mean --top_k"], "a [MASK]", topk=3)


def test_model_without_next_sentences_is_reported(fill, pretrained, tmp_path):
    folder = pathlib.Path(shutil.copytree(pretrained, tmp_path / "copy"))
    flags = (folder / "flags.txt").read_text(encoding="utf-8")
    assert "--no_nsp=false" in flags
    (folder / "flags.txt").write_text(flags.replace("--no_nsp=false", "--no_nsp=true"), encoding="utf-8")
    code, _, line = fill("a [MASK] ||| a dog", init_checkpoint=folder)
    assert code == 1
    check_message(line, "--no_nsp")
    assert fill("a [MASK]", init_checkpoint=folder)[0] == 0


def test_from_python_as_the_command(pretrained, fill):
    filler = MaskFiller.load(pretrained, precision="float32")
    text = "the [MASK] sees a [MASK] . ||| my dog likes bread ."
    _, out, _ = fill(text, "--top_k=4")
    result = filler.fill(text, top_k=4)
    assert [len(candidates) for candidates in result.masks] == [4, 4]
    shown = [f"  {entry.probability:.4f}  {entry.token}" for entry in result.masks[0] + result.masks[1]]
    assert [line for line in out.splitlines() if line in shown] == shown
    assert f"  {result.next_sentence_probability:.4f}  the second text follows the first" in out
    assert filler.fill([text, "a [MASK] ."])[0].masks[0][0] == result.masks[0][0]
    assert [len(entry) for entry in filler.fill("a [MASK] .").masks] == [5]
    follows = filler.next_sentence("the [MASK] sees a [MASK] .", "my dog likes bread .")
    assert follows == pytest.approx(result.next_sentence_probability, abs=1e-6)


def test_refusals_from_python(pretrained, trained):
    filler = MaskFiller.load(pretrained)
    with pytest.raises(InputError, match=r"texts\[1\]: has no \[MASK\]"):
        filler.fill(["a [MASK] .", "a cat ."])
    with raises(InputError, "top_k=0: "):
        filler.fill("a [MASK] .", top_k=0)
    # A list would be read as the text "['a', 'b']".
    with raises(InputError, "text_b: "):
        filler.next_sentence("a dog", ["a cat"])
    with raises(InputError):
        MaskFiller.load(trained)


def test_candidates_and_scores_from_python(pretrained, fill):
    filler = MaskFiller.load(pretrained, precision="float32")
    _, out, _ = fill("the [MASK] sees a dog", candidates="bird,dogs")
    result = filler.fill("the [MASK] sees a dog", candidates=["dogs", "bird"])
    # The order of the candidates does not matter.
    assert [word for word, _ in result.masks[0]] == [line.split()[1] for line in out.splitlines()[1:]]
    assert filler.fill(["a [MASK] .", "the [MASK] sees a dog"], candidates=("dogs", "bird"))[1].tokens == result.tokens
    one = filler.score("the dogs sees a bird")
    assert one.pseudo_log_likelihood == pytest.approx(sum(value for _, value in one.tokens), abs=1e-4)
    assert list(one.to_frame().columns) == ["token", "log_probability"]
    assert "##s" in one._repr_html_()
    scores = filler.score(["bread", "the dogs sees a bird"])
    assert scores[1].pseudo_perplexity == pytest.approx(one.pseudo_perplexity, rel=1e-4)
    frame = scores.to_frame()
    assert list(frame.columns) == ["text", "pseudo_log_likelihood", "pseudo_perplexity"]
    assert str(scores[0]) in repr(scores) or "bread" in repr(scores)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a [MASK]", {"candidates": "dog"}),
        ("a [MASK]", {"candidates": []}),
        ("a [MASK]", {"candidates": 5}),
        ("a [MASK]", {"candidates": np.array("dog")}),
        ("a [MASK]", {"candidates": b"dog"}),
        ("a [MASK]", {"candidates": {"dog": 1}}),
        ("a [MASK]", {"candidates": ["dog", 1]}),
        ("a [MASK]", {"candidates": ["dog"], "top_k": 2}),
        ("a [MASK]", {"candidates": ["日本"]}),
        ("a dog", {"candidates": ["dog"]}),
    ],
)
def test_wrong_candidates_from_python(pretrained, text, options):
    with raises(InputError):
        MaskFiller.load(pretrained).fill(text, **options)


def test_score_refuses_masks_from_python(pretrained):
    with raises(InputError):
        MaskFiller.load(pretrained).score(["a dog", "a [MASK]"])
