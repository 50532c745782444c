"""The one exception that a command turns into a single line and exit code 1."""


class InputError(Exception):
    """A mistake in what the user gave: a flag, a file, a row.

    The message is one line that says what was wrong, where (file:line or flag) and what to do. Commands print it
    after `error:` and exit with 1; nothing else in the package catches it.
    """


def first_line(error: Exception) -> str:
    """What an exception says, short enough for one line of ours; its type's name where it says nothing."""
    return str(error).splitlines()[0][:160] if str(error) else type(error).__name__
