"""What is left out of the import of TensorFlow is there for everybody after it."""

import sys

import pytest

from bert_cli.runtime.tensorflow_setup import left_out


def test_a_package_is_absent_for_a_while(tmp_path, monkeypatch):
    (tmp_path / "some_package.py").write_text("VALUE = 1\n")
    (tmp_path / "other_package.py").write_text("VALUE = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    import other_package

    with left_out(["some_package", "other_package"]):
        with pytest.raises(ImportError, match="some_package"):
            import some_package
        assert sys.modules["other_package"] is other_package
    import some_package

    assert some_package.VALUE == 1
    for name in ("some_package", "other_package"):
        monkeypatch.delitem(sys.modules, name)
