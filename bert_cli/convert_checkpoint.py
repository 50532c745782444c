"""Convert a BERT model and its heads between checkpoint formats.

The formats are Google's TF1 checkpoints, Hugging Face directories, Keras .weights.h5 files, and
modules for tensorflow-hub, which hold only the encoder. A Hugging Face directory gets
model.safetensors, config.json, vocab.txt and the tokenizer's files; transformers loads it without a
missing or unexpected key. --check runs texts through both tokenizers and both models, which must
agree. The second example converts back, to the same weights bit for bit. Optimizer state is dropped.

Examples:

    bert-classify --do_train --train_file=data/reviews.csv \\
      --output_dir=bert_output/reviews
    bert-convert --from=bert_output/reviews --to=bert_output/reviews_hf --check
    bert-convert --from=bert_output/reviews_hf \\
      --to=bert_output/reviews_google/bert_model.ckpt
"""

from bert_cli.base import files
from bert_cli.base.log import LOG
from bert_cli.base.writing import staging_folder
from bert_cli.exports.conversion_plan import check_dtype, check_vocabulary_size, find_source, warn_of_google
from bert_cli.exports.converted import ConvertedModel, convert_checkpoint
from bert_cli.exports.converted_files import write_converted
from bert_cli.exports.target import FORMATS, check_free, find_target, publish
from bert_cli.flags.command import Command
from bert_cli.opening.loader import load_model
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.sentence.conversion import find_modules
from bert_cli.settings.tools import ConvertSettings


def run(settings: ConvertSettings) -> dict:
    """Convert the model, and return a report.

    Its keys are `converted`, `left_out` and `unused`, which list weight names, `files`, and
    `differences` if --check is used.
    """
    changes = settings.changes
    random_seed = settings.seed.random_seed
    overwrite = settings.paths.overwrite
    checkpoint = find_source(settings.paths.source, settings.model.strict)
    target = find_target(settings.paths.target, settings.paths.to_format)
    check_dtype(changes.dtype, target)
    files.check_can_write(target.folder, "to")
    # Check this before reading the source, which takes a while.
    check_free(target, overwrite)
    model = load_model(settings.model, checkpoint, None, needs_bert=True, needs_vocab=False, to_convert=True)
    check_vocabulary_size(model.optional_vocabulary, model.config, changes.resize_vocab, target)

    modules = find_modules(checkpoint.folder, changes.head, settings.model.strict)

    if changes.check or FORMATS[target.format].needs_tensorflow:
        setup_tensorflow()
    converted = convert_checkpoint(model, target, changes, random_seed, modules)
    warn_of_google(model.config, target)
    with staging_folder(target.folder) as staging_path:
        names = write_converted(staging_path, converted)
        differences = _compare(staging_path, converted, random_seed) if changes.check else None
        # A checkpoint may be converted within its own directory. The files there then belong to the
        # new checkpoint, too.
        is_same_folder = files.resolve(target.folder) == files.resolve(checkpoint.folder)
        written = publish(staging_path, target, names, overwrite, is_same_folder)
    LOG.info("wrote into %s: %s", target.folder, ", ".join(written))
    return {
        "converted": sorted(converted.tensors),
        "left_out": converted.left_out,
        "unused": converted.weights.report.unused,
        "files": written,
        "differences": differences,
    }


def _compare(staging_path: str, converted: ConvertedModel, random_seed: int) -> dict[str, float]:
    # Import late: the comparison computes with TensorFlow.
    from bert_cli.exports.conversion_check import compare_with_source

    return compare_with_source(staging_path, converted, random_seed)


main = Command("bert-convert", __doc__, ConvertSettings, run, interrupted="nothing was converted")


if __name__ == "__main__":
    raise SystemExit(main())
