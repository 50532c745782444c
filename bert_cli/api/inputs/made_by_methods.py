"""Base class for the API: a class method, such as `load`, makes each object."""

from typing import Any

from bert_cli.base.errors import InputTypeError

TRAINING_METHODS = ("fit", "train")


class _ByMethods(type):
    """Class of MadeByMethods."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if not arguments and not options:
            ways = [f"{cls.__name__}.{name}" for name in (*TRAINING_METHODS, "load") if hasattr(cls, name)]
            raise InputTypeError(f"{cls.__name__}() has no model; use {' or '.join(ways)}")
        return super().__call__(*arguments, **options)


class MadeByMethods(metaclass=_ByMethods):
    """Base class for objects that class methods make; a call names these methods."""
