"""One-line messages for exceptions from the system and from TensorFlow."""

import errno
import os
import re
import shutil
import types

import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError, explain_write_error, first_line
from bert_cli.base.writing import atomic_write


def test_first_line_drops_tensorflow_graph_names(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.OpError) as caught:
        tf.raw_ops.SaveV2(
            prefix=f"{tmp_path}/file/x", tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant(1)]
        )
    assert "{{function_node" in str(caught.value)
    message = first_line(caught.value)
    assert f"{tmp_path}/file" in message
    assert not re.search(r"[{}]|Op:", message)


def test_first_line_is_cut_between_words():
    text = "a message of many words about a checkpoint " * 10
    message = first_line(ValueError(text))
    assert message.endswith(" …")
    assert len(message) <= 162
    assert text.startswith(f"{message.removesuffix(' …')} ")
    # The package's own messages are one line, with the advice at the end.
    assert first_line(InputError(text.strip())) == text.strip()
    assert first_line(ValueError("x" * 200)) == f"{'x' * 160} …"
    assert first_line(ValueError("x " * 80)) == ("x " * 80).strip()
    assert first_line(ValueError("short\nsecond line")) == "short"


def test_full_disk_message_has_needed_and_free_bytes(tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    message = rf"^No space left on device: 2\.50 GB are needed, \d+\.\d\d (GB|MB) are free in {tmp_path}$"
    assert re.match(message, explain_write_error(full, str(tmp_path / "no" / "folder"), 2_500_000_000))
    of_tensorflow = tf.errors.ResourceExhaustedError(None, None, "{{function_node a}} /x; No space left on device")
    assert re.match(message, explain_write_error(of_tensorflow, str(tmp_path), 2_500_000_000))
    assert explain_write_error(OSError(errno.EACCES, "Permission denied"), str(tmp_path), 7) == "Permission denied"


def test_disk_becomes_full_while_writing(tmp_path):
    def write():
        with atomic_write(str(tmp_path / "f.txt")) as file:
            file.write("x" * 1_000_000)
            file.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError) as caught:
        write()
    assert re.search(r"f\.txt: cannot be written: No space .*: more than 1\.00 MB are needed, \d", str(caught.value))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("size", "needed"),
    [
        (None, ""),
        (0, ""),
        (313, "more than 313 bytes are needed, "),
        (9_999, "more than 9,999 bytes are needed, "),
        (250_000, "more than 0.25 MB are needed, "),
    ],
)
def test_small_sizes_on_a_full_disk_are_in_bytes(tmp_path, monkeypatch, size, needed):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=12))
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    text = explain_write_error(error, str(tmp_path), size, is_all=False)
    assert text == f"No space left on device: {needed}12 bytes are free in {tmp_path}"


def test_quota_message_leaves_out_free_disk_space():
    over = OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    assert (
        explain_write_error(over, "/", 2_000_000, is_all=False) == "Disk quota exceeded: more than 2.00 MB are needed"
    )
    assert explain_write_error(over, "/") == "Disk quota exceeded"


@pytest.mark.parametrize(("names", "left", "is_full"), [(40, 0, True), (40, 3, False), (0, 0, False)])
def test_file_system_without_free_inodes(names, left, is_full, monkeypatch):
    """btrfs has no limit, and reports 0 of 0."""
    monkeypatch.setattr(os, "statvfs", lambda folder: types.SimpleNamespace(f_favail=left, f_files=names))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=5_000_000))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    expected = "/ takes no more files (df -i shows how many it has)" if is_full else "5.00 MB are free in /"
    assert explain_write_error(full, "/") == f"No space left on device: {expected}"
