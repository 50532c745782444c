"""Rules of the package's structure, on small trees."""

import pytest

from tests.tree import structure
from tests.tree.structure import (
    cycles_of_arrows,
    cycles_of_files,
    far_reaches,
    faulty_modules,
    kind_questions,
    large_classes,
    long_functions,
    private_api,
    swallowed_exceptions,
    too_long,
    traced_with_autograph,
    unused_arrows,
    wrong_layer,
    wrong_rooms,
    wrong_tensorflow,
)

COMMANDS = {"bert_cli/run_tagging.py": "", "bert_cli/__init__.py": ""}


@pytest.mark.parametrize(
    ("check", "module", "source"),
    [
        (wrong_layer, "bert_cli.text.a", "from bert_cli.examples import tables"),
        (wrong_layer, "bert_cli.text.a", "from bert_cli import features"),
        (wrong_layer, "bert_cli.features.a", "def f():\n    import bert_cli.records.tfrecord"),
        (wrong_layer, "bert_cli.features.a", "from ..model import config"),
        (wrong_layer, "bert_cli.features.__init__", "from ..outputs import metrics"),
        (wrong_layer, "bert_cli.features.a", "import importlib\nimportlib.import_module('bert_cli.outputs.files')"),
        (wrong_layer, "bert_cli.model.a", "from bert_cli.training.step import f"),
        (wrong_layer, "bert_cli.model.a", "from bert_cli.text.vocabulary import Vocabulary"),
        (wrong_layer, "bert_cli.training.a", "from bert_cli.features import stream"),
        (wrong_layer, "bert_cli.heads.a", "from bert_cli.features.ragged import Features"),
        (wrong_layer, "bert_cli.records.a", "from bert_cli.features.ragged import Features"),
        (wrong_layer, "bert_cli.run_squad", "from bert_cli.run_tagging import Settings"),
        (wrong_layer, "bert_cli.runs.a", "from bert_cli import leftovers"),
        (wrong_layer, "bert_cli.outputs.a", "from bert_cli.runs import session"),
        (wrong_layer, "bert_cli.outputs.a", "from bert_cli.model import config"),
        (wrong_layer, "bert_cli.outputs.a", "from bert_cli.run_tagging import Settings"),
        (wrong_layer, "bert_cli.api.a", "from bert_cli.run_tagging import Settings"),
        (wrong_layer, "bert_cli.settings.a", "from bert_cli.opening import loader"),
        (wrong_tensorflow, "bert_cli.text.a", "def f():\n    import tensorflow as tf"),
        (wrong_tensorflow, "bert_cli.outputs.a", "from tensorflow.io import gfile"),
        (wrong_tensorflow, "bert_cli.settings.a", "import keras"),
        (wrong_tensorflow, "bert_cli.base.remote", "import tensorflow"),
        (private_api, "bert_cli.model.a", "from tensorflow.python.eager import context"),
        (private_api, "bert_cli.model.a", "def f():\n    import keras.src.layers"),
        (private_api, "bert_cli.model.a", "layer.built = True"),
        (private_api, "bert_cli.model.a", "layers = list(model._flatten_layers())"),
        (private_api, "bert_cli.model.a", "tf.raw_ops.ResourceApplyAdam(var=handle)"),
        (private_api, "bert_cli.model.a", "NAME = '_MklLayerNorm'"),
        (private_api, "bert_cli.model.a", "tf.__internal__.tracking.f()"),
        (traced_with_autograph, "bert_cli.model.a", "@tf.function\ndef f():\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "@tf.function(reduce_retracing=True)\ndef f():\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "f = tf.function(g, autograph=True)"),
        (traced_with_autograph, "bert_cli.model.a", "trace = functools.partial(tf.function)"),
        (too_long, "bert_cli.text.a", "print()\n" * 401),
        (too_long, "bert_cli.run_squad", "print()\n" * 151),
        (long_functions, "bert_cli.text.a", "def f():\n" + "    print()\n" * 61),
        (long_functions, "bert_cli.run_squad", "def run(settings):\n" + "    print()\n" * 61),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept:\n    pass"),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept (ValueError, Exception):\n    ..."),
        (swallowed_exceptions, "bert_cli.text.a", "with contextlib.suppress(Exception):\n    f()"),
    ],
)
def test_rules_catch(check, module, source, write_tree):
    path = f"{module.replace('.', '/')}.py"
    checkout = write_tree({path: source} | COMMANDS)
    ((line, message),) = check(module, checkout)
    assert 1 <= line <= max(source.count("\n"), 1) + 1
    assert f"{path}:{line}: {message}" in list(faulty_modules(checkout))


