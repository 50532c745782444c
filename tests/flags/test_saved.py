"""flags.txt: flags that a run stores, and flags that later runs take from it."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import FlagGroup, build, group, option
from bert_cli.flags.parser import parse
from bert_cli.flags.run_flags import first_difference, read_flags, read_guesses
from bert_cli.flags.saved import flags_to_save, read_remembered, write_flags
from tests.snapshots import raises


class Run(FlagGroup, heading="Run"):
    data_dir: str | None = option(None, "folder with the data", path=True, remembered=True)
    bucket: str | None = option(None, "where to write", path=True)
    train_file: str = option("", "what some runs need", path=True)
    tpu_name: str | None = option(None, "of a TPU", may_be_empty=True)
    labels: tuple[str, ...] | None = option(
        None, "names", read=lambda text: tuple(text.split(",")), write=",".join, remembered=True
    )
    rate: float = option(5e-5, "a rate")
    length: int = option(128, "in tokens", lower=1, remembered=True)
    fast: bool = option(False, "hurry", remembered=True)
    overwrite: bool = option(False, "start anew", transient=True)
    master: str | None = option(None, "without effect", ignored=True)
    texts: tuple[str, ...] = option((), "texts", words=True)


@dataclasses.dataclass(frozen=True)
class Settings:
    run: Run = group(Run)


GIVEN = {
    "data_dir": "data/cola",
    "bucket": "gs://bucket/out",
    "labels": ("a", "b c"),
    "overwrite": True,
    "master": "grpc://x",
    "texts": ("one",),
}


def test_flags_that_repeat_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved = flags_to_save(build(Settings, GIVEN), {"fast": True})
    assert saved == {
        "data_dir": str(tmp_path / "data" / "cola"),
        "bucket": "gs://bucket/out",
        "labels": "a,b c",
        "rate": "5e-05",
        "length": "128",
        "fast": "true",
    }
    assert flags_to_save(Settings(), {"length": None}) == {"rate": "5e-05", "fast": "false"}


def test_an_empty_text_is_saved_only_if_it_was_given():
    assert "train_file" not in flags_to_save(Settings(), {})
    assert flags_to_save(build(Settings, {"tpu_name": ""}), {})["tpu_name"] == ""


def test_flagfile_reads_the_file(tmp_path):
    path = tmp_path / "flags.txt"
    saved = flags_to_save(build(Settings, GIVEN), {})
    write_flags(str(path), saved)
    assert path.read_text(encoding="utf-8").splitlines()[1:3] == ["--bucket=gs://bucket/out", "--labels=a,b c"]
    assert read_flags(str(path)) == saved
    values, given_names = parse(Settings, [f"--flagfile={path}"])
    assert given_names == set(saved)
    assert flags_to_save(build(Settings, values), {}) == saved
    assert read_flags(str(tmp_path / "none.txt")) == {}


def test_guesses_are_comments(tmp_path):
    path = str(tmp_path / "flags.txt")
    write_flags(path, {"length": "64"}, {"labels": "a,b=c"})
    assert (tmp_path / "flags.txt").read_text("utf-8") == "--length=64\n# found in the data: --labels=a,b=c\n"
    assert read_flags(path) == {"length": "64"}
    assert read_guesses(path) == {"labels": "a,b=c"}
    assert parse(Settings, [f"--flagfile={path}"])[1] == {"length"}
    assert read_remembered(Settings, str(tmp_path), frozenset()) == {"length": 64}
    assert read_guesses(str(tmp_path / "none.txt")) == {}


def test_later_runs_take_remembered_flags(tmp_path):
    write_flags(
        str(tmp_path / "flags.txt"), {"length": "64", "labels": "a,b", "fast": "true", "rate": "1.0", "old": "1"}
    )
    assert read_remembered(Settings, str(tmp_path), frozenset()) == {"length": 64, "labels": ("a", "b"), "fast": True}
    assert read_remembered(Settings, str(tmp_path), {"length", "fast"}) == {"labels": ("a", "b")}
    assert read_remembered(Settings, str(tmp_path / "none"), frozenset()) == {}


def test_a_bad_value_names_the_file(tmp_path):
    write_flags(str(tmp_path / "flags.txt"), {"length": "long"})
    with raises(InputError, "flags.txt: "):
        read_remembered(Settings, str(tmp_path), frozenset())


def test_a_file_without_line_ends(tmp_path):
    (tmp_path / "flags.txt").write_bytes(b"--data_dir=" + b"x" * 10_000_001)
    with raises(InputError, "flags.txt:1: "):
        read_flags(str(tmp_path / "flags.txt"))


def test_first_difference():
    assert first_difference({"a": "1", "b": "2"}, {"b": "2", "a": "1"}) == ""
    assert first_difference({"b": "2", "a": "1"}, {"b": "3", "a": "0"}) == "--a=1, not 0"
    assert first_difference({}, {"gelu": "tanh"}) == "--gelu=, not tanh"


def test_an_undecodable_path_is_refused():
    settings = build(Settings, {"data_dir": "m\udcc3\udcbc"})
    with raises(InputError, "--data_dir="):
        flags_to_save(settings, {})
