"""Dataset of bert-pretrain: TFRecord files, or plain text, which is tokenized first."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import find_inputs
from bert_cli.base.log import LOG
from bert_cli.corpus.instance_rows import count_rows
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.record_source import EVALUATED, RecordSource
from bert_cli.corpus.store import Corpus, CorpusSize
from bert_cli.corpus.stream import CorpusSource, split_documents
from bert_cli.corpus.temporary import corpus_directory
from bert_cli.corpus.text import TextSource
from bert_cli.corpus.workers import Workers
from bert_cli.outputs.preparation import pretraining_data_shares, text_warnings
from bert_cli.records.tfrecord import is_record_file
from bert_cli.runs.preparation.corpus import Tokenization, choose_num_workers, hash_corpus, read_corpus
from bert_cli.runs.tasks.dataset import Dataset
from bert_cli.settings.pretraining import FORMS_OF_LINES, PAIRS
from bert_cli.settings.texts import CorpusForm
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import Vocabulary

_NUM_SAMPLED = 500  # instances to check for odd text, in 0.1 seconds


def find_files(patterns: str, flag: str) -> tuple[Sequence[TextSource], bool]:
    """Return the paths of --input_file or --eval_file, and whether they are TFRecord files.

    Empty files fit both formats: bert-create-pretraining-data and Google's script write empty
    TFRecord files if there are fewer instances than files.

    Args:
        patterns: paths and patterns, separated by commas.
        flag: flag that names the files, for messages.

    Raises:
        InputError: formats are mixed, or all files are empty.
    """
    paths = find_inputs(patterns, flag)
    filled = [path for path in paths if not files.is_empty(path)]
    if not filled:
        more_files = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
        raise InputError(f"{paths[0]}: is empty{more_files}; check --{flag}")
    # Do not look into pipes: the bytes would be lost for the reader.
    are_records = [not files.is_stream(path) and is_record_file(path) for path in filled]
    if any(are_records) and not all(are_records):
        text, records = filled[are_records.index(False)], filled[are_records.index(True)]
        raise InputError(f"{text}: is not a TFRecord file, but {records} is; give one kind to --{flag}")
    return paths, any(are_records)


class PretrainingText(contextlib.AbstractContextManager):
    """Context with instances from plain text: some documents for training, others for evaluation."""

    def __init__(
        self,
        paths: Sequence[TextSource],
        tokenizer: FullTokenizer,
        sampling: Sampling,
        eval_share: float,
        form: str,
        seed: int,
        corpus_form: CorpusForm,
        flag: str,
    ):
        """Tokenize the text into temporary files.

        Args:
            paths: text files, or texts in memory.
            sampling: settings that define how instances are drawn.
            eval_share: share of documents held out for evaluation; with 0, both use all documents.
            form: form of the sequences, see CorpusSource.
            seed: seed for all random draws.
            corpus_form: column and encoding of the files.
            flag: flag that names the files, for messages.
        """
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(corpus_directory())
            tokenization = Tokenization(tokenizer, files_end_documents=True)
            with Workers(choose_num_workers(paths), tokenization) as workers:
                size = read_corpus(paths, workers, folder, corpus_form, flag, form in FORMS_OF_LINES)
            self.digest = hash_corpus(size)
            corpus = stack.enter_context(Corpus(size))
            # Nothing failed, so keep the files open until __exit__.
            self._stack = stack.pop_all()
        training_documents, held_out_documents = split_documents(size.num_documents, eval_share, seed)
        self.num_tokens, self.num_unknown = size.num_tokens, size.num_unknown
        self.has_pairs = form == PAIRS
        self._log(size, len(held_out_documents), eval_share, "lines" if form in FORMS_OF_LINES else "documents")
        self._training = CorpusSource(size, corpus, training_documents, sampling, form, seed)
        evaluation_documents = held_out_documents if len(held_out_documents) else training_documents
        self._evaluation = CorpusSource(size, corpus, evaluation_documents, sampling, form, seed)
        counts = size.counts | count_rows(self._training.sample(_NUM_SAMPLED), sampling.masking)
        flag_prefix = "" if flag == "input_file" else f"--{flag}: "
        for line in text_warnings(counts | pretraining_data_shares(counts), self.has_pairs):
            LOG.warning("%swarning: %s", flag_prefix, line)

    @staticmethod
    def _log(size: CorpusSize, num_held_out: int, eval_share: float, unit: str) -> None:
        sentences = f" {size.num_sentences} sentences," if unit == "documents" else ""
        LOG.info(
            "%d %s,%s %d tokens, %.2f%% of them [UNK]",
            size.num_documents, unit, sentences, size.num_tokens, 100 * size.num_unknown / size.num_tokens,
        )  # fmt: skip
        if num_held_out:
            LOG.info("%d of the %s are held out for evaluation; --eval_share=0 trains on all", num_held_out, unit)
        elif eval_share:
            LOG.warning(
                "warning: the text is one document, so none can be held out: an evaluation would "
                "be on what was trained on; put blank lines between documents, or give --eval_file"
            )

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def pass_size(self) -> tuple[int, float]:
        """Return the number of training sequences in a pass, and their mean length in tokens."""
        return self._training.pass_size()

    def stream(self, batch_size: int, position: tuple[int, int] | None) -> Iterator[tuple[dict, tuple[int, int]]]:
        """Yield batches without end, each with the position after it.

        Args:
            batch_size: instances per batch.
            position: pair (shard, instances used from it) to continue from, None for the start.
        """
        for rows, following in self._training.stream(batch_size, position or (0, 0)):
            yield self._training.format.features(rows), following

    def evaluation(self, max_instances: int | None) -> tuple[int, bool, Iterator[dict]]:
        """Return the number of instances, whether there are more, and the instances in chunks.

        There are at most `max_instances` instances from one pass over the documents, None for all.
        """
        rows = self._evaluation.one_pass(None if max_instances is None else max_instances + 1)
        is_cut = max_instances is not None and len(rows) > max_instances
        rows = rows[:max_instances]
        chunks = (
            self._evaluation.format.features(rows[start : start + EVALUATED])
            for start in range(0, len(rows), EVALUATED)
        )
        return len(rows), is_cut, chunks


PretrainingSource = RecordSource | PretrainingText


@dataclasses.dataclass(frozen=True)
class PretrainingDataset(Dataset):
    """Streams of instances; nothing is held in memory.

    Attributes:
        splits: "train" and "held_out", if the run needs them.
        vocabulary: the model's vocabulary, None if TFRecord files make it unnecessary.
        has_next_sentences: whether the model predicts next sentences.
    """

    evaluation_splits = ("held_out",)

    splits: dict[str, PretrainingSource]
    vocabulary: Vocabulary | None
    has_next_sentences: bool

    def digest(self, names: Sequence[str]) -> str:
        return ",".join(self.splits[name].digest for name in names if name in self.splits)

    @property
    def metrics(self) -> tuple[str, ...]:
        names = ("masked_lm_loss", "masked_lm_accuracy", "masked_lm_perplexity")
        pairs = ("next_sentence_loss", "next_sentence_accuracy") if self.has_next_sentences else ()
        return ("loss", *names, *pairs)
