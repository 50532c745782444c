"""Tags and entities that a tagger returns."""

import dataclasses
from typing import TYPE_CHECKING, Any

from bert_cli.api.results.sequence import Column, ItemResults, shorten_text

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
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

    def columns(self) -> dict[str, Column]:
        """Return words, tags and entities as columns of tuples and lists."""
        return {"words": [item.words for item in self], "tags": self.tags, "entities": self.entities}

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per entity, using its text's index.

        Its columns are type, text, start, end and score. If a text has no entities, it has no row.
        """
        import pandas as pd

        index = self.texts.to_frame().index
        rows = [row for row, entities in enumerate(self.entities) for _ in entities]
        entities = [entity for text_entities in self.entities for entity in text_entities]
        names = ["type", "text", "start", "end", "score"]
        return pd.DataFrame(entities, columns=names, index=index[rows])

    def _summary(self, item: TaggedText) -> str:
        entities = ", ".join(f"{entity['type']}: {entity['text']}" for entity in item.entities)
        return f"{shorten_text(item.text)}  [{entities}]"
