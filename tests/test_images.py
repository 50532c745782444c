"""Images, manifests and the systemd unit in deploy/: fields that they need, checked without a cluster."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from bert_cli.__main__ import COMMANDS
from bert_cli.flags.parser import parse
from tests import docs_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILES = ("Dockerfile", "Dockerfile.serve")
MANIFESTS = ("serve.yaml", "kubernetes.yaml")


def documents(name: str) -> dict[str, dict]:
    """Return the objects of a manifest by their kind."""
    return {document["kind"]: document for document in yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8"))}


def pod(name: str) -> dict:
    """Return the pod's spec in a manifest."""
    workload = next(document for kind, document in documents(name).items() if kind in ("Deployment", "Job"))
    return workload["spec"]["template"]["spec"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_follow_the_schema_of_kubernetes(name):
    command = [sys.executable, "-m", "kubernetes_validate", "--strict", "--kubernetes-version", "1.33", DEPLOY / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MANIFESTS)
def test_pods_pass_the_restricted_standard(name):
    """Fields that the Pod Security Standard "restricted" asks for, and a root file system that is read-only."""
    spec = pod(name)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"]["runAsUser"] > 0
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    assert {next(iter(volume.keys() - {"name"})) for volume in spec["volumes"]} <= {
        "persistentVolumeClaim", "secret", "emptyDir",
    }  # fmt: skip
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context == {
            "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert any(mount["mountPath"] == "/tmp" for mount in container["volumeMounts"])
        assert re.fullmatch(r"[\w-]+:\d+\.\d+\.\d+", container["image"])


def seconds_to_end(words: list[str]) -> int:
    """Return the seconds that a bert-serve command takes at most after SIGTERM; fail without a delay."""
    values, given_names = parse(docs_pages.settings_of("bert-serve"), words)
    assert {"shutdown_delay", "drain_seconds"} <= given_names
    assert values["shutdown_delay"] >= 5
    return values["shutdown_delay"] + values["drain_seconds"]


def test_the_unit_ends_after_its_requests():
    unit = (DEPLOY / "bert-serve.service").read_text("utf-8")
    limit = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1])
    assert limit > seconds_to_end(words_of_commands()["bert-serve.service"])


def test_the_deployment_ends_after_its_requests():
    spec, objects = pod("serve.yaml"), documents("serve.yaml")
    container = spec["containers"][0]
    assert spec["terminationGracePeriodSeconds"] > seconds_to_end(container["args"])
    # Variables of a Service bert-serve would look like those of flags.
    assert spec["enableServiceLinks"] is False
    assert objects["PodDisruptionBudget"]["spec"]["minAvailable"] < objects["Deployment"]["spec"]["replicas"]
    annotations = objects["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    # Prometheus has no key, and /metrics on the port for requests asks for one.
    values, _ = parse(docs_pages.settings_of("bert-serve"), container["args"])
    port = values["metrics_port"]
    assert port in [entry["containerPort"] for entry in container["ports"]]
    assert annotations["prometheus.io/port"] == str(port)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_images_are_built_in_stages_and_run_without_root(name):
    text = (DEPLOY / name).read_text(encoding="utf-8")
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    assert [stage.split("\n")[0] for stage in stages] == ["${PYTHON} AS build", "${PYTHON}"]
    assert re.search(r"^ARG PYTHON=python:3\.\d+-slim-\w+$", text, re.MULTILINE)
    assert "--require-hashes" in stages[0]
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", stages[1], re.MULTILINE)
    assert "COPY . " not in stages[1]
    for lock in re.findall(r"requirements/\w+\.lock", text):
        assert (ROOT / lock).exists()


def test_the_build_context_holds_the_package_alone():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    kept = [pattern.removeprefix("!") for pattern in patterns if pattern.startswith("!")]
    assert [pattern for pattern in kept if not list(ROOT.glob(pattern))] == []
    copied = [path for pattern in kept for path in ROOT.glob(pattern)]
    files = [file for path in copied for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    files = [file for file in files if "__pycache__" not in file.parts]
    assert sum(file.stat().st_size for file in files) < 40e6
    assert {"data", "tests", ".git", "bert_output"}.isdisjoint(kept)


def words_of_commands() -> dict[str, list[str]]:
    """Return the words of each bert-serve command in deploy/, by file."""
    unit = re.search(
        r"^ExecStart=\S+/bert-serve (.*)$", (DEPLOY / "bert-serve.service").read_text("utf-8"), re.MULTILINE
    )
    image = re.search(r'^CMD \["(.*)"\]$', (DEPLOY / "Dockerfile.serve").read_text("utf-8"), re.MULTILINE)
    return {
        "bert-serve.service": unit[1].split(),
        "serve.yaml": pod("serve.yaml")["containers"][0]["args"],
        "Dockerfile.serve": image[1].split('", "'),
    }


@pytest.mark.parametrize("name", words_of_commands())
def test_the_flags_in_deploy_exist(name):
    assert "bert-serve" in COMMANDS
    assert parse(docs_pages.settings_of("bert-serve"), words_of_commands()[name])


@pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="needs systemd-analyze, which no package of Python brings"
)
def test_the_unit_is_sandboxed():
    """systemd-analyze rates the exposure of a unit from 0 to 10."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", DEPLOY / "bert-serve.service"]
    rating = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert float(re.search(r"exposure level for bert-serve.service: ([\d.]+)", rating)[1]) < 3
