"""Fixtures for all tests.

The directory `shared` next to the checkout has golden outputs and data that cannot be distributed.
"""

import gc
import itertools
import os
import pathlib
import tempfile

import pytest

from tests import isolation, snapshots
from tests.built_once import BuiltOnce

OWN_FILES = tempfile.TemporaryDirectory(prefix="bert_cli-tests-")
# Do this before NumPy, TensorFlow and the package are imported, as they read the environment then.
isolation.clean_environment(OWN_FILES.name)

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY = {
    "vocab_size": 23,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 9,
    "type_vocab_size": 2,
}
# Directories with tests that run whole commands or train. `make test` distributes files to
# processes in collection order, so these come first, and the many small files fill the gaps at the
# end.
SLOW_ROOMS = ("commands", "runs", "training")
ALL_TESTS = pytest.StashKey[set[tuple[pathlib.Path, str]]]()


def pytest_addoption(parser):
    parser.addoption("--write-messages", action="store_true", help="store messages of tests, see tests/snapshots.py")


def pytest_unconfigure():
    OWN_FILES.cleanup()


def pytest_collection_modifyitems(config, items):
    """Put the files in SLOW_ROOMS first, in this order, without changing the order otherwise."""
    # List all tests before some are deselected. A single test's name does not load the whole file.
    if not any("::" in argument for argument in config.args):
        config.stash[ALL_TESTS] = {(item.path, item.name) for item in items}

    def room(item) -> int:
        name = item.path.relative_to(ROOT / "tests").parts[0]
        return SLOW_ROOMS.index(name) if name in SLOW_ROOMS else len(SLOW_ROOMS)

    items.sort(key=room)


def pytest_collection_finish():
    """Exclude all that exists from garbage collection, such as TensorFlow's modules and the tests.

    They live as long as the process, and each full collection would take a second to visit them.
    """
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Compare a passing test's messages with the stored ones, or store them."""
    snapshots.forget()
    result = yield
    if item.config.option.write_messages:
        all_tests = item.config.stash.get(ALL_TESTS, None)
        snapshots.write(item.path, item.name, lambda name: not all_tests or (item.path, name) in all_tests)
    elif snapshots.is_stored(item.path, item.name) or not item.get_closest_marker("skipif"):
        # The machine that stored the messages may have skipped the test.
        snapshots.compare(item.path, item.name)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Escape lone surrogates in captured output, which cannot be sent between processes in UTF-8."""
    report = yield
    report.sections = [(title, text.encode("utf-8", "backslashreplace").decode()) for title, text in report.sections]
    return report


# Session and module fixtures, such as trained models, have separate places, too.
@pytest.fixture(scope="session", autouse=True)
def new_place(tmp_path_factory):
    """Work in an empty directory with another HOME, see `isolation.own_place`.

    Returns:
        Function that returns another such place, for `with`.
    """
    base = tmp_path_factory.mktemp("places")
    snapshots.hide_directories(base.parent, OWN_FILES.name)
    # Commands remove and report temporary files that killed commands left. Do this only
    # after pytest has chosen its own directory, which outlives the process.
    os.environ["TMPDIR"] = tempfile.tempdir = OWN_FILES.name
    environment = dict(os.environ)
    numbers = itertools.count()
    with isolation.own_place(base / str(next(numbers)), environment):
        yield lambda: isolation.own_place(base / str(next(numbers)), environment)


@pytest.fixture(scope="module", autouse=True)
def own_place_of_module(new_place):
    with new_place():
        yield


@pytest.fixture(autouse=True)
def own_place(new_place, own_place_of_module):
    """Work in an empty directory with another HOME, see `isolation.own_place`."""
    with new_place() as working:
        yield working


@pytest.fixture(scope="session")
def built_once(request, tmp_path_factory):
    """Return a function from a name and a recipe to a directory that all workers share, see `BuiltOnce`."""
    base = tmp_path_factory.getbasetemp()
    is_worker = hasattr(request.config, "workerinput")
    directories = BuiltOnce((base.parent if is_worker else base) / "built_once")
    yield directories
    directories.assert_unchanged()


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """Return the directory `../shared`; skip the test if it does not exist."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (golden outputs and data sets), which is not part of the project")
    return folder


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    """Return the directory with small files for tests."""
    return ROOT / "tests" / "fixtures"


@pytest.fixture(scope="session")
def tiny_config():
    """Return a function that makes a BertConfig with 2 layers of width 12 and no dropout.

    Keyword arguments change the config.
    """

    from bert_cli.model.config import BertConfig

    def make(**changes) -> BertConfig:
        rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return BertConfig(**(TINY | rates | changes))

    return make


@pytest.fixture(scope="session")
def batch_of():
    """Return a function from lengths and a width to a batch of int32 arrays [B, width].

    The batch has words (0 after a row's end), a mask, and two segments.
    """

    import numpy as np

    def make(lengths, width: int, vocab_size: int = TINY["vocab_size"], seed: int = 0) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        mask = (np.arange(width) < np.asarray(lengths)[:, None]).astype(np.int32)
        words = rng.integers(1, vocab_size, mask.shape, dtype=np.int32) * mask
        types = (np.arange(width) >= np.asarray(lengths)[:, None] // 2).astype(np.int32) * mask
        return {"input_word_ids": words, "input_mask": mask, "input_type_ids": types}

    return make


@pytest.fixture(scope="session")
def values_of():
    """Return a function from variables to {name: array}."""
    return lambda variables: {name: variable.numpy() for name, variable in variables.items()}
