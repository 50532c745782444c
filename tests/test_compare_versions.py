"""Comparison of two versions: differences, masked values, and runnable scenarios."""

import json
import pathlib

import numpy as np
import pytest

from benchmarks.compare_files import compare_arrays, compare_files, mask_measured, mask_page, mask_text
from benchmarks.compare_versions import choose
from benchmarks.scenarios import MODULES, SCENARIOS, make_inputs

DATA = pathlib.Path(__file__).parent.parent / "data"


def compare(folder: pathlib.Path, name: str, before: str, after: str) -> list[str]:
    paths = [folder / side / name for side in ("before", "after")]
    for path, text in zip(paths, (before, after), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return compare_files(*paths, (str(folder / "before"), str(folder / "after")))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("training 4/4  loss 0.69  examples/s 1378.3  left 0:00", "training 4/4  loss 0.69  examples/s 9.1  left 1:10"),
        ("done in 6.0 s: F1 0.5", "done in 12.25 s: F1 0.5"),
        ("8 lines, 15.0 a second", "8 lines, 1,115.2 a second"),
        ("  memory: about 1.1 GB (of the process); a file", "  memory: about 890 MB (of the process); a file"),
        ("355 pieces (0.0 seconds)", "355 pieces (0.1 seconds)"),
    ],
)
def test_times_rates_and_memory_are_masked(before, after):
    assert mask_text(before) == mask_text(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  eval_loss = 0.6906713", "  eval_loss = 0.6906714"),
        ("a checkpoint has 590 kB", "a checkpoint has 591 kB"),
        ("line 4: wrong label", "line 5: wrong label"),
        ("8 lines, 15.0 a second", "9 lines, 15.0 a second"),
    ],
)
def test_other_numbers_in_a_log_are_compared(before, after):
    assert mask_text(before) != mask_text(after)


def test_the_log_is_masked_and_standard_output_is_not(tmp_path):
    assert compare(tmp_path, "stderr", "done in 6.0 s", "done in 7.0 s") == []
    assert (
        compare(tmp_path, "stderr", "saved bert_cli-98i79c80/model.ckpt-1", "saved bert_cli-c6odaei5/model.ckpt-1")
        == []
    )
    (difference,) = compare(tmp_path, "stdout", "a\nb 6.0 s", "a\nb 7.0 s")
    assert difference == "line 2: 'b 6.0 s' != 'b 7.0 s'"


def test_the_directory_of_a_version_is_masked(tmp_path):
    texts = [f"--data_dir={tmp_path / side}/in\n" for side in ("before", "after")]
    assert compare(tmp_path, "flags.txt", *texts) == []


def test_names_of_temporary_directories_are_masked(tmp_path):
    texts = [f"saved bert_cli-{name}/model.ckpt-16\n" for name in ("98i79c80", "lb8xrb5h")]
    assert compare(tmp_path, "stderr", *texts) == []


def test_measured_values_of_json_are_masked_by_their_keys(tmp_path):
    before = {"train_seconds": 1.5, "eval": {"loss": 0.5}, "peak_memory_bytes": 7, "finished": "2026-01-01 10:00"}
    after = {"train_seconds": 2.5, "eval": {"loss": 0.5}, "peak_memory_bytes": 8, "finished": "2026-01-01 10:01"}
    assert mask_measured(before) == mask_measured(after)
    assert compare(tmp_path, "run_report.json", json.dumps(before), json.dumps(after)) == []
    after["eval"] = {"loss": 0.25}
    assert len(compare(tmp_path, "run_report.json", json.dumps(before), json.dumps(after))) == 1
    # A missing key is a difference, even if its values are masked.
    del after["train_seconds"], before["eval"], after["eval"]
    assert len(compare(tmp_path, "run_report.json", json.dumps(before), json.dumps(after))) == 1


def test_the_speed_in_a_page_is_masked():
    page = '<b>{}</b><span>examples/s</span><article id="card-speed"><path d="{}"></article><b>{}</b><span>steps</span>'
    assert mask_page(page.format(1, "M 1", 7)) == mask_page(page.format(2, "M 2", 7))
    assert mask_page(page.format(1, "M 1", 7)) != mask_page(page.format(1, "M 1", 8))


def test_arrays_are_compared_bit_by_bit():
    ones = np.ones(3, np.float32)
    assert compare_arrays({"a": ones, "m": ones}, {"a": ones.copy(), "m": ones}) == []
    assert compare_arrays({"z": np.zeros(1)}, {"z": -np.zeros(1)}) == ["z: 0 of 1 values differ, by up to 0"]
    assert compare_arrays({"a": ones}, {"a": ones + np.float32(0.5)}) == ["a: 3 of 3 values differ, by up to 0.5"]
    assert compare_arrays({"a": ones}, {"a": ones[:2]}) == ["a: float32 [3] != float32 [2]"]
    assert compare_arrays({"a": ones}, {"b": ones}) == ["a: in one of both alone", "b: in one of both alone"]


def test_other_files_are_compared_by_their_bytes(tmp_path):
    assert compare(tmp_path, "data.bin", "\0a", "\0b") == ["2 and 2 bytes differ"]


def test_scenarios_are_chosen_by_patterns():
    assert [scenario.name for scenario in choose("tag,help-t*")] == ["tag", "help-tag"]
    assert len({scenario.name for scenario in choose("")}) == len(SCENARIOS)
    with pytest.raises(SystemExit):
        choose("nothing")


def test_each_command_has_a_scenario_and_its_inputs_exist(tmp_path):
    make_inputs(DATA, tmp_path / "in")
    commands = [line for scenario in SCENARIOS for line in scenario.commands]
    assert {line.split()[0] for line in commands} == {*MODULES, "python"}
    for word in (word for line in commands if "python" not in line for word in line.split()):
        path = word.partition("../in/")[2].partition(",")[0].strip("'\"")
        if path and "nowhere" not in path:
            assert list((tmp_path / "in").glob(path)), word
