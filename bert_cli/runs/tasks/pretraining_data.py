"""What bert-pretrain reads: TFRecord files, or plain text that is tokenized first. Both give the
same kind of arrays.
"""

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.corpus.instance_rows import count_rows
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.record_source import EVALUATED, RecordSource
from bert_cli.corpus.store import Corpus, CorpusSize
from bert_cli.corpus.stream import CorpusSource, split_documents
from bert_cli.corpus.text import find_inputs
from bert_cli.corpus.workers import Workers
from bert_cli.outputs.preparation import shares, text_warnings
from bert_cli.records.tfrecord import is_record_file
from bert_cli.runs.preparation.corpus import Reading, choose_num_workers, corpus_digest, read_corpus
from bert_cli.runs.tasks.dataset import Dataset
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import Vocabulary

Position = tuple[int, int]
_SAMPLED = 500  # instances that show whether a text is odd: a tenth of a second of work


def find_files(patterns: str, flag: str) -> tuple[list[str], bool]:
    """Return the paths of --input_file or --eval_file, and whether they are TFRecord files.

    Empty files are of either format: bert-create-pretraining-data and Google's script write empty
    TFRecord files if there are fewer instances than files. Raises InputError for a mixture of
    formats, and if all files are empty.
    """
    paths = find_inputs(patterns, flag)
    filled = [path for path in paths if not files.is_empty(path)]
    if not filled:
        others = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
        raise InputError(f"{paths[0]}: is empty{others}; check --{flag}")
    # A look at the beginning of a pipe would lose it.
    are_records = [not files.is_stream(path) and is_record_file(path) for path in filled]
    if any(are_records) and not all(are_records):
        text, records = filled[are_records.index(False)], filled[are_records.index(True)]
        raise InputError(f"{text}: is not a TFRecord file, but {records} is; give one kind to --{flag}")
    return paths, any(are_records)


class PretrainingText(contextlib.AbstractContextManager):
    """Instances drawn from plain text, to train on and, from other documents, to evaluate on; a
    context.
    """

    def __init__(
        self,
        paths: list[str],
        tokenizer: FullTokenizer,
        sampling: Sampling,
        share: float,
        pairs: bool,
        seed: int,
        encoding: str,
        flag: str,
    ):
        """Read the text.

        Args:
            paths: text files.
            tokenizer: tokenizer of the model.
            sampling: how instances are drawn.
            share: of the documents, held out for evaluation; with 0 all are for both.
            pairs: True for pairs of texts, False for single texts.
            seed: of the draws.
            encoding: of the files.
            flag: that names the files, for messages.
        """
        with contextlib.ExitStack() as opened:
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="bert_cli-"))
            reading = Reading(tokenizer, files_end_documents=True)
            with Workers(choose_num_workers(paths), reading) as workers:
                size = read_corpus(paths, workers, folder, encoding, flag)
            self.digest = corpus_digest(size)
            corpus = opened.enter_context(Corpus(size))
            self._stack = opened.pop_all()  # all is well: __exit__ closes what is open
        numbers, held_out = split_documents(size.num_documents, share, seed)
        self.num_tokens, self.num_unknown = size.num_tokens, size.num_unknown
        self.has_pairs = pairs
        self._log(size, len(held_out), share)
        self._training = CorpusSource(size, corpus, numbers, sampling, pairs, seed)
        used = held_out if len(held_out) else numbers
        self._evaluation = CorpusSource(size, corpus, used, sampling, pairs, seed)
        counts = size.counts | count_rows(self._training.sample(_SAMPLED), sampling.masking)
        place = "" if flag == "input_file" else f"--{flag}: "
        for line in text_warnings(counts | shares(counts), pairs):
            LOG.warning("%swarning: %s", place, line)

    @staticmethod
    def _log(size: CorpusSize, held_out: int, share: float) -> None:
        LOG.info(
            "%d documents, %d sentences, %d tokens, %.2f%% of them [UNK]",
            size.num_documents, size.num_sentences, size.num_tokens, 100 * size.num_unknown / size.num_tokens,
        )  # fmt: skip
        if held_out:
            LOG.info("%d of the documents are held out for evaluation; --eval_share=0 trains on all", held_out)
        elif share:
            LOG.warning(
                "warning: the text is one document, so none can be held out: an evaluation would "
                "be on what was trained on; put blank lines between documents, or give --eval_file"
            )

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def stream(self, batch_size: int, position: Position | None) -> Iterator[tuple[dict, Position]]:
        """Batches without end; a position is a shard and the instances taken of it."""
        for rows, following in self._training.stream(batch_size, position or (0, 0)):
            yield self._training.format.features(rows), following

    def evaluation(self, most: int | None) -> tuple[int, bool, Iterator[dict]]:
        """As RecordSource.evaluation: one pass over the documents."""
        rows = self._evaluation.one_pass(None if most is None else most + 1)
        is_cut = most is not None and len(rows) > most
        rows = rows[:most]
        chunks = (
            self._evaluation.format.features(rows[start : start + EVALUATED])
            for start in range(0, len(rows), EVALUATED)
        )
        return len(rows), is_cut, chunks


Data = RecordSource | PretrainingText


@dataclasses.dataclass(frozen=True)
class PretrainingDataset(Dataset):
    """`splits`: "train" and "held_out", as far as they are needed; text and records are streamed,
    so nothing is in memory.
    """

    evaluation_splits = ("held_out",)

    splits: dict[str, Data]
    vocabulary: Vocabulary | None
    has_next_sentences: bool

    def digest(self, names: Sequence[str]) -> str:
        return ",".join(self.splits[name].digest for name in names if name in self.splits)

    @property
    def metrics(self) -> tuple[str, ...]:
        names = ("masked_lm_loss", "masked_lm_accuracy", "masked_lm_perplexity")
        pairs = ("next_sentence_loss", "next_sentence_accuracy") if self.has_next_sentences else ()
        return ("loss", *names, *pairs)
