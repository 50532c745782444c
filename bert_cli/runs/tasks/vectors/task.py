"""The task of bert-train-vectors: pairs of texts, losses, metrics, and modules of vectors."""

import contextlib
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np

from bert_cli.base.errors import refuse_if
from bert_cli.base.head_types import ENCODER
from bert_cli.inference.engine import EncoderNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.metrics.vectors import SLOW_PACKAGES, cosines_of_pairs, search_results, similarity_results
from bert_cli.opening.checks import PairCheck
from bert_cli.opening.loader import load_model
from bert_cli.predicting.vectors import TextVectors, VectorChoice, VectorModel
from bert_cli.problem_types.kinds import VECTORS
from bert_cli.reading.probe import TableFile
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import digest
from bert_cli.runs.tasks.interface import Evaluation, Plan, Recipe, Task, fine_tuning_plan
from bert_cli.runs.tasks.vectors.data import PairSplit, VectorBundle, VectorDataset, read_pair_dataset
from bert_cli.runs.tasks.vectors.mining import with_mined_negatives
from bert_cli.sentence.vectors import PoolingAndSteps
from bert_cli.sentence.writing import module_files
from bert_cli.settings.vectors import VectorTrainingSettings
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.runs.engine.training_inputs import RowInput, StreamInput


class VectorTask(Task[VectorBundle, VectorDataset, None]):
    """Task of bert-train-vectors; see interface.Task for its methods."""

    command = VECTORS.command
    settings: VectorTrainingSettings

    def __init__(self, settings: VectorTrainingSettings, tables: Mapping[str, TableFile] = MappingProxyType({})):
        """Use these settings, and `tables` instead of files, see data.read_pair_dataset."""
        super().__init__(settings)
        self._tables = tables

    @property
    def slow_packages(self) -> tuple[str, ...]:
        return SLOW_PACKAGES if self.settings.phases.do_eval else ()

    def load(self, checkpoint: CheckpointPath | None) -> VectorBundle:
        settings = self.settings
        length = settings.encoding.max_seq_length
        return cast(VectorBundle, load_model(settings.model, checkpoint, length, settings.hub, needs_bert=True))

    def read(self, model: VectorBundle, stack: contextlib.ExitStack) -> VectorDataset:
        return read_pair_dataset(self.settings, model, self._tables)

    def plan(self, model: VectorBundle, data: VectorDataset, recipe: Recipe) -> Plan:
        split = data.splits["train"]
        features, sequences = split.features, split.features.sequences
        do_lower_case = model.tokenizer.do_lower_case
        assert data.loss, "read_pair_dataset chooses the loss of a training"
        modules = data.recipe.to_modules(model.config.hidden_size)
        assert modules, "the flags have only poolings of modules, and the last layer"
        values = {
            "deciding_values": {
                "task_name": "vectors",
                "loss": data.loss.name,
                "vectors": data.recipe.facts() | {"steps": [str(step) for step in data.recipe.steps]},
                "do_lower_case": do_lower_case,
                "training_data": digest(sequences.token_ids, sequences.offsets, features.text_ids, features.scores),
                "train_examples": len(features),
            },
            "resolved_flags": {"do_lower_case": do_lower_case},
            "model_files": module_files(modules),
        }
        plan = fine_tuning_plan(self.settings, recipe, len(features), len(features), head_type=ENCODER, **values)
        batch_size = plan.batch_size or self.settings.training.train_batch_size
        # A row has nothing to be compared with, and equal rows of several epochs have no loss.
        is_alone = data.loss.compares_rows and not split.table.has_negatives
        needs_more = f"--loss={data.loss.name} compares rows of a batch"
        refuse_if(
            is_alone and len(features) < 2,
            f"{split.table.path}: has one row, and {needs_more}; give more rows"
            f"{'' if data.loss.uses_scores else ', or negatives of the row'}",
        )
        refuse_if(is_alone and batch_size < 2, f"{needs_more}; give --train_batch_size=2 or more")
        return plan

    def make_model(self, model: VectorBundle, data: VectorDataset, options: "NetworkOptions") -> "TaskModel":
        from bert_cli.heads.vector_losses import VectorLossRule
        from bert_cli.heads.vectors import BertVectors

        assert data.loss, "read_pair_dataset chooses the loss of a training"
        flags, recipe = self.settings.pair_training, data.recipe
        vectors = PoolingAndSteps(recipe.pooling, recipe.steps, recipe.num_skipped(model.tokenizer))
        loss = VectorLossRule(data.loss, flags.similarity_scale, flags.margin)
        return BertVectors(model.config, vectors, loss, **options)

    def network(self, model: VectorBundle, data: VectorDataset) -> EncoderNetwork:
        return _choice(data, 1).network

    def training_input(
        self, data: VectorDataset, directory: RunDirectory | None, resumes: bool, is_chief: bool
    ) -> "RowInput | StreamInput":
        count = self.settings.pair_training.mine_negatives
        data = with_mined_negatives(data, count) if count else data
        return super().training_input(data, directory, resumes, is_chief)

    def evaluate(self, predictor: Predictor, data: VectorDataset) -> Evaluation[None]:
        """Evaluate the dev pairs: correlations if they have scores, otherwise a search."""
        split = data.splits["dev"]
        began = time.monotonic()
        results = self._score(predictor, data, split)
        rate = round(split.num_rows / (time.monotonic() - began), 2)
        return Evaluation(results, [], {"eval_examples_per_second": rate}, None)

    def _score(self, predictor: Predictor, data: VectorDataset, split: PairSplit) -> dict:
        model = data.model
        check = PairCheck(model.config, model.config_name, self.settings.model.strict)
        choice = _choice(data, self.settings.inference.eval_batch_size)
        # Compute vectors as for new texts, so that the results hold for the model in use.
        encoder = TextVectors(VectorModel(predictor.engine, choice, check), model, data.recipe)
        texts = split.table.texts
        numbers = {text: number for number, text in enumerate(texts)}
        vectors = encoder.extract([(text, None) for text in texts]).vectors
        indices = np.array([(numbers[pair.text_a], numbers[pair.text_b]) for pair in split.table.pairs])
        if not split.table.has_scores:
            return search_results(vectors, indices)
        cosines = cosines_of_pairs(vectors[indices[:, 0]], vectors[indices[:, 1]])
        return similarity_results(cosines, split.features.scores)


def _choice(data: VectorDataset, batch_size: int) -> VectorChoice:
    """Return the recipe's pooling, using the last layer."""
    recipe = data.recipe
    return VectorChoice(recipe.pooling, (data.model.config.num_hidden_layers,), recipe.max_seq_length, batch_size)
