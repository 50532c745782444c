"""Names of poolings: how the vectors of a text's tokens become one vector."""

from bert_cli.base.errors import InputError

NONE, POOLER = "none", "pooler"
CLS, MAX, MEAN = "cls", "max", "mean"
MEAN_SQRT_LEN, WEIGHTED_MEAN, LAST = "mean_sqrt_len", "weighted_mean", "last"
# Poolings that can be concatenated, in the order in which sentence-transformers does this.
MODES = (CLS, MAX, MEAN, MEAN_SQRT_LEN, WEIGHTED_MEAN, LAST)
POOLINGS = (NONE, *MODES, POOLER)
# Poolings that are sums over tokens with weights, divided by a total per text.
WEIGHTED_SUMS = (MEAN, MEAN_SQRT_LEN, WEIGHTED_MEAN, LAST)
SMALLEST_TOTAL = 1e-9  # of these weights; as in sentence-transformers, a sum without tokens is 0


def modes_of(pooling: str) -> list[str]:
    """Return the poolings that a value of --pooling concatenates."""
    return pooling.split(",")


def read_pooling(text: str) -> str:
    """Return a value of --pooling without spaces; raise InputError for other names."""
    modes = [mode.strip() for mode in text.split(",")]
    allowed = POOLINGS if len(modes) == 1 else MODES
    for number, mode in enumerate(modes):
        if mode not in allowed:
            raise InputError(f"--pooling={text}: {mode!r} is not one of {', '.join(allowed)}")
        if mode in modes[:number]:
            raise InputError(f"--pooling={text}: names {mode} twice; leave one out")
    return ",".join(modes)