@pytest.mark.parametrize(
    ("check", "module", "source"),
    [
        (wrong_layer, "bert_cli.features.a", "from bert_cli.text import tokenization\nfrom . import packing"),
        (wrong_layer, "bert_cli.features.__init__", "from .packing import pack"),
        (wrong_layer, "bert_cli.run_squad", "from bert_cli.model import encoder\nfrom bert_cli import __version__"),
        (
            wrong_layer,
            "bert_cli.model.a",
            "from bert_cli.base import files\nfrom bert_cli.base.errors import InputError",
        ),
        (wrong_layer, "bert_cli.heads.a", "from bert_cli.base.spec import INPUTS"),
        (wrong_tensorflow, "bert_cli.base.remote", "def f():\n    import tensorflow as tf"),
        (wrong_tensorflow, "bert_cli.runs.a", "import tensorflow as tf"),
        (private_api, "bert_cli.tf_internals.a", "from tensorflow.python.eager import context\nlayer.built = True"),
        (private_api, "bert_cli.model.a", "class A:\n    def _f(self):\n        return other._f()\n\nos._exit(1)"),
        (private_api, "bert_cli.model.a", "tf.raw_ops.SaveV2(prefix=prefix)\nif layer.built:\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "@tf.function(autograph=False)\ndef f():\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "f = tf.function(g, [SPEC], autograph=False)"),
        (too_long, "bert_cli.text.a", "print()\n" * 400),
        (too_long, "bert_cli.run_squad", "print()\n" * 150),
        (long_functions, "bert_cli.text.a", 'def f():\n    """A\n\n    B."""\n' + "    print()\n" * 60),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept ValueError:\n    pass"),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept Exception:\n    log()\n    raise"),
    ],
)
def test_rules_allow(check, module, source, write_tree):
    assert check(module, write_tree({f"{module.replace('.', '/')}.py": source} | COMMANDS)) == []


def test_unused_arrows_are_reported(write_tree):
    checkout = write_tree(
        {"bert_cli/onnx/a.py": "from bert_cli.model import config", structure.TABLE: "onnx: model\nmodel:"}
    )
    messages = list(unused_arrows(checkout))
    assert f"{structure.TABLE}:2: model does not import tf_internals: remove the arrow" in messages
    assert not any(" onnx does not import model:" in message for message in messages)


def test_arrows_lead_upwards(monkeypatch, write_tree):
    monkeypatch.setattr(structure, "ARROWS", {"text": {"examples"}, "examples": {"text"}})
    (message,) = cycles_of_arrows(write_tree({structure.TABLE: "\n\ntext: examples"}))
    assert message.startswith(f"{structure.TABLE}:3: examples is not above text")


def test_files_do_not_import_each_other(write_tree):
    files = {
        "bert_cli/text/a.py": "def f():\n    from bert_cli.text import b",
        "bert_cli/text/b.py": "from bert_cli.text.a import f",
        "bert_cli/text/c.py": "from bert_cli.text import b",
    }
    messages = list(cycles_of_files(write_tree(files)))
    assert [message.partition(":")[0] for message in messages] == [*files]
    assert list(cycles_of_files(write_tree({"bert_cli/text/a.py": ""}))) == []


def test_rooms_have_a_row_and_few_modules(monkeypatch, write_tree):
    monkeypatch.setattr(structure, "ROOMS", ["text", "heads"])
    files = {f"bert_cli/text/m{number}.py": "" for number in range(16)} | {"bert_cli/attic/a.py": ""}
    messages = [message.partition(": ")[2] for message in wrong_rooms(write_tree(files))]
    assert [message.partition(":")[0] for message in messages] == [
        "a room without a row", "there is no directory for heads", "text has 16 modules, more than 15",
    ]  # fmt: skip


def test_classes_have_few_public_methods(write_tree):
    methods = "".join(f"    def f{number}(self): ...\n" for number in range(14))
    (message,) = large_classes(write_tree({"bert_cli/text/a.py": f"X = 1\nclass Large:\n{methods}"}))
    assert message.startswith("bert_cli/text/a.py:2: Large has 14 public methods")


def test_entries_reach_few_modules(monkeypatch, write_tree):
    monkeypatch.setitem(structure.MAX_REACH, "import bert_cli", 0)
    (message,) = far_reaches(
        write_tree({"bert_cli/__init__.py": "from bert_cli.text import a", "bert_cli/text/a.py": ""})
    )
    assert message.startswith("bert_cli/__init__.py:1: import bert_cli reaches 1 modules")


def test_questions_for_kinds_are_listed_if_there_are_more_than_allowed(write_tree, monkeypatch):
    tree = write_tree({
        "bert_cli/problem_types/a.py": "class ProblemType:\n    is_plain: bool",
        "bert_cli/text/a.py": "def f(t):\n    return t.is_plain",
    })  # fmt: skip
    assert not list(kind_questions(tree))
    monkeypatch.setattr(structure, "MAX_QUESTIONS", 0)
    (message,) = kind_questions(tree)
    assert message.startswith("bert_cli/text/a.py:2: is_plain asks for a problem type's kind")
