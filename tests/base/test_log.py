"""The log of the package in a program that has, or has not, set up `logging`."""

import contextlib
import logging

import pytest

from bert_cli.base import log


@contextlib.contextmanager
def logging_of(level: int, handlers: list[logging.Handler]):
    """The package's level and the root's handlers, as a program may have set them."""
    # Within the test, not in a fixture: pytest adds handlers of its own between the two.
    before = log.LOG.level
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", handlers)
        patch.setattr(log.LOG, "handlers", [])
        patch.setattr(log.LOG, "propagate", True)
        log.LOG.setLevel(level)
        yield
    log.LOG.setLevel(before)


def test_shown_logs_to_stderr_and_ends_with_the_block(capsys):
    with logging_of(logging.NOTSET, []):
        with log.shown():
            log.LOG.info("training 5/10")
        log.LOG.info("not shown")
        assert not log.LOG.handlers
        assert log.LOG.level == logging.NOTSET
    assert capsys.readouterr().err == "training 5/10\n"


@pytest.mark.parametrize(("level", "handlers"), [(logging.WARNING, []), (logging.NOTSET, [logging.NullHandler()])])
def test_shown_leaves_the_logging_of_a_program(capsys, level, handlers):
    with logging_of(level, handlers), log.shown():
        log.LOG.info("training 5/10")
    assert capsys.readouterr().err == ""
