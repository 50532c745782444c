"""Files that appear complete or not at all."""

import contextlib
import errno
import os
import stat

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.writing import atomic_paths, atomic_write, staging_folder
from tests.snapshots import raises


def test_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_write(str(path)) as file:
        file.write("ä\n")
        assert not path.exists()
    assert path.read_bytes() == "ä\n".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


def test_failure_keeps_the_existing_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with contextlib.suppress(KeyboardInterrupt), atomic_write(str(path)) as file:
        file.write("after")
        raise KeyboardInterrupt
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_result_has_the_usual_file_mode(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_write(str(tmp_path / "a"), "wb") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_files_that_belong_together_appear_together(tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    with atomic_paths(paths) as temporaries:
        for number, temporary in enumerate(temporaries):
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(str(number))
        assert not any(map(os.path.exists, paths))
    assert [(tmp_path / name).read_text() for name in "ab"] == ["0", "1"]
    with pytest.raises(ValueError, match="no"), atomic_paths(paths):
        raise ValueError("no")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("write", [atomic_write, lambda path: atomic_paths([path])])
def test_missing_directory(tmp_path, write):
    path = str(tmp_path / "none" / "a")
    with pytest.raises(InputError, match=f"^{path}: cannot be written: "), write(path):
        pass


def test_lone_surrogate_is_escaped(tmp_path):
    path = str(tmp_path / "answers.jsonl")
    with atomic_write(path) as file:
        file.write('{"text": "a \ud83d film", "label": "übel"}\n')
    assert (tmp_path / "answers.jsonl").read_bytes() == '{"text": "a \\ud83d film", "label": "übel"}\n'.encode()


def test_full_disk_message_counts_the_extra_folder(tmp_path):
    def write():
        with staging_folder(str(tmp_path)) as folder, atomic_paths([str(tmp_path / "d.tfrecord")], folder) as paths:
            for path, size in ((paths[0], 500_000), (os.path.join(folder, "rows"), 2_000_000)):
                with open(path, "wb") as file:
                    file.write(b"0" * size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with raises(InputError):
        write()
    assert list(tmp_path.iterdir()) == []
