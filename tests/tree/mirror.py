"""A module and its test have the same path below bert_cli/ and tests/, with listed exceptions.

A test of text/tokenization.py is tests/text/test_tokenization.py. If a test file would be too long
or has a special topic, the topic follows the name: test_tokenization_golden.py. Tests of commands
are in tests/commands/.
"""

from collections.abc import Iterator

from tests.house_figures import Checkout

LIST = "tests/tree/mirror.py"
# Test rooms without a room in the package: whole commands, independent implementations to compare
# with, and checks of the tree.
OWN_ROOMS = {"commands", "reference", "tree"}
# Module -> file that tests it through commands or callers. These modules are declarations, or steps
# with tested parts and an order that only the whole shows.
TESTED_END_TO_END: dict[str, str] = {
    "api/classifier.py": "commands/test_classifier.py",
    "api/feature_extractor.py": "commands/test_api.py",
    "api/mask_filler.py": "commands/test_fill_mask.py",
    "api/once.py": "commands/test_workers.py",
    "api/question_answerer.py": "commands/test_api.py",
    "api/results/comparison.py": "api/test_comparison.py",
    "api/results/vectors.py": "api/results/test_sequence.py",
    "runs/int8_comparison.py": "commands/test_export_int8.py",
    "runs/tasks/classification/ensemble.py": "commands/test_classify_ensembles.py",
    "api/classifier_training.py": "commands/test_api_training.py",
    "api/evaluation.py": "commands/test_api.py",
    "api/conversion.py": "commands/test_api_saving.py",
    "api/inputs/new_model.py": "commands/test_api_pretraining.py",
    "api/saving.py": "commands/test_api_saving.py",
    "api/tagger.py": "commands/test_api.py",
    "api/watching.py": "commands/test_callbacks.py",
    "runs/callbacks/observers.py": "commands/test_callbacks.py",
    "runs/engine/adapter.py": "commands/test_lora.py",
    "runs/engine/head_fit.py": "commands/test_classify_method.py",
    "runs/tasks/classification/method.py": "commands/test_classify_method.py",
    "predicting/classifier.py": "commands/test_api.py",
    "predicting/decoder.py": "runs/tasks/classification/test_decoder.py",
    "predicting/tagger.py": "commands/test_tag.py",
    "predicting/vectors.py": "commands/test_api.py",
    "sentence/conversion.py": "commands/test_sentence_folders.py",
    "serving/loading.py": "commands/test_serve.py",
    "sklearn/inputs.py": "sklearn/test_estimators.py",
    "exports/converted.py": "commands/test_convert.py",
    "exports/converted_files.py": "commands/test_convert.py",
    "exports/hugging_face_files.py": "commands/test_export_hugging_face_names.py",
    "exports/signatures/onnx_files.py": "commands/test_export_onnx.py",
    "exports/preprocessor.py": "commands/test_export.py",
    "exports/signatures/answers.py": "commands/test_export_answers.py",
    "exports/signatures/classifier.py": "commands/test_export.py",
    "exports/ensembles.py": "commands/test_export_ensembles.py",
    "exports/signatures/network.py": "commands/test_export_ensembles.py",
    "exports/signatures/saved_models.py": "commands/test_export.py",
    "exports/signatures/signature.py": "commands/test_export.py",
    "exports/signatures/masked_words.py": "commands/test_export_masked_words.py",
    "exports/signatures/tagger.py": "commands/test_export_tagger.py",
    "exports/signatures/windows.py": "commands/test_export_tagger.py",
    "exports/signatures/words.py": "commands/test_export_tagger.py",
    "exports/signatures/tflite_files.py": "commands/test_export_tflite.py",
    "exports/signatures/vectors.py": "commands/test_export_vectors.py",
    "heads/vectors.py": "commands/test_export_vectors.py",
    "onnx/vectors.py": "commands/test_export_vectors.py",
    "sentence/vectors.py": "commands/test_export_vectors.py",
    "exports/text_graph.py": "commands/test_export_text.py",
    "serving/items.py": "serving/test_served_model.py",
    "serving/http/app.py": "commands/test_serve.py",
    "serving/http/listening.py": "commands/test_serve_sockets.py",
    "serving/http/protocol.py": "serving/http/test_kserve.py",
    "serving/http/ranking.py": "serving/http/test_text_embeddings.py",
    "serving/http/schemas.py": "serving/http/test_all_protocols.py",
    "serving/http/server.py": "commands/test_serve.py",
    "serving/http/tensors.py": "serving/http/test_kserve.py",
    "flags/command.py": "commands/test_log.py",
    "flags/refusals.py": "test_refusals.py",
    "runs/preparation/labeled_file.py": "runs/preparation/test_prepare_data.py",
    "runs/tasks/classification/encoded_splits.py": "runs/tasks/classification/test_dataset.py",
    "examples/classification.py": "examples/test_task_files.py",
    "runs/driver.py": "commands/test_classify_reruns.py",
    "runs/callbacks/services.py": "runs/callbacks/test_trackers.py",
    "runs/callbacks/sweep_trackers.py": "runs/callbacks/test_trackers.py",
    "runs/callbacks/tracked_results.py": "runs/callbacks/test_trackers.py",
    "runs/engine/frozen_states.py": "runs/tasks/test_controls.py",
    "runs/engine/training_inputs.py": "runs/tasks/test_controls.py",
    "runs/engine/initial_weights.py": "commands/test_builtin_model.py",
    "runs/engine/probe.py": "commands/test_dry_run.py",
    "runs/engine/training_callbacks.py": "commands/test_callbacks.py",
    "runs/engine/worker_failure.py": "commands/test_mirrored_devices.py",
    "runs/extraction/lines.py": "commands/test_extract_features.py",
    "runs/extraction/plan.py": "commands/test_extract_features.py",
    "runs/extraction/shown_attention.py": "commands/test_extract_features.py",
    "runs/evaluation.py": "commands/test_export_onnx.py",
    "runs/training.py": "commands/test_classify_reruns.py",
    "runs/sweep/folds.py": "commands/test_cross_validation.py",
    "runs/sweep/nested.py": "commands/test_cross_validation.py",
    "runs/sweep/sweep.py": "commands/test_sweep.py",
    "runs/sweep/trials.py": "settings/test_training_grids.py",
    "runs/tasks/classification/new_texts.py": "commands/test_classify_texts.py",
    "runs/tasks/classification/splits.py": "runs/tasks/classification/test_data.py",
    "runs/tasks/classification/task.py": "commands/test_classify_run.py",
    "runs/tasks/dataset.py": "commands/test_sweep.py",
    "runs/tasks/interface.py": "commands/test_classify_run.py",
    "runs/tasks/pretraining.py": "commands/test_pretrain.py",
    "runs/tasks/averaging.py": "commands/test_tag_ensembles.py",
    "runs/tasks/tagging_ensemble.py": "commands/test_tag_ensembles.py",
    "runs/tasks/tagging.py": "commands/test_tag.py",
    "runs/tasks/tagging_data.py": "commands/test_tag_predictions.py",
    "settings/squad.py": "commands/test_squad_errors.py",
    "runs/tasks/vectors/task.py": "commands/test_train_vectors.py",
    "runs/tasks/vectors/data.py": "commands/test_train_vectors.py",
    "settings/vectors.py": "commands/test_train_vectors.py",
    "problem_types/pair_losses.py": "heads/test_vector_losses.py",
    "settings/texts.py": "commands/test_extract_features.py",
}


