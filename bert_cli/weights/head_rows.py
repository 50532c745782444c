"""Reader for a checkpoint with selected rows in its head."""

from collections.abc import Mapping

import numpy as np

from bert_cli.weights.variables import Reader

# The output layer of classifiers and taggers, with one row per label.
HEAD_WEIGHTS, HEAD_BIAS = "output_weights", "output_bias"
HEAD_VARIABLES = (HEAD_WEIGHTS, HEAD_BIAS)


class HeadRowsReader(Reader):
    """Reader for a checkpoint with selected head rows, and random values in new rows."""

    def __init__(
        self, reader: Reader, sources: tuple[int | None, ...], random_values: Mapping[str, np.ndarray] | None = None
    ):
        """Select the rows.

        Args:
            reader: the checkpoint's reader.
            sources: by output, the row in the checkpoint; None for a new row. If all rows are new,
                the reader has no head.
            random_values: values of the new rows by variable name, with one row per output; None if
                no row is new.
        """
        self.description = reader.description
        self._reader = reader
        self._sources = sources
        self._random_values = random_values
        names = [name for name in HEAD_VARIABLES if name in reader.shapes]
        is_new = all(source is None for source in sources)
        self.unused = [*reader.unused, *(names if is_new else [])]
        self.shapes = {name: shape for name, shape in reader.shapes.items() if name not in names}
        if not is_new:
            self.shapes |= {name: (len(sources), *reader.shapes[name][1:]) for name in names}

    @property
    def format_reader(self) -> Reader:
        return self._reader.format_reader

    def check_tied(self) -> None:
        self._reader.check_tied()

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values; for the head, with one row per output."""
        stored_values = self._reader.read(name)
        if name not in HEAD_VARIABLES:
            return stored_values
        values = np.empty(self.shapes[name], stored_values.dtype)
        if self._random_values is not None:
            values[...] = self._random_values[name]
        for output, source in enumerate(self._sources):
            if source is not None:
                values[output] = stored_values[source]
        return values
