"""A working directory, HOME, environment and log for each test that no other test or program shares."""

import contextlib
import logging
import os
import pathlib
import re
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Everything else is dropped, because a list of the variables that change a command would never be
# complete: BERT_SERVE_*, TF_*, KERAS_*, OMP_*, CUDA_VISIBLE_DEVICES, PYTHON*, COLUMNS, NO_COLOR ...
KEPT = re.compile(
    # Programs, their shared libraries, and the directory of temporary files.
    r"PATH|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|TMPDIR"
    # The kernels of a linear algebra library, on machines whose processor it takes for another one.
    r"|OPENBLAS_CORETYPE|MKL_DEBUG_CPU_TYPE|NVPL_BLAS_DEBUG_CPU_TYPE"
    # pytest and its workers. With CI, it prints whole comparisons.
    r"|PYTEST_\w+|PY_COLORS|CI"
    # The user's choice of a Python: tests with make start `python3`, which pyenv may provide.
    r"|PYENV_ROOT|PYENV_VERSION|TRANSFORMERS_PYTHON|JAVA_HOME"
)
# Commands in other processes come from this checkout, even if the environment has another one.
# Hypothesis would otherwise look for examples that failed before in the working directory.
ADDED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": str(ROOT),
    "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"),
}


def set_environment(environment: dict[str, str]) -> None:
    """Make `environment` the process's environment, and touch only variables that differ.

    A thread of TensorFlow may read the environment meanwhile, without a lock. pytest sets its own
    variables.
    """
    for name in os.environ.keys() - environment.keys():
        if not name.startswith("PYTEST_"):
            del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value and not name.startswith("PYTEST_"):
            os.environ[name] = value


def clean_environment(home: str) -> None:
    """Drop the variables of the user and the machine that are not in KEPT, and add ADDED.

    Args:
        home: a directory for HOME until a test gets its own: settings of Keras and matplotlib are
            read once, when the first test file imports them. Fonts are looked up once, too, and not
            by each command that draws.
    """
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    set_environment(kept | ADDED | {"HOME": home, "MPLCONFIGDIR": os.path.join(home, "matplotlib")})


@contextlib.contextmanager
def own_place(folder: pathlib.Path, environment: dict[str, str]) -> Iterator[pathlib.Path]:
    """Work in an empty directory with another HOME, a given environment and an unused log.

    Afterwards, the working directory and HOME are those before, and the environment and the log
    are as they were in the beginning.

    Args:
        folder: a directory that does not exist. It is removed afterwards if it is empty.
        environment: the environment without HOME.
    """
    working, home = folder / "work", folder / "home"
    for path in (folder, working, home):
        path.mkdir()
    directory_before, home_before = os.getcwd(), os.environ["HOME"]
    set_environment(environment | {"HOME": str(home)})
    reset_log()
    os.chdir(working)
    try:
        yield working
    finally:
        os.chdir(directory_before)
        set_environment(environment | {"HOME": home_before})
        reset_log()
        with contextlib.suppress(OSError):  # a directory with files stays for a look at it
            for path in (working, home, folder):
                path.rmdir()


def reset_log() -> None:
    """Undo the setup of the package's log, which the first command in a process makes."""
    # Import late: the environment must be clean before the package is imported.
    from bert_cli.base import log

    if log.uses_json():
        log.set_log_format(log.TEXT, "")
    for handler in [*log.LOG.handlers]:
        if isinstance(handler, log.StderrHandler):
            log.LOG.removeHandler(handler)
    log.LOG.propagate = True
    log.LOG.setLevel(logging.NOTSET)
