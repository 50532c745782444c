"""A module and its test have the same path below bert_cli/ and tests/, with listed exceptions.

A test of text/tokenization.py is tests/text/test_tokenization.py. If a test file would be too long
or has a special topic, the topic follows the name: test_tokenization_golden.py. Tests of commands
are in tests/commands/.
"""

import functools
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Test rooms without a room in the package: whole commands, and independent implementations to
# compare with.
OWN_ROOMS = {"commands", "reference"}
# Module -> file that tests it through commands or callers. These modules are declarations, or steps
# with tested parts and an order that only the whole shows.
TESTED_END_TO_END: dict[str, str] = {
    "api/classifier.py": "commands/test_classifier.py",
    "api/feature_extractor.py": "commands/test_api.py",
    "api/mask_filler.py": "commands/test_fill_mask.py",
    "api/once.py": "commands/test_workers.py",
    "api/question_answerer.py": "commands/test_api.py",
    "api/results/vectors.py": "api/results/test_sequence.py",
    "api/classifier_training.py": "commands/test_api_training.py",
    "api/evaluation.py": "commands/test_api.py",
    "api/conversion.py": "commands/test_api_saving.py",
    "api/saving.py": "commands/test_api_saving.py",
    "api/tagger.py": "commands/test_api.py",
    "api/watching.py": "commands/test_callbacks.py",
    "runs/callbacks/observers.py": "commands/test_callbacks.py",
    "predicting/classifier.py": "commands/test_api.py",
    "predicting/decoder.py": "runs/tasks/classification/test_decoder.py",
    "predicting/tagger.py": "commands/test_tag.py",
    "serving/loading.py": "commands/test_serve.py",
    "exports/converted.py": "commands/test_convert.py",
    "exports/converted_files.py": "commands/test_convert.py",
    "exports/hugging_face_files.py": "commands/test_export_hugging_face_names.py",
    "exports/onnx_files.py": "commands/test_export_onnx.py",
    "exports/preprocessor.py": "commands/test_export.py",
    "exports/saved_models.py": "commands/test_export.py",
    "exports/text_graph.py": "commands/test_export_text.py",
    "serving/app.py": "commands/test_serve.py",
    "serving/server.py": "commands/test_serve.py",
    "flags/command.py": "commands/test_log.py",
    "flags/refusals.py": "test_refusals.py",
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
    "runs/sweep/sweep.py": "commands/test_sweep.py",
    "runs/sweep/trials.py": "settings/test_checks.py",
    "runs/tasks/classification/new_texts.py": "commands/test_classify_texts.py",
    "runs/tasks/classification/task.py": "commands/test_classify_run.py",
    "runs/tasks/dataset.py": "commands/test_sweep.py",
    "runs/tasks/interface.py": "commands/test_classify_run.py",
    "runs/tasks/pretraining.py": "commands/test_pretrain.py",
    "runs/tasks/tagging.py": "commands/test_tag.py",
    "runs/tasks/tagging_data.py": "commands/test_tag_predictions.py",
    "settings/squad.py": "commands/test_squad_errors.py",
    "settings/texts.py": "commands/test_extract_features.py",
}


@functools.cache
def modules() -> frozenset[str]:
    """Return the paths below bert_cli/ of all modules except commands and __init__.py."""
    paths = (path.relative_to(ROOT / "bert_cli") for path in (ROOT / "bert_cli").rglob("*.py"))
    return frozenset(path.as_posix() for path in paths if len(path.parts) > 1 and not path.name.startswith("__"))


def files_of_tests() -> set[str]:
    """Return the paths below tests/ of all tests in rooms; other tests are about the repository."""
    paths = (path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py"))
    return {path.as_posix() for path in paths if len(path.parts) > 1 and path.parts[0] not in OWN_ROOMS}


def module_of(test: str) -> str | None:
    """Return the module that a test belongs to, with the longest matching name, or None.

    test_a_b.py belongs to a_b.py if it exists, otherwise to a.py.
    """
    folder, _, name = test.rpartition("/")
    words = name.removeprefix("test_").removesuffix(".py").split("_")
    names = (f"{folder}/{'_'.join(words[:end])}.py" for end in range(len(words), 0, -1))
    return next((name for name in names if name in modules()), None)


def test_every_test_belongs_to_a_module():
    assert [test for test in sorted(files_of_tests()) if module_of(test) is None] == []


def test_every_module_has_a_test_or_is_listed():
    tested = {module_of(test) for test in files_of_tests()}
    assert sorted(modules() - tested - set(TESTED_END_TO_END)) == []


def test_listed_modules_exist_and_have_no_test():
    assert sorted(set(TESTED_END_TO_END) - modules()) == []
    assert sorted(set(TESTED_END_TO_END) & {module_of(test) for test in files_of_tests()}) == []


def test_listed_test_files_exist():
    assert [file for file in sorted(set(TESTED_END_TO_END.values())) if not (ROOT / "tests" / file).is_file()] == []


def test_a_topic_belongs_to_the_longest_name():
    assert module_of("text/test_tokenization_golden.py") == "text/tokenization.py"
    assert module_of("text/test_tokenizer_json.py") == "text/tokenizer_json.py"
    assert module_of("text/test_nothing.py") is None
