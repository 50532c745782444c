"""Python on docs/python.md and docs/calibration.md, as a type checker sees it in a user's editor."""

import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The checks of a user's editor are not those of this repository: functions may have no types.
OPTIONS = ("--ignore-missing-imports", "--follow-imports=silent", "--no-error-summary", "--config-file=")


@pytest.mark.slow
def test_blocks_have_no_type_errors(tmp_path, monkeypatch):
    from mypy import api

    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    paths = []
    for page in ("python", "calibration"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)):
            paths.append(tmp_path / f"{page}_{number}.py")
            paths[-1].write_text(block, encoding="utf-8")
    assert len(paths) > 10
    wrong = tmp_path / "wrong.py"
    wrong.write_text('from bert_cli import Classifier\nClassifier.fit(["a"], ["b"], num_train_epoch=1.0)\n')
    arguments = [*OPTIONS, f"--python-executable={sys.executable}", f"--cache-dir={tmp_path / 'cache'}"]
    out, err, _ = api.run([*arguments, *map(str, paths), str(wrong)])
    # A misspelt option is the only mistake.
    assert err == ""
    assert [line for line in out.splitlines() if "error:" in line and "wrong.py" not in line] == []
    assert "num_train_epoch" in out
