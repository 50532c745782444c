"""Tags and entities that a tagger returns."""

import dataclasses
import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.api.inputs.texts import make_frame
from bert_cli.api.results.sequence import ItemResults, ResultColumn, shorten_text

if TYPE_CHECKING:
    import pandas as pd


# Column -> an example of a value.
_ENTITY = {"type": "", "text": "", "start": 0, "end": 0, "score": 0.0}


@dataclasses.dataclass(frozen=True, repr=False)
class TaggedText:
    """Tags and entities for a text.

    Attributes:
        text: the text.
        words: the text's words.
        tags: one tag per word, in the notation of the training data.
        entities: entities as dicts; use the keys in outputs.answers.tagging.example_entities.
    """

    text: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    entities: list[dict[str, Any]]

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per entity: type, text, start, end and score."""
        return _entity_frame(self.entities)

    def __repr__(self) -> str:
        return f"TaggedText: {self.summary()}"

    def summary(self) -> str:
        """Return a shortened text and its entities on one line."""
        entities = ", ".join(f"{entity['type']}: {entity['text']}" for entity in self.entities)
        return f"{shorten_text(self.text)}  [{entities}]"

    def _repr_html_(self) -> str:
        # Use inline styles, because a style sheet would also change the notebook.
        types = sorted({entity["type"] for entity in self.entities})
        parts, end = [], 0
        for entity in sorted(self.entities, key=lambda entity: entity["start"]):
            hue = 360 * types.index(entity["type"]) // len(types)
            parts.append(html.escape(self.text[end : entity["start"]]))
            parts.append(
                f'<span style="background: hsla({hue}, 70%, 50%, 0.25); padding: 1px 3px; border-radius: 4px" '
                f'title="{entity["score"]:.3f}">{html.escape(self.text[entity["start"] : entity["end"]])} '
                f"<small><b>{html.escape(entity['type'])}</b></small></span>"
            )
            end = entity["end"]
        return f'<div style="line-height: 2">{"".join(parts)}{html.escape(self.text[end:])}</div>'


class TaggedTexts(ItemResults[TaggedText]):
    """Tags for n texts: a sequence of `TaggedText`."""

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """Return the tags for each text."""
        return [item.tags for item in self]

    @property
    def entities(self) -> list[list[dict[str, Any]]]:
        """Return the entities for each text."""
        return [item.entities for item in self]

    def columns(self) -> dict[str, ResultColumn]:
        """Return words, tags and entities as columns of tuples and lists."""
        return {"words": [item.words for item in self], "tags": self.tags, "entities": self.entities}

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per entity, using its text's index.

        Its columns are type, text, start, end and score. If a text has no entities, it has no row.
        """
        rows = np.repeat(np.arange(len(self)), list(map(len, self.entities)))
        entities = [entity for text_entities in self.entities for entity in text_entities]
        return _entity_frame(entities).set_axis(self.texts.to_frame().index[rows])

    def _summary(self, item: TaggedText) -> str:
        return item.summary()


def _entity_frame(entities: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    return make_frame({name: ([entity[name] for entity in entities], example) for name, example in _ENTITY.items()})