def modules(checkout: Checkout) -> set[str]:
    """Return the paths below bert_cli/, without commands and __init__.py."""
    paths = (path.relative_to(checkout.root / "bert_cli") for path in checkout.modules.values())
    return {path.as_posix() for path in paths if len(path.parts) > 1 and not path.name.startswith("__")}


def files_of_tests(checkout: Checkout) -> list[str]:
    """Return the paths below tests/ for tests in rooms; other tests are about the repository."""
    paths = (path.removeprefix("tests/") for path in checkout.paths("tests/**/test_*.py"))
    return [path for path in paths if "/" in path and path.split("/")[0] not in OWN_ROOMS]


def module_of(test: str, known_modules: set[str]) -> str | None:
    """Return the module that a test belongs to, with the longest matching name, or None.

    test_a_b.py belongs to a_b.py if it exists, otherwise to a.py.
    """
    folder, _, name = test.rpartition("/")
    words = name.removeprefix("test_").removesuffix(".py").split("_")
    names = (f"{folder}/{'_'.join(words[:end])}.py" for end in range(len(words), 0, -1))
    return next((name for name in names if name in known_modules), None)


def lost_tests(checkout: Checkout) -> Iterator[str]:
    """Yield tests with a path that leads to no module."""
    all_modules = modules(checkout)
    for test in files_of_tests(checkout):
        if module_of(test, all_modules) is None:
            yield f"tests/{test}:1: no module has this path: give the test its module's path and name"


def untested_modules(checkout: Checkout) -> Iterator[str]:
    """Yield modules that have no test and are not listed."""
    all_modules = modules(checkout)
    tested = {module_of(test, all_modules) for test in files_of_tests(checkout)}
    for module in sorted(all_modules - tested - set(TESTED_END_TO_END)):
        test = f"tests/{module.rpartition('/')[0]}/test_{module.rpartition('/')[2]}"
        yield f"bert_cli/{module}:1: no test: add {test}, or the module to TESTED_END_TO_END in {LIST}"


def stale_entries(checkout: Checkout) -> Iterator[str]:
    """Yield entries in TESTED_END_TO_END of modules that are gone or have a test, or of files that are gone."""
    all_modules = modules(checkout)
    tests = {module_of(test, all_modules): test for test in files_of_tests(checkout)}
    for module, file in TESTED_END_TO_END.items():
        place = checkout.place(LIST, f'"{module}"')
        if module not in all_modules:
            yield f"{place}: {module} does not exist: remove the entry"
        elif module in tests:
            yield f"{place}: {module} has the test tests/{tests[module]}: remove the entry"
        if not (checkout.root / "tests" / file).is_file():
            yield f"{place}: tests/{file} does not exist: name the test of {module}"


CHECKS = (lost_tests, untested_modules, stale_entries)
