"""Files in deploy/: each check reports a change in a copy of the checkout, with its file and line."""

import pytest

from tests.tree.deploy import (
    JOB_FILE,
    SERVER_FILE,
    SERVER_IMAGE,
    UNIT,
    build_context,
    endings,
    images,
    metrics_port,
    network,
    placement,
    pods,
    schemas,
    server_flags,
)

IGNORED = ".dockerignore"


@pytest.mark.parametrize(
    ("check", "path", "before", "after", "problem"),
    [
        (schemas, SERVER_FILE, "minReplicas: 2", "leastReplicas: 2", "HorizontalPodAutoscaler.spec"),
        (schemas, SERVER_FILE, "whenUnsatisfiable: ScheduleAnyway", "whenUnsatisfied: Never", "Deployment.spec"),
        (schemas, SERVER_FILE, "policyTypes: [", "policies: [", "NetworkPolicy.spec"),
        (pods, JOB_FILE, "runAsNonRoot: true", "runAsNonRoot: false", "the pod may run as root"),
        (pods, SERVER_FILE, "RuntimeDefault", "Unconfined", "seccompProfile should be RuntimeDefault"),
        (pods, SERVER_FILE, "enableServiceLinks: false", "hostPID: true", "hostPID is not restricted"),
        (pods, SERVER_FILE, "emptyDir:", "hostPath:", "a volume of another type"),
        (pods, SERVER_FILE, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "its securityContext"),
        (pods, SERVER_FILE, "mountPath: /tmp", "mountPath: /temp", "nothing is mounted at /tmp"),
        (pods, SERVER_FILE, "image: bert-serve:0", "image: bert-serve:latest-0", "has no version"),
        (images, SERVER_IMAGE, "AS build", "AS first", "its stages should be"),
        (images, SERVER_IMAGE, "python:3.12-slim-bookworm", "python:3.12", "PYTHON should be a slim image"),
        (images, SERVER_IMAGE, "--require-hashes ", "", "it should install locked packages"),
        (images, SERVER_IMAGE, "/src/light", "/src", "it should install locked packages, and ours: pip install --no-deps"),
        (images, SERVER_IMAGE, "r /src/serve.lock", "r /src/all.lock", "it should install locked packages"),
        (images, SERVER_IMAGE, "USER 65534:65534", "USER 0:0", "the image runs as root"),
        (images, SERVER_IMAGE, "COPY --from=build /opt/venv", "COPY . ", "the image has the build context"),
        (images, SERVER_IMAGE, "requirements/serve.lock", "requirements/served.lock", "there is no"),
        (build_context, IGNORED, "*\n", "docs\n*\n", "the first pattern should be *"),
        (build_context, IGNORED, "!LICENSE", "!data", "no image needs data"),
        (build_context, IGNORED, "!LICENSE", "!LICENCE", "there is no LICENCE"),
        (server_flags, UNIT, "--watch", "--watches", "watches"),
        (server_flags, SERVER_IMAGE, "--output_dir", "--output_dirs", "output_dirs"),
        (endings, UNIT, "TimeoutStopSec=40", "TimeoutStopSec=35", "the server is killed after 35 s"),
        (endings, UNIT, "--shutdown_delay=5 ", "", "set --shutdown_delay"),
        (endings, SERVER_FILE, "Seconds: 45", "Seconds: 5", "the server is killed after 5 s"),
        (endings, SERVER_FILE, "enableServiceLinks: false", "enableServiceLinks: true", "look like those of flags"),
        (endings, SERVER_FILE, "minAvailable: 1", "minAvailable: 2", "no pod may end"),
        (metrics_port, SERVER_FILE, 'prometheus.io/port: "9000"', 'prometheus.io/port: "8000"', "Prometheus asks port 8000"),
        (placement, SERVER_FILE, "kubernetes.io/hostname", "rack", "pods share a kubernetes.io/hostname"),
        (placement, SERVER_FILE, "  # The autoscaler sets", "  replicas: 2\n  #", "would undo the autoscaler"),
        (placement, SERVER_FILE, "    name: bert-serve\n  minReplicas", "    name: other\n  minReplicas", "for another object"),
        (placement, SERVER_FILE, "name: bert_waiting_texts", "name: bert_waiting", "no metric bert_waiting"),
        (network, SERVER_FILE, "targetPort: metrics", "targetPort: other", "the port other is not in"),
        (network, SERVER_FILE, "        - port: metrics", "        - port: others", "the port others is not in"),
        (network, SERVER_FILE, "egress: []", "egress: [{}]", "the server may connect to others"),
    ],
)  # fmt: skip
def test_a_change_is_reported(check, path, before, after, problem, changed_tree):
    messages = [message for message in check(changed_tree(path, before, after)) if problem in message]
    assert messages
    assert all(message.startswith(f"{path}:") for message in messages)


def test_the_build_context_is_small(changed_tree):
    checkout = changed_tree(IGNORED, "*\n", "*\n")
    with open(checkout.root / "LICENSE", "wb") as file:
        file.truncate(40_000_000)  # takes no space
    assert any("40" in message for message in build_context(checkout) if message.startswith(f"{IGNORED}:1: the build"))
