"""Arithmetic and inputs of the benchmarks, without timing anything."""

import json
import sys
import types
import zipfile

import numpy as np
import pytest

from benchmarks import http_load, inputs, install, measured, score_tasks, time_to_score
from benchmarks.limits import operations_of_token
from benchmarks.processes import Mark, ProgramError, run_marked
from benchmarks.time_to_score import BEST, DEFAULTS, OURS, Outcome
from benchmarks.workloads import NAMES

WORKLOAD = types.SimpleNamespace(name="short", operations={"steady": 2e9})


def rounds_of(ours: list[float], **peers: list[float]) -> list[measured.Round]:
    """Return rounds with training rates of several programs, and seconds (12 divided by the rate)."""
    programs = {measured.OURS: ours, **peers}
    return [
        measured.Round(
            {
                name: {"steady": rates[number], "seconds": 12 / rates[number], "mib": 7.0}
                for name, rates in programs.items()
            },
            {"tensorflow": 4e11, "torch": 8e11},
        )
        for number in range(len(ours))
    ]


def test_ratios_compare_with_the_best_peer_in_the_same_round():
    rounds = rounds_of([200.0, 100.0, 240.0], slow=[1.0, 1.0, 1.0], fast=[100.0, 50.0, 160.0])
    assert measured.best_peer(rounds, "steady") == measured.best_peer(rounds, "seconds") == "fast"
    assert measured.speed_up(rounds, "fast", "steady") == pytest.approx(2.0)  # median of 2, 2 and 1.5
    assert measured.speed_up(rounds, "fast", "seconds") == pytest.approx(2.0)
    assert measured.share_of_limit(rounds, "steady", 2e9) == pytest.approx(200 * 2e9 / 8e11)
    rows = measured.rows_of(WORKLOAD, rounds)
    assert rows[0] == ["short", "training, ex/s steady", "200", "100", "fast", "2.00", "50%", "7", "7"]
    assert rows[1][:6] == ["short", "the whole process, s", "0.06", "0.12", "fast", "2.00"]


def test_rows_without_another_program():
    assert measured.rows_of(WORKLOAD, rounds_of([5.0]))[0][3:6] == ["", "", ""]


def test_texts_have_the_requested_lengths(tmp_path):
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("[CLS]\nthe\n##ing\nOld\ndog\nan\nwork\n", encoding="utf-8")
    words = inputs.whole_words(vocab)
    assert words == ["dog", "the", "work"]
    lengths = inputs.write_tsv(tmp_path / "data", words, "short", {"train": 40, "test": 9})
    train = (tmp_path / "data" / "train.tsv").read_text(encoding="utf-8").splitlines()
    assert [len(line.split("\t")[3].split()) + 2 for line in train] == lengths["train"].tolist()
    assert {line.split("\t")[1] for line in train} == {"0", "1"}
    assert len((tmp_path / "data" / "test.tsv").read_text(encoding="utf-8").splitlines()) == 10
    assert np.array_equal(inputs.token_counts("full", 3, 1), [128, 128, 128])


def test_operations_of_bert_base():
    """The layers' matrix weights are 85,054,464; a token multiplies and adds each of them once."""
    config = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12}
    assert operations_of_token(config) == 2 * 12 * (4 * 768 * 768 + 2 * 768 * 3072) == 169_869_312
    assert {"short", "news", "base", "pretraining"} < set(NAMES)


