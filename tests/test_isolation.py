"""Each test has a working directory, HOME, environment and log of its own."""

import logging
import os
import pathlib
import pwd
import subprocess
import sys
import tempfile

import pytest

import bert_cli
from bert_cli.base.log import LOG
from bert_cli.fill_mask import main
from tests import isolation

# Each of these changes what commands do, print or find.
FOREIGN = (
    "BERT_SERVE_PORT", "TF_CONFIG", "TF_ENABLE_ONEDNN_OPTS", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
    "KERAS_BACKEND", "PYTHONOPTIMIZE", "HF_HOME", "XDG_CACHE_HOME", "MLFLOW_TRACKING_URI", "WANDB_MODE", "https_proxy",
    "LC_NUMERIC", "LANGUAGE", "COLUMNS", "NO_COLOR", "TERM", "MAKEFLAGS", "GIT_DIR", "ORT_DISABLE_TELEMETRY",
)  # fmt: skip


@pytest.fixture(scope="module")
def directory_of_module() -> pathlib.Path:
    return pathlib.Path.cwd()


def test_the_working_directory_is_empty_and_not_the_checkout(own_place, directory_of_module):
    assert pathlib.Path.cwd() == own_place
    assert os.listdir() == []
    assert directory_of_module != own_place
    for folder in (own_place, directory_of_module):
        assert isolation.ROOT not in (folder, *folder.parents)


def test_home_is_empty_and_not_the_users(own_place):
    home = pathlib.Path.home()
    assert home != pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert os.listdir(home) == []
    assert own_place not in (home, *home.parents)


def test_other_processes_have_the_same_place_and_this_checkout():
    code = "import os, pathlib, tempfile, bert_cli; "
    code += "print(os.getcwd(), pathlib.Path.home(), tempfile.gettempdir(), bert_cli.__file__, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = [os.getcwd(), os.environ["HOME"], tempfile.gettempdir(), bert_cli.__file__]
    assert done.stdout.splitlines() == expected
    assert "bert_cli-tests-" in tempfile.gettempdir()  # no other run writes there
    assert isolation.ROOT in pathlib.Path(bert_cli.__file__).parents


def test_no_variable_of_the_user_is_left():
    # The package sets these in every process, and before it imports TensorFlow.
    assert set(FOREIGN) & os.environ.keys() <= {"ORT_DISABLE_TELEMETRY", "TF_ENABLE_ONEDNN_OPTS"}
    for name in FOREIGN:
        os.environ[name] = "7"
    os.environ["LANG"] = "tr_TR"
    kept = {name: os.environ[name] for name in ("PATH", "PYTEST_CURRENT_TEST")}
    isolation.clean_environment("/somewhere")
    assert set(FOREIGN) & os.environ.keys() == set()
    assert kept.items() <= os.environ.items()
    assert (os.environ["HOME"], os.environ["LANG"]) == ("/somewhere", "C.UTF-8")


def test_a_place_undoes_the_changes_of_its_block(tmp_path, capfd):
    environment, directory = dict(os.environ) | {"KEPT": "before"}, os.getcwd()
    os.environ["FROM_A_FIXTURE"] = "before"
    with isolation.own_place(tmp_path / "place", environment) as working:
        assert "FROM_A_FIXTURE" not in os.environ
        os.environ["KEPT"] = os.environ["ADDED"] = "after"
        os.chdir(tmp_path)
        assert main(["--log_format=json", "--log_level=debug", "--init_checkpoint=nowhere", "a [MASK]"]) == 1
        assert LOG.level == logging.DEBUG
        (working / "left").touch()
    assert (dict(os.environ), os.getcwd()) == (environment, directory)
    assert (LOG.level, LOG.propagate) == (logging.NOTSET, True)
    assert logging.getLogger("py.warnings").handlers == []
    assert capfd.readouterr().err.startswith('{"time"')
    assert (working / "left").exists()
    with isolation.own_place(tmp_path / "empty", environment):
        pass
    assert os.listdir(tmp_path) == ["place"]


@pytest.fixture(scope="session")
def command_of_session() -> None:
    """A command in a fixture, which is called before the fixtures of a module."""
    assert main(["--init_checkpoint=nowhere", "a [MASK]"]) == 1
    os.environ["LEFT"] = "1"


def test_a_test_finds_nothing_of_fixtures(command_of_session):
    assert "LEFT" not in os.environ
    assert (LOG.level, LOG.propagate) == (logging.NOTSET, True)


@pytest.mark.parametrize("number", [1, 2])
def test_a_test_finds_nothing_of_another_one(number):
    """Both leave a file, a variable, a configured log and another directory."""
    assert not pathlib.Path("left").exists()
    assert "LEFT" not in os.environ
    assert LOG.level == logging.NOTSET
    pathlib.Path("left").touch()
    os.environ["LEFT"] = "1"
    LOG.setLevel(logging.ERROR)
    os.chdir("/")
