"""Directories that all workers share: built once, again after a failure, and never changed."""

import concurrent.futures
import pathlib
import re
import shutil
import threading

import pytest

from tests.built_once import BuiltOnce


def build(folder: pathlib.Path) -> None:
    """Leave a file per call next to the directory."""
    number = len([*folder.parent.glob("call-*")])
    (folder.parent / f"call-{number}").mkdir()
    (folder / "file").write_text("content")


def test_workers_at_the_same_time_build_once(tmp_path):
    """Threads stand for worker processes: each opens the lock file itself, as a process does."""
    barrier = threading.Barrier(4)

    def use() -> str:
        directories = BuiltOnce(tmp_path)
        barrier.wait(60)
        return (directories("directory", build) / "file").read_text()

    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        contents = [future.result(60) for future in [executor.submit(use) for _ in range(4)]]
    assert contents == ["content"] * 4
    assert [path.name for path in tmp_path.glob("call-*")] == ["call-0"]


def test_a_failed_build_is_started_again_in_an_empty_directory(tmp_path):
    def fail(folder):
        (folder / "rest").touch()
        raise ValueError("no")

    directories = BuiltOnce(tmp_path)
    with pytest.raises(ValueError, match="no"):
        directories("directory", fail)
    assert [path.name for path in directories("directory", build).iterdir()] == ["file"]


def test_a_directory_may_need_another_one(tmp_path):
    directories = BuiltOnce(tmp_path)

    def build_outer(folder):
        (folder / "link").symlink_to(directories("inner", build))

    assert (directories("outer", build_outer) / "link" / "file").read_text() == "content"


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        pytest.param(lambda folder: (folder / "file").write_text("changed!"), "'file'", id="content"),
        pytest.param(lambda folder: (folder / "new").touch(), "'.', 'new'", id="new file"),
        pytest.param(lambda folder: (folder / "file").unlink(), "'.', 'file'", id="no file"),
        pytest.param(shutil.rmtree, "'.', 'file'", id="no directory"),
    ],
)
def test_a_changed_directory_is_an_error(tmp_path, change, paths):
    directories = BuiltOnce(tmp_path)
    folder = directories("name", build)
    directories.assert_unchanged()
    change(folder)
    # Another worker, which finds the directory complete, fails, too.
    later = BuiltOnce(tmp_path)
    later("name", build)
    for used in (directories, later):
        with pytest.raises(AssertionError, match=re.escape(f"in the shared directory name: [{paths}]")):
            used.assert_unchanged()
