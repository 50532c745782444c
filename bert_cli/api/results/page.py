"""HTML pages that a notebook shows, or a program writes to a file."""

import dataclasses
import html
import os

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.flags.paths import path_text

_HEIGHT = 640  # pixels


@dataclasses.dataclass(frozen=True, repr=False)
class Page:
    """One HTML page without scripts.

    Attributes:
        title: description for a repr.
        html: the page.
    """

    title: str
    html: str

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file; replace only a file that bert_cli made.

        Args:
            path: name of the file, such as report.html.

        Raises:
            InputError: if the file cannot be written, or is another one.
        """
        from bert_cli.report.page import is_our_page, write_page

        path = path_text(path, "path")
        files.check_output_files([path], [])
        is_foreign = files.exists(path) and not is_our_page(path)
        refuse_if(is_foreign, f"{path}: is a file that bert_cli has not made; give another name")
        write_page(path, self.html)

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.html):,} characters of HTML; a notebook shows it, and save(path) writes it"

    def _repr_html_(self) -> str:
        # A frame of its own, because the page's style sheet would change the notebook. An empty
        # sandbox allows no scripts.
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="" srcdoc="{html.escape(self.html)}" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0; resize: vertical"></iframe>'
        )
