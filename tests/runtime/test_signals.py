"""Signals that ask a process to end: exit codes, cleanup, repeated and ignored signals."""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import termios
import threading

import pytest

from bert_cli.runtime.signals import (
    Stopped,
    blocking_signal,
    default_signal_handling,
    deferring_signals,
    ending_on_sigterm,
    raising_on_signals,
    stop_exception,
)
from tests.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def default_handlers():
    """Restore default handlers for signals that the tests' parent process ignores, such as nohup."""
    old_handlers = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)}
    ignored = {number for number, handler in old_handlers.items() if handler == signal.SIG_IGN}
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "code", "name"), [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")])
def test_signals_raise_stopped(number, code, name):
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as caught, raising_on_signals():
        send(number)
    assert (caught.value.exit_code, caught.value.name, caught.value.message) == (code, name, "")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("number", "code", "is_interrupt"),
    [(signal.SIGINT, 130, True), (signal.SIGTERM, 143, False), (signal.SIGHUP, 129, False)],
)
def test_ctrl_c_in_a_training_is_a_keyboard_interrupt_for_programs(number, code, is_interrupt):
    stopped = stop_exception(number, "saved")
    assert isinstance(stopped, Stopped)
    assert isinstance(stopped, KeyboardInterrupt) == is_interrupt
    assert not isinstance(stopped, Exception)
    assert (stopped.exit_code, stopped.message, str(stopped)) == (code, "saved", "saved")


def test_ctrl_c_raises_keyboard_interrupt():
    with pytest.raises(KeyboardInterrupt), raising_on_signals():
        send(signal.SIGINT)


def test_signals_can_be_deferred():
    names = []
    with raising_on_signals(), deferring_signals(names.append) as request:
        assert not request.is_made()
        send(signal.SIGINT)
        assert request.is_made()
    assert (request.number, names) == (signal.SIGINT, ["Ctrl-C"])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_report_of_a_deferred_signal_runs_in_another_thread():
    """The main thread continues even if the report waits for a lock."""
    main_thread = threading.current_thread()
    callers = []
    is_free = threading.Event()

    def report(name):
        callers.append(threading.current_thread())
        is_free.wait(60)

    with deferring_signals(report) as request:
        send(signal.SIGTERM)
        assert request.is_made()
        is_free.set()
    assert main_thread not in callers


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_report_that_fails_does_not_end_the_work():
    def report(name):
        raise OSError(5, "Input/output error")

    with deferring_signals(report) as request:
        send(signal.SIGHUP)
    assert request.number == signal.SIGHUP


def test_an_ignored_signal_stays_ignored(monkeypatch):
    """SIGHUP is ignored under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raising_on_signals():
            send(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_keep_the_handlers():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work():
        with raising_on_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_second_signal_ends_the_process():
    code = (
        "import os, signal, time; from bert_cli.runtime.signals import deferring_signals\n"
        "with deferring_signals(lambda name: None):\n    os.kill(os.getpid(), 15); os.kill(os.getpid(), 1); print('still here')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (129, "", "")


WAYS_TO_STOP = {
    signal.SIGTERM: (143, "stopped by SIGTERM; "),
    signal.SIGHUP: (129, "stopped by SIGHUP; "),
    signal.SIGINT: (130, "interrupted; "),
}


def is_blocked_in_read(process: subprocess.Popen) -> bool:
    """Return whether a process has read all of its pipe and sleeps."""
    num_unread = int.from_bytes(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)
    state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return num_unread == 0 and state == "S"


def test_signals_stop_a_command_that_waits_for_input(tmp_path):
    """One process per signal; they run in parallel because each needs a second to start."""
    command = [sys.executable, "-m", "bert_cli.build_vocab", "--input_file=-"]
    with contextlib.ExitStack() as stack:
        processes = {}
        for number in WAYS_TO_STOP:
            output = f"--output_file={tmp_path / number.name}"
            process = subprocess.Popen(
                [*command, output], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
            )
            processes[number] = stack.enter_context(process)
        for process in processes.values():
            process.stdin.write("some text\n" * 200_000)  # more than fits in a pipe, so that the command is reading
            process.stdin.flush()
        # Python misses a signal between two reads of a pipe until there is more to read.
        wait_until(lambda: all(is_blocked_in_read(process) for process in processes.values()))
        for number, process in processes.items():
            process.send_signal(number)
        for number, (code, message) in WAYS_TO_STOP.items():
            assert processes[number].wait(60) == code
            assert f"\nbert-build-vocab: {message}" in f"\n{processes[number].stderr.read()}"
            processes[number].stdin.close()
    assert list(tmp_path.iterdir()) == []


HOLDS_THE_LOCK = """
import ctypes, sys
from bert_cli.runtime.signals import default_signal_handling, raising_on_signals
with raising_on_signals():
    with default_signal_handling(60):
        pass
    with default_signal_handling(float(sys.argv[1])):
        print("begun", flush=True)
        ctypes.PyDLL(None).sleep(20)
"""


@pytest.mark.parametrize(("seconds", "number"), [(60, signal.SIGTERM), (60, signal.SIGINT), (0.2, signal.SIGALRM)])
def test_the_system_ends_a_call_that_holds_pythons_lock(seconds, number):
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "begun\n"
        if number != signal.SIGALRM:
            process.send_signal(number)
        assert process.wait(10) == -number


def test_handlers_are_restored_after_a_call_that_the_system_may_end():
    with raising_on_signals():
        before = signal.getsignal(signal.SIGTERM)
        with default_signal_handling(60):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_blocked_signal_waits():
    received = []
    old_handler = signal.signal(signal.SIGHUP, lambda number, frame: received.append(number))
    try:
        with blocking_signal(signal.SIGHUP):
            # Send it to this thread: other tests' threads do not block it, and would receive it.
            signal.raise_signal(signal.SIGHUP)
            assert received == []
        assert received == [signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, old_handler)


def test_sigterm_ends_with_0_and_a_line():
    code = """
import os, signal
from bert_cli.runtime.signals import ending_on_sigterm
try:
    with ending_on_sigterm("stopped"):
        os.kill(os.getpid(), signal.SIGTERM)
finally:
    print("raised")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "stopped\n")
    before = signal.getsignal(signal.SIGTERM)
    with ending_on_sigterm("stopped"):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
