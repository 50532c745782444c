"""Train sentence vectors on pairs of texts, and evaluate them.

A row of the training file has a text and one that belongs to it, such as its answer. It may also
have negatives, which are texts that do not, or the similarity of the two texts. The trained model
has modules of sentence-transformers, which compute one vector per text. The command writes into
output_dir:

    model.ckpt-N            the weights after N steps, in Google's format
    modules.json, sentence_bert_config.json, config_sentence_transformers.json
                            the modules after the encoder, with the directories
                            1_Pooling and 2_Normalize
    eval_results.txt        the scores of the dev file
    run_report.json         all figures of the last run
    report.html             a page to look at; bert-report makes it again
    history.jsonl           losses and metrics over the steps
    events.out.tfevents.history  with --tensorboard, the same for TensorBoard
    vocab.txt, bert_config.json, flags.txt, run.json, checkpoint

If the dev file has scores, the metrics are the correlations of cosines and scores. Without scores,
each first text searches the second texts of all pairs: eval_mrr and eval_recall_at_1, 5 and 10.
bert-extract-features, bert-serve and FeatureExtractor in Python use the directory as their model.
bert-convert writes it as a directory of sentence-transformers.

Examples:

    bert-train-vectors --train_file=data/similarity/train.tsv --do_train \\
      --dev_file=data/similarity/dev.tsv --do_eval --num_train_epochs=1 \\
      --output_dir=bert_output/vectors
    bert-train-vectors --dev_file=data/similarity/scored_dev.tsv --do_eval \\
      --output_dir=bert_output/vectors
"""

from bert_cli.flags.command import Command
from bert_cli.opening.completion import complete_settings
from bert_cli.runs.tasks.vectors.task import VectorTask
from bert_cli.settings.vectors import VectorTrainingSettings


def check(settings: VectorTrainingSettings, given_names: frozenset[str]) -> VectorTrainingSettings:
    """Return the settings, completed from a training run's flags.txt."""
    return complete_settings(settings, given_names)


def run(settings: VectorTrainingSettings) -> dict:
    """Run the command, and return the report, which is also in run_report.json.

    The phases of training are methods of VectorTask, which driver.run_phases calls: `.load`, `.read`,
    `.plan`, `.make_model` (names the head, and the head's module has the loss) and `.evaluate`.
    """
    from bert_cli.runs import driver  # also imports report pages, which help does not need

    return driver.run_phases(VectorTask, settings)


main = Command("bert-train-vectors", __doc__, VectorTrainingSettings, run, check)


if __name__ == "__main__":
    raise SystemExit(main())