def test_percentiles():
    values = list(range(100))
    assert [http_load.percentile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [0, 50, 99, 99]
    assert http_load.percentile([7.0], 0.5) == 7.0


def test_content_length_and_request():
    assert http_load.status_of(b"HTTP/1.1 503 no\r\ncontent-length: 1\r\n\r\n") == 503
    assert http_load.content_length(b"HTTP/1.1 200 OK\r\nContent-Type: a\r\ncontent-length: 17\r\n\r\n") == 17
    with pytest.raises(RuntimeError, match="without Content-Length"):
        http_load.content_length(b"HTTP/1.1 200 OK\r\n\r\n")
    assert http_load.request("/predict", {"text": "a"}).endswith(b'Content-Length: 13\r\n\r\n{"text": "a"}')


def test_marks_have_the_time_of_their_line():
    program = """import sys, time
for step in (5, 9):
    time.sleep(0.1)
    print(f"evaluation at step {sum(range(10**6)) * 0 + step} ", file=sys.stderr)
"""
    finished, marks = run_marked([sys.executable, "-c", program], "program", r"^evaluation at step (\d+) ")
    assert [mark.text for mark in marks] == ["5", "9"]
    assert 0.1 < marks[0].seconds < marks[1].seconds - 0.1 < finished.seconds - 0.1
    assert 0 < marks[0].cpu_seconds <= marks[1].cpu_seconds < finished.cpu_seconds + 0.02
    with pytest.raises(ProgramError, match="exit code 3"):
        run_marked([sys.executable, "-c", "raise SystemExit(3)"], "program", "x")


CURVE = ((0.5, 4.0, 6.0), (0.7, 5.0, 8.0), (0.6, 6.0, 10.0))


def test_time_to_a_score():
    assert time_to_score.time_to(0.5, CURVE) == (4.0, 6.0)
    assert time_to_score.time_to(0.65, CURVE) == (5.0, 8.0)
    assert time_to_score.time_to(0.71, CURVE) is None


def test_table_of_times_to_the_scores():
    outcomes = []
    for seed, best in ((1, 0.65), (2, 0.9)):
        outcomes.append(Outcome("cola", OURS, seed, 0.6, 6.0, 9.0))
        outcomes.append(Outcome("cola", f"{OURS}, evaluated", seed, 0.6, 7.0, 11.0, CURVE))
        outcomes.append(Outcome("cola", DEFAULTS, seed, 0.4, 20.0 + seed, 30.0))
        outcomes.append(Outcome("cola", BEST, seed, best, 10.0, 15.0))
    table = time_to_score.make_table(outcomes)
    rows = list(zip(*(column.cells for column in table.columns), strict=True))
    assert [row[1] for row in rows] == [OURS, f"{OURS}, evaluated", DEFAULTS, BEST]
    assert rows[1][5:] == ("4.0 (19%); 6.0 (20%)", "5.0 (50%); 8.0 (53%); 1 of 2 never")
    assert rows[2][2:] == ("0.400 ± 0.000", "21.5 ± 0.7", "30.0 ± 0.0", "", "")


def test_table_of_several_tasks_has_their_means():
    outcomes = [
        Outcome(task, program, 1, score, 8.0, 9.0, CURVE if program == OURS else ())
        for task, score in (("cola", 0.2), ("sst-2", 0.8))
        for program in (OURS, DEFAULTS, BEST)
    ]
    *_, ours, _, _ = zip(*(column.cells for column in time_to_score.make_table(outcomes).columns), strict=True)
    assert ours == (
        "all",
        OURS,
        "0.500",
        "8.0",
        "9.0",
        "4.0 (50%); 6.0 (67%); 1 of 2 never",
        "4.0 (50%); 6.0 (67%); 1 of 2 never",
    )


@pytest.mark.parametrize(("name", "scores"), [("cola", [0.3, 0.5]), ("wnut17", [0.003, 0.005])])
def test_curve_joins_history_and_marks(tmp_path, name, scores):
    """bert-tag reports percentages, the Trainer fractions."""
    task = score_tasks.TASKS[name]
    lines = [
        {"step": 10, "loss": 1.0},
        *({"step": step, "metrics": {task.metric: step / 40 + 0.05}} for step in (10, 18)),
    ]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    marks = [Mark("10", 3.0, 4.0), Mark("18", 5.0, 6.0)]
    curve = list(time_to_score.make_curve(str(tmp_path), task, marks))
    assert [score for score, _, _ in curve] == pytest.approx(scores)
    assert [times for _, *times in curve] == [[3.0, 4.0], [5.0, 6.0]]


def test_files_of_scored_tasks(tmp_path):
    data = tmp_path / "data"
    for name, text in {
        "cola/train.tsv": 'a\t1\t\tIt is "so.\nb\t0\t*\tSo it.\n',
        "cola/dev.tsv": "a\t1\t\tIt is.\n",
        "wnut17/wnut17train.conll": "Ada\tB-person\nsings\tO\n\n\nNo\tO\n",
        "wnut17/emerging.dev.conll": "No\tO\n",
    }.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text, encoding="utf-8")
    cola = score_tasks.write_task(score_tasks.TASKS["cola"], data, tmp_path / "cola", False)
    rows = [json.loads(line) for line in cola["train"].read_text(encoding="utf-8").splitlines()]
    assert rows == [{"text": 'It is "so.', "label": "1"}, {"text": "So it.", "label": "0"}]
    wnut = score_tasks.write_task(score_tasks.TASKS["wnut17"], data, tmp_path / "wnut", True)
    assert wnut["train"].read_text(encoding="utf-8") == "Ada\tB-person\nsings\tO\n\nNo\tO\n\n"
    with pytest.raises(SystemExit, match=r"error: .*train\.tsv: no such file; --data names"):
        time_to_score.main([f"--data={tmp_path}", "--only=rte"])
    with pytest.raises(SystemExit):
        time_to_score.parse_arguments(["--data=x", "--only=mrpc"])


def test_an_installation_is_measured(tmp_path):
    wheel = tmp_path / "bert_cli-0.1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("bert_cli.py", "x = 1  # " + 100_000 * "a")
        archive.writestr("bert_cli-0.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: bert_cli\nVersion: 0.1\n")
        archive.writestr(
            "bert_cli-0.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("bert_cli-0.1.dist-info/RECORD", "")
    (requirement,) = install.with_wheels(["bert_cli"], tmp_path)
    installation = install.install([requirement], sys.executable, ["--no-index"])
    assert installation.packages == 1
    assert 0.1 < installation.megabytes < 0.2
    assert installation.cpu_seconds > 0


def test_wheels_replace_our_names(tmp_path):
    (tmp_path / "bert_cli-0.1.0-py3-none-any.whl").touch()
    wheel = (tmp_path / "bert_cli-0.1.0-py3-none-any.whl").as_uri()
    assert install.with_wheels(["bert_cli[serve]", "tensorflow"], tmp_path) == [
        f"bert_cli[serve] @ {wheel}",
        "tensorflow",
    ]
    with pytest.raises(
        FileNotFoundError, match=r"has no wheel of bert_cli_light: run make distributions, or give --dist$"
    ):
        install.with_wheels(["bert_cli_light"], tmp_path)
