"""The interface of an inference engine, and the networks that engines compute."""

import contextlib
import dataclasses
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from bert_cli.base.head_types import HEADS, NEXT_SENTENCE, POOLER, HeadSpec, pretraining_shapes
from bert_cli.model.config import BertConfig, encoder_shapes
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.weights.checkpoint import LoadReport

Arrays = dict[str, np.ndarray]
Result = TypeVar("Result")
# Names in batches and outputs.
LOGITS, POOLED, NEXT_SENTENCE_LOGITS = "logits", "pooled_output", "next_sentence_logits"
MASKS = "masked_lm_positions"
# With 5,000 lines, the first batch is computed 0.25 s earlier than with Python's 5 ms.
_SWITCH_SECONDS = 0.0005


class Network(Protocol):
    """The part of a BERT that an engine computes.

    Attributes:
        optional: name prefixes of variables that a checkpoint may lack.
        missing_advice: end of the error message for a checkpoint without some of the weights.
    """

    @property
    def optional(self) -> tuple[str, ...]: ...

    @property
    def missing_advice(self) -> str: ...

    def shapes(self, config: BertConfig) -> dict[str, tuple[int, ...]]:
        """Return variable shapes by Google's names."""


def _missing_advice(description: str) -> str:
    return f"it is not {description}; add --do_train or give the model.ckpt-N of a training run"


@dataclasses.dataclass(frozen=True)
class FineTunedNetwork:
    """An encoder with a fine-tuned head.

    The output is `logits`: [B, n] for text heads, [B, S, n] for token heads.

    Attributes:
        spec: the head's variables and inputs.
        description: the required checkpoint, for error messages.
        keeps_padding: whether the logits of padding count, as in the original; only TensorFlow
            computes them.
    """

    spec: HeadSpec
    description: str
    keeps_padding: bool = False

    @property
    def missing_advice(self) -> str:
        return _missing_advice(self.description)

    @property
    def optional(self) -> tuple[str, ...]:
        return () if self.spec.reads_pooler else (POOLER,)

    def shapes(self, config: BertConfig) -> dict[str, tuple[int, ...]]:
        return encoder_shapes(config) | self.spec.shapes(config.hidden_size)


@dataclasses.dataclass(frozen=True)
class EncoderNetwork:
    """An encoder without a head.

    The outputs are `state_0`, … [B, S, H], one per index, or `pooled_output` [B, H] without
    indices. With attention, there are `attention_0`, … [B, N, S, S], too, one per layer.

    Attributes:
        indices: layers to return, 0 for the embedding and n for the n-th Transformer layer.
        with_attention: whether to return attention probabilities.
    """

    indices: tuple[int, ...]
    with_attention: bool = False

    @property
    def missing_advice(self) -> str:
        if not self.indices:
            return "--pooling=pooler needs a whole BERT; give another --pooling, or another model"
        return "it is not the model of this config; check --init_checkpoint, or --bert_config_file"

    @property
    def optional(self) -> tuple[str, ...]:
        # Many published encoders have no pooler.
        return (POOLER,) if self.indices else ()

    def shapes(self, config: BertConfig) -> dict[str, tuple[int, ...]]:
        return encoder_shapes(config)


@dataclasses.dataclass(frozen=True)
class MaskedWordsNetwork:
    """An encoder with its pre-trained heads.

    A batch also has `masked_lm_positions`, int32 [B, P], padded with 0. The outputs are `logits`
    [M, words] for the M masks in row order, and `next_sentence_logits` [B, 2] if the model has
    this head.

    Attributes:
        num_words: entries in the vocabulary. If the model has more rows, these have no logits.
    """

    num_words: int
    optional: ClassVar[tuple[str, ...]] = (HEADS[NEXT_SENTENCE], POOLER)
    missing_advice: ClassVar[str] = (
        "it has no masked-LM head (a fine-tuned model has none, nor has the discriminator of an ELECTRA; its "
        "generator has); give a pre-trained one to --init_checkpoint"
    )

    def shapes(self, config: BertConfig) -> dict[str, tuple[int, ...]]:
        return _pretrained_shapes(config)


