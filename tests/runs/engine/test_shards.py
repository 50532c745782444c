"""Shards of a process, finished shards, and refusals; without TensorFlow."""

import json
import os
import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.engine import shards
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import read_shard
from tests.snapshots import check_message, raises


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three old inputs, an old model, and a directory for outputs."""
    monkeypatch.delenv("TF_CONFIG", raising=False)
    (tmp_path / "out").mkdir()
    for name in ("part-2.txt", "part-0.txt", "part-1.txt", "model.ckpt.index"):
        (tmp_path / name).write_text("a text\n")
        os.utime(tmp_path / name, (1000, 1000))
    return tmp_path


def make_plan(folder: pathlib.Path, shard=None, strategy="auto", pattern="part-*.txt", names=("x.jsonl",), **facts):
    outputs = [str(folder / "out" / name) for name in names]
    flag_values = {"layers": "-1", "words": False, "hub_module": None} | facts
    values = {"input_file": str(folder / pattern), "shard": shard, "distribution_strategy": strategy}
    return shards.ShardPlan(
        values, ("input_file", "output_file"), outputs, flag_values, str(folder / "model.ckpt.index")
    )


def unfinished_sources(shard_plan: shards.ShardPlan) -> list[str]:
    return [os.path.basename(shard.source) for shard in shard_plan.find_unfinished()]


def write_outputs(shard_plan: shards.ShardPlan, count: int = 9) -> None:
    """Write outputs for the first `count` unfinished shards."""
    for shard in list(shard_plan.iterate(shard_plan.find_unfinished()))[:count]:
        for path in shard.targets:
            pathlib.Path(path).write_text("done\n")


@pytest.mark.parametrize("text", ["1", "1/1", "-1/2", "2/2", "a/b", "0/0", "1/2/3", "ALL"])
def test_an_invalid_shard_is_refused(text):
    with pytest.raises(InputError, match=f"^--shard={text}: i/n is needed"):
        read_shard(text)


def test_each_shard_belongs_to_one_process(folder):
    assert unfinished_sources(make_plan(folder)) == ["part-0.txt", "part-1.txt", "part-2.txt"]
    assert unfinished_sources(make_plan(folder, read_shard("0/2"))) == ["part-0.txt", "part-2.txt"]
    assert unfinished_sources(make_plan(folder, (1, 2))) == ["part-1.txt"]
    assert unfinished_sources(make_plan(folder, (3, 4))) == []
    both = [os.path.basename(path) for path in make_plan(folder, (1, 2), names=("a.tsv", "b.tsv")).shards[0].targets]
    assert both == ["a.tsv-00001-of-00003", "b.tsv-00001-of-00003"]


def test_processes_in_tf_config_share_the_shards(folder, monkeypatch):
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}

    def set_task(task_type, **task_index):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": task_type, **task_index}}))

    set_task("chief", index=0)
    assert unfinished_sources(make_plan(folder)) == ["part-0.txt", "part-2.txt"]
    assert len(unfinished_sources(make_plan(folder, read_shard("all")))) == 3
    assert Devices().without_workers().distribution_strategy == "mirrored"
    set_task("worker", index=0)
    assert unfinished_sources(make_plan(folder)) == ["part-1.txt"]
    assert len(unfinished_sources(make_plan(folder, strategy="one_device"))) == 3
    assert Devices(distribution_strategy="one_device").without_workers().distribution_strategy == "one_device"
    set_task("evaluator", index=0)
    with raises(InputError, "TF_CONFIG.task: "):
        make_plan(folder)


def test_finished_shards_are_left_alone(folder, caplog):
    caplog.set_level("INFO", logger="bert_cli")
    shard_plan = make_plan(folder, names=("x.tsv", "y.tsv"))
    write_outputs(shard_plan, 2)
    os.remove(folder / "out" / "y.tsv-00001-of-00003")
    caplog.clear()
    assert unfinished_sources(shard_plan) == ["part-1.txt", "part-2.txt"]
    check_message(caplog)
    write_outputs(shard_plan)
    caplog.clear()
    assert unfinished_sources(shard_plan) == []
    check_message(caplog)
    os.utime(folder / "part-2.txt")
    caplog.clear()
    assert unfinished_sources(shard_plan) == ["part-2.txt"]
    check_message(caplog.messages[0], "1 others")
    os.utime(folder / "model.ckpt.index")
    assert len(unfinished_sources(shard_plan)) == 3


def test_the_listing_refuses_outputs_of_another_plan(folder):
    first = make_plan(folder)
    assert not os.path.exists(first.listing)  # nothing is written before the first shard
    write_outputs(first, 1)
    listed = json.loads(pathlib.Path(first.listing).read_text())
    assert listed["flags"] == {"layers": "-1", "words": "false"}
    assert [os.path.basename(path) for path in listed["inputs"]] == ["part-0.txt", "part-1.txt", "part-2.txt"]
    message = f"{first.listing}: the shards that are there were made with"
    with raises(InputError, "--layers=-1"):
        make_plan(folder, layers="-2")
    with pytest.raises(InputError, match=rf"{message} other input files \(3, now 2\)"):
        make_plan(folder, pattern="part-[01].txt")
    os.remove(folder / "out" / "x.jsonl-00000-of-00003")
    write_outputs(make_plan(folder, layers="-2"), 1)  # there are no outputs from the first plan
    with pytest.raises(InputError, match="--layers=-2, not -1"):  # the first process is still running, and stops
        write_outputs(first)
    pathlib.Path(first.listing).write_text('{"flags": {}}')
    with raises(InputError):
        make_plan(folder)
    os.remove(first.listing)
    with raises(InputError, "x.jsonl-00000-of-00003: "):
        make_plan(folder)


def test_wrong_input_and_output_files_are_refused(folder):
    with pytest.raises(
        InputError, match=r"none-\*: .*no file matches; check --input_file|'.*none-\*': no file matches"
    ):
        make_plan(folder, pattern="none-*")
    (folder / "out" / "x.jsonl-00000-of-00001").write_text("")
    with raises(InputError, "--output_file"):
        make_plan(folder, pattern="out/x*")
    with pytest.raises(InputError, match="no such folder"):
        make_plan(folder, names=("no/x.jsonl",))
