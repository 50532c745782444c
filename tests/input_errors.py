"""Error messages of calls that must fail."""

import pytest

from bert_cli.base.errors import InputError


def error_of(function, *arguments, **options) -> str:
    """Return the InputError message, one line, that a call must raise."""
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
