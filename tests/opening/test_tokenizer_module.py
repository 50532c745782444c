"""The casing of tensorflow-hub modules; tests/weights/test_hub.py reads it from whole modules."""

import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.opening.tokenizer import module_lower_cases
from tests.snapshots import raises


@pytest.mark.parametrize("is_lower", [True, False, None])
def test_casing(tmp_path, is_lower):
    module = tf.Module()
    module.other = tf.Variable(True)
    if is_lower is not None:
        module.do_lower_case = tf.Variable(is_lower, trainable=False)
        module.list = [module.do_lower_case]
    tf.saved_model.save(module, str(tmp_path))
    assert module_lower_cases(str(tmp_path), "m") is is_lower


def test_a_damaged_module_is_refused(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "variables.index").write_bytes(b"x")
    with raises(InputError, "m: "):
        module_lower_cases(str(tmp_path), "m")
