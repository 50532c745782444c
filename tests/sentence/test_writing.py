"""Files that are written are read back as the same modules."""

import numpy as np
import pytest

from bert_cli.sentence.modules import read_modules
from bert_cli.sentence.steps import apply_steps
from bert_cli.sentence.writing import module_files
from tests.sentence_cases import CASES, folder_of


@pytest.mark.parametrize("name", CASES)
def test_written_modules_are_the_same(name, tmp_path):
    modules = read_modules(str(folder_of(name, tmp_path / "source")))
    target = tmp_path / "target"
    for path, content in module_files(modules).items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    written = read_modules(str(target))
    same = ("encoder_width", "pooling", "includes_prompt", "prompts", "default_prompt_name", "max_seq_length")
    assert [getattr(written, field) for field in same] == [getattr(modules, field) for field in same]
    assert written.describe() == modules.describe()
    width = modules.encoder_width * len(modules.pooling.split(","))
    vectors = np.random.default_rng(0).normal(size=(3, width)).astype(np.float32)
    np.testing.assert_array_equal(apply_steps(written.steps, vectors), apply_steps(modules.steps, vectors))


def test_older_releases_can_read_the_pooling(tmp_path):
    modules = read_modules(str(folder_of("cls", tmp_path / "m")))
    assert b'"pooling_mode_cls_token": true' in module_files(modules)["1_Pooling/config.json"]
