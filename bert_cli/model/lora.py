"""Options for low-rank adapters (LoRA, Hu et al., 2021).

A kernel W [in, out] becomes W + scale · A B, with A [in, r] and B [r, out]. A checkpoint has this
sum under the kernel's name, so every program can use it. To resume the training, it also has W, A
and B, see weights.variables.
"""

from typing import NamedTuple

# Name in --lora_targets -> scope of the dense layers in each encoder layer.
LORA_TARGETS = {
    "query": "attention/self/query",
    "key": "attention/self/key",
    "value": "attention/self/value",
    "attention_output": "attention/output/dense",
    "intermediate": "intermediate/dense",
    "output": "output/dense",
}
DEFAULT_TARGETS = ("query", "value")


class Lora(NamedTuple):
    """Options for the adapters of a training.

    Attributes:
        rank: r.
        alpha: numerator of the scale.
        targets: keys of LORA_TARGETS.
    """

    rank: int
    alpha: float
    targets: tuple[str, ...] = DEFAULT_TARGETS

    @property
    def scale(self) -> float:
        """Return alpha / r, as in the paper and in peft."""
        return self.alpha / self.rank

    def applies_to(self, scope: str) -> bool:
        """Return whether an adapter belongs to a scope such as bert/encoder/layer_0/output/dense."""
        names = scope.split("/", 3)
        is_inside = len(names) == 4 and scope.startswith("bert/encoder/layer_")
        return is_inside and names[3] in {LORA_TARGETS[target] for target in self.targets}
