"""Vectors of an encoder's texts, as exported networks compute them."""

import dataclasses

from bert_cli.base.pooling import modes_of
from bert_cli.sentence.steps import Step, final_width

SENTENCE_EMBEDDING = "sentence_embedding"  # the output's name, as in exports of sentence-transformers


@dataclasses.dataclass(frozen=True, eq=False)
class PoolingAndSteps:
    """The steps from an encoder's output to one vector per text, for a network that includes them.

    Attributes:
        pooling: value of --pooling.
        steps: steps after pooling.
        num_skipped: number of tokens at the start of each text, such as a prompt, that pooling
            leaves out.
    """

    pooling: str
    steps: tuple[Step, ...] = ()
    num_skipped: int = 0

    def width(self, hidden_size: int) -> int:
        """Return the length of a vector from an encoder of this width."""
        return final_width(self.steps, hidden_size * len(modes_of(self.pooling)))
