"""Runners of ONNX graphs: with onnxruntime, and for networks with products that skip padding."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_cli.base.head_types import HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx import heads
from bert_cli.onnx.bert import (
    CONTEXT_ROWS,
    EMBEDDED,
    HEAD_ROWS,
    ONE_LENGTH,
    ROWS,
    TOKEN_TYPES,
    WORDS,
    Bert,
    GraphForm,
    type_table,
)
from bert_cli.onnx.graph import TEXTS, Graph, assemble

Runner = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
# A function from a graph and its external constants to a runner; see compile_graph.
RunnerMaker = Callable[[Graph, Mapping[str, np.ndarray]], Runner]
ALL_THREADS = 0  # onnxruntime's number for a thread per processor core
_LARGE = 1024  # bytes; larger constants stay outside the model
_OUT_OF_MEMORY = ("Failed to allocate memory", "bad_alloc")
# Disabled fusions: this one's operator takes twice as long as an addition and a LayerNormalization.
_SLOWER = ["SkipLayerNormFusion"]
_ERRORS = 3  # onnxruntime logs only errors


class _Running:
    """An onnxruntime session, and the memory that it reads."""

    def __init__(self, model: str | bytes, external: Mapping[str, np.ndarray], threads: int):
        import onnxruntime

        # Keep these as long as the session, which has pointers into this memory but does not own
        # it.
        self._external = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value))
            for name, value in external.items()
        }
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS
        options.intra_op_num_threads = threads
        # Stop spinning between batches: the threads would take the processor from the code that
        # prepares the next batch. A server answered 843 short texts per second with spinning, and
        # 1,092 without.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if external:
            options.add_external_initializers(list(self._external), list(self._external.values()))
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
        )
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._input_names = {model_input.name for model_input in self._session.get_inputs()}

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        fed = {name: values for name, values in inputs.items() if name in self._input_names}
        try:
            return dict(zip(self._outputs, self._session.run(self._outputs, fed), strict=True))
        except Exception as error:  # onnxruntime has no public exception class
            if any(sign in str(error) for sign in _OUT_OF_MEMORY):
                raise MemoryError("onnxruntime gets no more") from None
            raise


def make_runner(
    model: str | bytes, external: Mapping[str, np.ndarray] | None = None, threads: int = ALL_THREADS
) -> Runner:
    """Return a function from a model's inputs, by name, to its outputs; any thread can call it.

    Inputs that the model does not have are ignored.

    Args:
        model: path to the file, or its bytes.
        external: values for constants that the model names without values; they are not copied.
        threads: threads that compute a call.
    """
    return _Running(model, external or {}, threads)


def compile_graph(graph: Graph, external: Mapping[str, np.ndarray], threads: int = ALL_THREADS) -> Runner:
    """Return make_runner's result for a graph.

    Args:
        external: its large constants. If they were copied into the protobuf message, it could exceed
            its limit of 2 GB.
        threads: threads that compute a call.
    """
    location = {"location": "memory"}
    return make_runner(assemble(graph, dict.fromkeys(external, location)), external, threads)


def graph_inputs(
    form: GraphForm, tables: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray], num_heads: int
) -> dict[str, np.ndarray]:
    """Return a graph's additional inputs for a batch of spec.INPUTS.

    Args:
        form: the graph's form, which is embedded.
        tables: embedding tables, Google's name -> float32.
        batch: token ids, mask and types, int32 [B, S].
        num_heads: attention heads per layer.
    """
    words, mask, types = (batch[name] for name in INPUTS)
    length = words.shape[1]
    if not form.is_flat:
        return {EMBEDDED: embed(tables, words, types, np.arange(length))}
    real = np.flatnonzero(mask)
    texts, positions = np.divmod(real, length)
    # A padded position uses the row of the last real token before it; attention ignores it.
    rows = np.cumsum(mask, dtype=np.int64).reshape(mask.shape) - 1
    embedded = embed(tables, words.ravel()[real], types.ravel()[real], positions)
    heads = np.arange(num_heads)
    # A state row has all heads of its query, then of its key, then of its value.
    query_rows = rows[:, np.newaxis] * (3 * num_heads) + heads[:, np.newaxis]
    head_rows = {name: query_rows + number * num_heads for number, name in enumerate(HEAD_ROWS)}
    context_rows = (texts[:, np.newaxis] * num_heads + heads) * length + positions[:, np.newaxis]
    return {EMBEDDED: embedded, ROWS: rows, CONTEXT_ROWS: context_rows, **head_rows}


def embed(tables: Mapping[str, np.ndarray], words: np.ndarray, types: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the sum of embeddings like Bert.embed, float32 [..., E], without a graph.

    A graph would keep the tables in memory.

    Args:
        tables: Google's name -> float32.
        words: token ids [...].
        types: token type ids [...].
        positions: positions [...], or [S] for ids [B, S].
    """
    # Indexing copies, so the sums change no table.
    total = tables[WORDS][words]
    if TOKEN_TYPES in tables:
        total += tables[TOKEN_TYPES][types]
    total += tables["bert/embeddings/position_embeddings"][positions]
    return total


