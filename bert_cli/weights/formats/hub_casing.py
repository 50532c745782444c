"""Reader for the casing of a tensorflow-hub module, which is one of its variables."""

import os

from bert_cli.base.errors import InputError, first_line
from bert_cli.weights.formats.checkpoint_index import read_array, read_index

# Boolean variable in published modules, and in modules from bert-export. Its object is an attribute
# of the module, so this is its key.
_KEY = "do_lower_case/.ATTRIBUTES/VARIABLE_VALUE"


def module_lower_cases(folder: str, description: str) -> bool | None:
    """Return whether texts must be lowercased for a module; None if it has no such setting.

    Modules in TF1 format do not have it.

    Args:
        folder: the module's directory.
        description: name for messages.

    Raises:
        InputError: if the module is damaged.
    """
    try:
        entry = read_index(os.path.join(folder, "variables", "variables")).get(_KEY)
        return bool(read_array(entry, _KEY)) if entry and entry.is_plain else None
    except (ValueError, OSError) as error:
        raise InputError(f"{description}: this module is damaged: {first_line(error)}") from None
