"""The one exception that a command turns into a single line and exit code 1."""


class InputError(Exception):
    """A mistake in what the user gave: a flag, a file, a row.

    The message is one line that says what was wrong, where (file:line or flag) and what to do. Commands print it
    after `error:` and exit with 1; nothing else in the package catches it.
    """
