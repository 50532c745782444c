"""bert-export --quantize=int8 compares int8 with float32 on the data of the training run, for every head."""

import json
import pathlib
import re

import pytest

from bert_cli import Classifier
from bert_cli.export_model import main
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import as_problem
from tests.rows import write_rows
from tests.snapshots import check_message

pytestmark = [pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning")]


@pytest.fixture
def export(tmp_path, capfd):
    """Export a model in int8, and return the exit code and the log."""

    def run(model: pathlib.Path, *flags: str) -> tuple[int, str]:
        target = [f"--init_checkpoint={model}", f"--export_dir={tmp_path / 'onnx'}", "--overwrite"]
        code = main(["--format=onnx", "--quantize=int8", *target, *flags])
        return code, capfd.readouterr().err

    return run


def write_table(path: pathlib.Path, labels) -> pathlib.Path:
    rows = [{"text": text, "label": label} for (text, _), label in zip(SENTENCES, labels, strict=True)]
    write_rows(path, [json.dumps(row) for row in rows])
    return path


def test_a_classifier_and_its_dev_data(trained_once, export):
    code, log = export(trained_once[0])
    assert code == 0, log
    assert re.search(r"Matthews' correlation: 0.6333 in float32, 0.\d+ in int8", log), log
    assert re.search(r"int8: \d+ of 11 texts have other labels than in float32", log), log


def test_a_file_of_the_user(trained_once, export, tmp_path):
    """It replaces the run's data, and a model of another program needs it."""
    table = write_table(tmp_path / "own.jsonl", [str(int(of_people)) for _, of_people in SENTENCES])
    code, log = export(trained_once[0], f"--dev_file={table}", "--data_dir=none")
    assert code == 1
    assert "--dev_file" in log
    Classifier.load(str(trained_once[0])).to_hugging_face(tmp_path / "hf")
    code, log = export(tmp_path / "hf")
    assert code == 0, log
    check_message(log, "int8 is not compared")
    code, log = export(tmp_path / "hf", f"--dev_file={table}")
    assert code == 0, log
    assert re.search(r"int8: \d+ of 24 texts have other labels", log), log


def test_several_labels_and_numbers(trained_two_layers_once, export, tmp_path):
    for problem_type, labels, line in (
        ("multi_label", ["0" if of_people else "1" for _, of_people in SENTENCES], r"int8: \d+ of 24 texts have other"),
        ("regression", [f"{number / 10}" for number in range(24)], r"int8: numbers differ by [\d.e-]+ on average"),
    ):
        folder = as_problem(trained_two_layers_once, tmp_path / problem_type, problem_type)
        code, log = export(folder, f"--dev_file={write_table(tmp_path / f'{problem_type}.jsonl', labels)}")
        assert code == 0, log
        assert re.search(line, log), log


def test_a_tagger_and_answers(tagger, answering, export):
    code, log = export(tagger)
    assert code == 0, log
    assert re.search(r"int8: \d+ of \d+ tokens have another tag than in float32", log), log
    assert re.search(r"F1: [\d.]+ % in float32, [\d.]+ % in int8", log), log
    code, log = export(answering)  # its training had no file to predict
    assert code == 0, log
    check_message(log, "int8 is not compared")
    code, log = export(answering, f"--dev_file={answering.parent / 'data.json'}")
    assert code == 0, log
    assert re.search(r"F1: [\d.]+ % in float32, [\d.]+ % in int8", log), log
    assert re.search(r"int8: \d+ of \d+ windows have another answer", log), log


def test_cosines_of_an_encoder(export, tmp_path):
    write_rows(tmp_path / "texts.txt", [text for text, _ in SENTENCES])
    flags = ["--pooling=mean", "--max_seq_length=16"]
    model = pathlib.Path(__file__).resolve().parents[2] / "bert_cli" / "builtin" / "pretrained"
    code, log = export(model, *flags, f"--dev_file={tmp_path / 'texts.txt'}")
    assert code == 0, log
    cosines = re.search(r"float32 vectors ([\d.]+) in the median, ([\d.]+) at least \(24 texts\)", log)
    assert cosines, log
    assert 0.9 < float(cosines[2]) <= float(cosines[1]) < 1
    code, log = export(model, *flags)
    assert code == 0, log
    assert "at least, on random token ids; --dev_file compares on your texts" in log
    (tmp_path / "empty.txt").write_text("\n")
    code, log = export(model, *flags, f"--dev_file={tmp_path / 'empty.txt'}")
    assert code == 1
    check_message(log.splitlines()[-1:], "--dev_file")