@dataclasses.dataclass(frozen=True)
class PretrainingEvaluationNetwork:
    """An encoder with its pre-trained heads, for evaluations by TensorFlow.

    A batch has the columns spec.PRETRAINING. The outputs are the sums of metrics.pretraining: a
    batch's logits over the vocabulary take 100 MB.

    Attributes:
        has_next_sentences: whether the next-sentence head is evaluated.
    """

    has_next_sentences: bool
    missing_advice: ClassVar[str] = (
        f"{_missing_advice('a pre-trained model with its heads')}, or evaluate masked words alone with --no_nsp"
    )

    @property
    def optional(self) -> tuple[str, ...]:
        return () if self.has_next_sentences else MaskedWordsNetwork.optional

    def shapes(self, config: BertConfig) -> dict[str, tuple[int, ...]]:
        return _pretrained_shapes(config)


def _pretrained_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    sizes = config.hidden_size, config.embedding_width, config.vocab_size
    return encoder_shapes(config) | pretraining_shapes(*sizes)


def has_small_outputs(network: Network) -> bool:
    """Return whether memory can hold the outputs of several batches.

    Attention and logits over the vocabulary are too large.
    """
    return isinstance(network, FineTunedNetwork) or (isinstance(network, EncoderNetwork) and not network.with_attention)


class _Switching:
    """The time after which Python passes its lock to a thread that waits for it.

    A background thread releases the lock whenever it reads a file or computes in C++. With Python's
    default of 5 ms, it would then wait for 5 ms each time while the main thread tokenizes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_threads = 0
        self._usual_seconds = 0.0

    @contextlib.contextmanager
    def often(self) -> Iterator[None]:
        """Switch threads often during the block, which several threads may enter."""
        with self._lock:
            if not self._num_threads:
                self._usual_seconds = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_SECONDS)
            self._num_threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._num_threads -= 1
                if not self._num_threads:
                    sys.setswitchinterval(self._usual_seconds)


_SWITCHING = _Switching()


class BackgroundCall(Generic[Result]):
    """A function call in a separate thread.

    It only saves time if the function releases Python's lock, like the compilation in both engines.
    """

    _result: Result
    _error: BaseException | None = None

    def __init__(self, function: Callable[[], Result]):
        """Start the function."""
        self._function = function
        # Not a daemon: a thread in C++ code would crash if the interpreter ended first.
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            with _SWITCHING.often():
                self._result = self._function()
        except BaseException as error:  # raised again in the thread that waits
            self._error = error
        # The function may hold weights.
        del self._function

    def wait(self) -> Result:
        """Wait for the function; return its result, or raise its exception."""
        self._thread.join()
        if self._error:
            raise self._error
        return self._result


class Engine(Protocol):
    """A network on its devices.

    Attributes:
        precision: dtype of matrix products.
        is_chief: whether this process writes files.
        concurrency: number of threads that call `run` at a time if there are many batches.
        compilation: thread that loads and compiles the network, or None. `run` waits for it.
    """

    precision: str
    is_chief: bool
    concurrency: int
    compilation: BackgroundCall[Any] | None

    def load(self, checkpoint: CheckpointPath) -> "tuple[LoadReport, int]":
        """Load trained weights; return a report, and the checkpoint's global_step or 0.

        Raises:
            InputError: if a variable is missing that is not optional for the network.
        """

    def groups(self, lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
        """Split sequences into batches that suit the engine; return their row numbers.

        Args:
            lengths: number of tokens in each sequence, int64 [n].
            max_tokens: maximum number of tokens in a batch, including padding.
        """

    def width(self, longest: int) -> int:
        """Return the width of a batch if its longest sequence has `longest` tokens."""

    def run(self, batch: Arrays) -> Arrays:
        """Return the network's outputs in float32 for spec.INPUTS, int32 [B, S]."""

    def facts(self) -> dict[str, Any]:
        """Return devices, versions and parameter counts for run_report.json."""
