"""Which shards a process takes, which are finished, and what is refused; no TensorFlow."""

import json
import os
import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.output_dir import shards
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import read_shard


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three inputs, a model, and a folder for outputs; all of long ago."""
    monkeypatch.delenv("TF_CONFIG", raising=False)
    (tmp_path / "out").mkdir()
    for name in ("part-2.txt", "part-0.txt", "part-1.txt", "model.ckpt.index"):
        (tmp_path / name).write_text("a text\n")
        os.utime(tmp_path / name, (1000, 1000))
    return tmp_path


def plan(folder: pathlib.Path, shard=None, strategy="auto", pattern="part-*.txt", names=("x.jsonl",), **facts):
    outputs = [str(folder / "out" / name) for name in names]
    given = {"layers": "-1", "words": False, "hub_module": None} | facts
    values = {"input_file": str(folder / pattern), "shard": shard, "distribution_strategy": strategy}
    return shards.ShardPlan(values, ("input_file", "output_file"), outputs, given, str(folder / "model.ckpt.index"))


def sources(made: shards.ShardPlan) -> list[str]:
    return [os.path.basename(shard.source) for shard in made.find_unfinished()]


def make(made: shards.ShardPlan, count: int = 9) -> None:
    """Write the outputs of the first `count` shards that are left."""
    for shard in list(made.iterate(made.find_unfinished()))[:count]:
        for path in shard.targets:
            pathlib.Path(path).write_text("done\n")


@pytest.mark.parametrize("text", ["1", "1/1", "-1/2", "2/2", "a/b", "0/0", "1/2/3", "ALL"])
def test_bad_shards(text):
    with pytest.raises(InputError, match=f"^--shard={text}: i/n is needed"):
        read_shard(text)


def test_each_shard_is_of_one_process(folder):
    assert read_shard("all") is None
    assert sources(plan(folder)) == ["part-0.txt", "part-1.txt", "part-2.txt"]
    assert sources(plan(folder, read_shard("0/2"))) == ["part-0.txt", "part-2.txt"]
    assert sources(plan(folder, (1, 2))) == ["part-1.txt"]
    assert sources(plan(folder, (3, 4))) == []
    both = [os.path.basename(path) for path in plan(folder, (1, 2), names=("a.tsv", "b.tsv")).shards[0].targets]
    assert both == ["a.tsv-00001-of-00003", "b.tsv-00001-of-00003"]


def test_processes_of_tf_config_share(folder, monkeypatch):
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}

    def called(kind, **place):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": kind, **place}}))

    called("chief", index=0)
    assert sources(plan(folder)) == ["part-0.txt", "part-2.txt"]
    assert Devices().without_workers().distribution_strategy == "mirrored"
    called("worker", index=0)
    assert sources(plan(folder)) == ["part-1.txt"]
    assert len(sources(plan(folder, strategy="one_device"))) == 3
    assert Devices(distribution_strategy="one_device").without_workers().distribution_strategy == "one_device"
    called("evaluator", index=0)
    with pytest.raises(InputError, match=r"TF_CONFIG\.task: evaluator 0 does not train"):
        plan(folder)


def test_what_is_finished_is_left_alone(folder, caplog):
    caplog.set_level("INFO", logger="bert_cli")
    made = plan(folder, names=("x.tsv", "y.tsv"))
    make(made, 2)
    os.remove(folder / "out" / "y.tsv-00001-of-00003")
    caplog.clear()
    assert sources(made) == ["part-1.txt", "part-2.txt"]
    assert caplog.messages == ["1 of 3 shards are finished already, and left as they are"]
    make(made)
    caplog.clear()
    assert sources(made) == []
    assert caplog.messages == ["3 of 3 shards are finished already, and left as they are: nothing is left to do"]
    os.utime(folder / "part-2.txt")
    caplog.clear()
    assert sources(made) == ["part-2.txt"]
    assert caplog.messages[0].endswith("; 1 others are older than their input or the model, and computed again")
    os.utime(folder / "model.ckpt.index")
    assert len(sources(made)) == 3


def test_the_listing_holds_outputs_of_one_kind_together(folder):
    first = plan(folder)
    assert not os.path.exists(first.listing)  # nothing is written before there is something to do
    make(first, 1)
    listed = json.loads(pathlib.Path(first.listing).read_text())
    assert listed["flags"] == {"layers": "-1", "words": "false"}
    assert [os.path.basename(path) for path in listed["inputs"]] == ["part-0.txt", "part-1.txt", "part-2.txt"]
    said = f"{first.listing}: the shards that are there were made with"
    with pytest.raises(InputError, match=f"{said} --layers=-1, not -2; give the same, use another --output_file"):
        plan(folder, layers="-2")
    with pytest.raises(InputError, match=rf"{said} other input files \(3, now 2\)"):
        plan(folder, pattern="part-[01].txt")
    os.remove(folder / "out" / "x.jsonl-00000-of-00003")
    make(plan(folder, layers="-2"), 1)  # nothing was made with the others
    with pytest.raises(InputError, match="--layers=-2, not -1"):  # which the first process, still at work, is told of
        make(first)
    pathlib.Path(first.listing).write_text('{"flags": {}}')
    with pytest.raises(InputError, match=f'{first.listing}: has no "inputs"; remove it, and what was made with it'):
        plan(folder)
    os.remove(first.listing)
    with pytest.raises(
        InputError, match=r"x\.jsonl-00000-of-00003: is there without x\.jsonl\.shards\.json, which says"
    ):
        plan(folder)


def test_refused(folder):
    with pytest.raises(
        InputError, match=r"none-\*: .*no file matches; check --input_file|'.*none-\*': no file matches"
    ):
        plan(folder, pattern="none-*")
    (folder / "out" / "x.jsonl-00000-of-00001").write_text("")
    with pytest.raises(InputError, match="would be written over, but it is read; check --output_file"):
        plan(folder, pattern="out/x*")
    with pytest.raises(InputError, match="no such folder"):
        plan(folder, names=("no/x.jsonl",))