def embedded_runner(bert: Bert, make: RunnerMaker = compile_graph) -> Runner:
    """Return a runner for the Bert's graph.

    It needs batches of spec.INPUTS, int32 [B, S]. If the network is flat, it uses the mask. If not,
    all texts must have S tokens.

    Args:
        bert: embedded network with outputs.
        make: function that makes the graph's runner.
    """
    external = {name: value for name, value in bert.graph.constants.items() if value.nbytes >= _LARGE}
    run = make(bert.graph, external)
    # Keep only the tables: the runner holds all other weights.
    tables = {name: value for name, value in bert.tensors.items() if "_embeddings" in name}
    if TOKEN_TYPES in tables:
        tables[TOKEN_TYPES] = type_table(tables[TOKEN_TYPES])
    form, num_heads = bert.form, bert.config.num_attention_heads
    return lambda batch: run(batch | graph_inputs(form, tables, batch, num_heads))


def encoder_runner(
    form: GraphForm,
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    indices: Sequence[int],
    make: RunnerMaker = compile_graph,
) -> Runner:
    """Return a runner with float32 outputs `state_0`, … [B, S, H], one per index.

    Without indices, there is one output, `pooled_output` [B, H]. WITH_ATTENTION adds more
    outputs. See also embedded_runner.

    Args:
        form: bert.FLAT for float32, bert.WITH_ATTENTION, or int8.FLAT_INT8.
        tensors: Google's name -> float32.
        config: the model's configuration.
        indices: layers to return, 0 for the embedding.
        make: function that makes the graph's runner.
    """
    bert = Bert(Graph(), tensors, config, form)
    states = bert.states()
    hidden = config.hidden_size
    if not indices:
        bert.graph.output("pooled_output", ("batch", hidden), "Identity", heads.pooler_output(bert, states[-1]))
    for number, index in enumerate(indices):
        bert.graph.output(f"state_{number}", (*TEXTS, hidden), "Identity", bert.pad(states[index]))
    return embedded_runner(bert, make)


def masked_words_runner(
    tensors: Mapping[str, np.ndarray], config: BertConfig, words: int, make: RunnerMaker = compile_graph
) -> Runner:
    """Return a runner for pre-trained heads.

    A batch also has `masked`, int64 [M, 2], the rows and positions of masked tokens. The float32
    outputs are `logits` [M, words] and, if the tensors have the next-sentence head,
    `next_sentence_logits` [B, 2]. All texts must have S tokens.

    Args:
        tensors: Google's name -> float32.
        config: the model's configuration.
        words: number of vocabulary entries that have logits.
        make: function that makes the graph's runner.
    """
    bert = Bert(Graph(), tensors, config, ONE_LENGTH)
    graph = bert.graph
    last = bert.states()[-1]
    logits = heads.masked_words(bert, last, graph.input("masked", ("masks", 2)))
    # Exclude rows beyond the vocabulary, which can never be candidates.
    inputs = (logits, graph.numbers(0), graph.numbers(words), graph.numbers(1))
    graph.output("logits", ("masks", words), "Slice", *inputs)
    if "cls/seq_relationship/output_weights" in tensors and "bert/pooler/dense/kernel" in tensors:
        graph.output("next_sentence_logits", ("batch", 2), "Identity", heads.next_sentence(bert, last))
    return embedded_runner(bert, make)


def logits_runner(
    form: GraphForm,
    tensors: Mapping[str, np.ndarray],
    config: BertConfig,
    head: HeadSpec,
    make: RunnerMaker = compile_graph,
) -> Runner:
    """Return a runner with the output `logits`, float32 [B, n] for texts or [B, S, n] for tokens.

    See also embedded_runner.

    Args:
        form: bert.FLAT for float32, or int8.FLAT_INT8.
        tensors: Google's name -> float32.
        config: the model's configuration.
        make: function that makes the graph's runner.
    """
    bert = Bert(Graph(), tensors, config, form)
    logits = heads.logits(bert, head)
    if head.is_text_classifier:
        bert.graph.output("logits", ("batch", head.num_outputs), "Identity", logits)
    else:
        bert.graph.output("logits", (*TEXTS, head.num_outputs), "Identity", bert.pad(logits))
    return embedded_runner(bert, make)
