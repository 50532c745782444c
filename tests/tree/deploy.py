"""Images, manifests and the systemd unit in deploy/: fields that they need, checked without a cluster."""

import re
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import yaml

from bert_cli.base.errors import InputError
from bert_cli.flags.parser import parse
from tests import docs_pages
from tests.house_figures import Checkout

# Dockerfile -> lines in its first stage: the locked packages, and the distribution without further ones.
DOCKERFILES = {
    "deploy/Dockerfile": ("pip install --require-hashes -r /src/gpu.lock", "pip install --no-deps /src "),
    "deploy/Dockerfile.serve": ("pip install --require-hashes -r /src/serve.lock", "pip install --no-deps /src/light "),
}
SERVER_FILE, JOB_FILE, UNIT, SERVER_IMAGE = (
    "deploy/serve.yaml", "deploy/kubernetes.yaml", "deploy/bert-serve.service", "deploy/Dockerfile.serve",
)  # fmt: skip
MANIFESTS = (SERVER_FILE, JOB_FILE)
AUTOSCALER = "HorizontalPodAutoscaler"
METRICS = "docs/serving.md"
KUBERNETES = "1.33"
VOLUMES = {"persistentVolumeClaim", "secret", "emptyDir"}
RESTRICTED = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
LEAST_DELAY = 5  # seconds that a load balancer needs to notice a server's end
MOST_CONTEXT_BYTES = 40_000_000
NOT_IN_THE_CONTEXT = ("data", "tests", ".git", "bert_output")


def documents(checkout: Checkout, path: str) -> dict[str, Any]:
    """Return a manifest's objects by kind."""
    return {document["kind"]: document for document in yaml.safe_load_all(checkout.text(path))}


def workload(checkout: Checkout, path: str) -> dict[str, Any]:
    """Return a manifest's Deployment or Job."""
    objects = documents(checkout, path)
    return next(objects[kind]["spec"] for kind in ("Deployment", "Job") if kind in objects)


def schemas(checkout: Checkout) -> Iterator[str]:
    """Yield objects that do not follow the schema of Kubernetes."""
    for path in MANIFESTS:
        for kind, document in documents(checkout, path).items():
            try:
                kubernetes_validate.validate(document, KUBERNETES, strict=True)
            except kubernetes_validate.ValidationError as error:
                field = ".".join(map(str, error.path))
                yield f"{checkout.place(path, f'kind: {kind}')}: {kind}.{field}: {error.message}: see the schema"


def pods(checkout: Checkout) -> Iterator[str]:
    """Yield pods beyond the Pod Security Standard "restricted", or with a root file system to write to."""
    for path in MANIFESTS:
        spec = workload(checkout, path)["template"]["spec"]
        context = spec.get("securityContext", {})
        if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
            yield f"{checkout.place(path, 'securityContext')}: the pod may run as root: set runAsNonRoot and runAsUser"
        if context.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{checkout.place(path, 'seccompProfile')}: seccompProfile should be RuntimeDefault: set it"
        for name in sorted({"hostNetwork", "hostPID", "hostIPC"} & spec.keys()):
            yield f"{checkout.place(path, name)}: {name} is not restricted: remove it"
        for volume in spec["volumes"]:
            if not volume.keys() - {"name"} <= VOLUMES:
                yield f"{checkout.place(path, volume['name'])}: a volume of another type: use one of {sorted(VOLUMES)}"
        for container in spec["containers"]:
            place = checkout.place(path, f"name: {container['name']}")
            if container.get("securityContext") != RESTRICTED:
                yield f"{place}: its securityContext should be {RESTRICTED}: set it"
            if not any(mount["mountPath"] == "/tmp" for mount in container["volumeMounts"]):
                yield f"{place}: nothing is mounted at /tmp, and the root file system is read-only: mount a volume"
            if not re.fullmatch(r"[\w-]+:\d+\.\d+\.\d+", container["image"]):
                yield f"{place}: the image {container['image']} has no version: name one"


def images(checkout: Checkout) -> Iterator[str]:
    """Yield images with other stages, with root as user, with unlocked packages, or with the repository in them."""
    for path, installations in DOCKERFILES.items():
        text = checkout.text(path)
        first, second, *rest = [*re.split(r"^FROM ", text, flags=re.MULTILINE)[1:], "", ""]
        if [stage.split("\n")[0] for stage in (first, second)] != ["${PYTHON} AS build", "${PYTHON}"] or any(rest):
            yield f"{checkout.place(path, 'FROM')}: its stages should be build and the image, both from PYTHON"
        if not re.search(r"^ARG PYTHON=python:3\.\d+-slim-\w+$", text, re.MULTILINE):
            yield f"{checkout.place(path, 'ARG PYTHON')}: PYTHON should be a slim image of Python 3: name one"
        for installation in installations:
            if f"RUN {installation}" not in first:
                yield f"{checkout.place(path, 'pip install')}: it should install locked packages, and ours: {installation}"
        if not re.search(r"^USER [1-9]\d*:[1-9]\d*$", second, re.MULTILINE):
            yield f"{checkout.place(path, 'USER')}: the image runs as root: set USER to numbers above 0"
        if "COPY . " in second:
            yield f"{checkout.place(path, 'COPY . ')}: the image has the build context: copy from the stage build"
        for lock in re.findall(r"requirements/\w+\.lock", text):
            if not (checkout.root / lock).exists():
                yield f"{checkout.place(path, lock)}: there is no {lock}: name a lock file"


def build_context(checkout: Checkout) -> Iterator[str]:
    """Yield a build context with more than the package and what it needs."""
    path = ".dockerignore"
    patterns = [line for line in checkout.text(path).split("\n") if line and not line.startswith("#")]
    if patterns[0] != "*":
        yield f"{checkout.place(path, patterns[0])}: the first pattern should be *: put it there"
    kept = [pattern.removeprefix("!") for pattern in patterns if pattern.startswith("!")]
    for pattern in kept:
        if pattern in NOT_IN_THE_CONTEXT:
            yield f"{checkout.place(path, f'!{pattern}')}: no image needs {pattern}: remove it"
        elif not list(checkout.root.glob(pattern)):
            yield f"{checkout.place(path, f'!{pattern}')}: there is no {pattern}: remove it"
    files = checkout.paths(*kept, *(f"{pattern}/**/*" for pattern in kept))
    size = sum((checkout.root / file).stat().st_size for file in files)
    if size >= MOST_CONTEXT_BYTES:
        yield f"{path}:1: the build context has {size} bytes, at most {MOST_CONTEXT_BYTES}: keep less"


def server_words(checkout: Checkout) -> dict[str, list[str]]:
    """Return the words in each file's bert-serve command."""
    unit = re.search(r"^ExecStart=\S+/bert-serve (.*)$", checkout.text(UNIT), re.MULTILINE)
    image = re.search(r'^CMD \["(.*)"\]$', checkout.text(SERVER_IMAGE), re.MULTILINE)
    return {
        UNIT: unit[1].split() if unit else [],
        SERVER_FILE: workload(checkout, SERVER_FILE)["template"]["spec"]["containers"][0]["args"],
        SERVER_IMAGE: image[1].split('", "') if image else [],
    }


def server_flags(checkout: Checkout) -> Iterator[str]:
    """Yield commands with flags that bert-serve refuses."""
    for path, words in server_words(checkout).items():
        try:
            parse(docs_pages.settings_of("bert-serve"), words)
        except InputError as error:
            yield f"{checkout.place(path, words[0])}: {error}: correct the flag"


def endings(checkout: Checkout) -> Iterator[str]:
    """Yield servers that are killed before their last requests have ended, and a Service without a spare pod."""
    spec, objects = workload(checkout, SERVER_FILE), documents(checkout, SERVER_FILE)
    pod = spec["template"]["spec"]
    timeout = re.search(r"^TimeoutStopSec=(\d+)$", checkout.text(UNIT), re.MULTILINE)
    limits = {UNIT: int(timeout[1]) if timeout else 0, SERVER_FILE: pod["terminationGracePeriodSeconds"]}
    for path, limit in limits.items():
        values, given_names = parse(docs_pages.settings_of("bert-serve"), server_words(checkout)[path])
        place = checkout.place(path, "shutdown_delay")
        if not {"shutdown_delay", "drain_seconds"} <= given_names or values["shutdown_delay"] < LEAST_DELAY:
            yield f"{place}: set --shutdown_delay to {LEAST_DELAY} or more, and --drain_seconds"
        elif limit <= values["shutdown_delay"] + values["drain_seconds"]:
            yield f"{place}: the server is killed after {limit} s, before it has ended: raise the limit"
    if pod.get("enableServiceLinks") is not False:
        reason = "variables of a Service bert-serve look like those of flags"
        yield f"{checkout.place(SERVER_FILE, 'enableServiceLinks')}: {reason}: set enableServiceLinks to false"
    if objects["PodDisruptionBudget"]["spec"]["minAvailable"] >= objects[AUTOSCALER]["spec"]["minReplicas"]:
        yield f"{checkout.place(SERVER_FILE, 'minAvailable')}: no pod may end: lower minAvailable or raise minReplicas"


def metrics_port(checkout: Checkout) -> Iterator[str]:
    """Yield a port for Prometheus that is not open; it has no key, which /metrics on the port for requests needs."""
    template = workload(checkout, SERVER_FILE)["template"]
    container = template["spec"]["containers"][0]
    values, _ = parse(docs_pages.settings_of("bert-serve"), container["args"])
    port, scraped = values["metrics_port"], template["metadata"]["annotations"]["prometheus.io/port"]
    if port not in [entry["containerPort"] for entry in container["ports"]] or scraped != str(port):
        place = checkout.place(SERVER_FILE, "prometheus.io/port")
        yield f"{place}: --metrics_port={port}, but Prometheus asks port {scraped}: open the same port"


def placement(checkout: Checkout) -> Iterator[str]:
    """Yield a Deployment without a spread over nodes and zones, and an autoscaler without a target or a metric."""
    spec, scaler = workload(checkout, SERVER_FILE), documents(checkout, SERVER_FILE)[AUTOSCALER]["spec"]
    labels = spec["selector"]["matchLabels"]
    spread = {
        constraint["topologyKey"]
        for constraint in spec["template"]["spec"].get("topologySpreadConstraints", [])
        if constraint["labelSelector"]["matchLabels"] == labels
    }
    for key in sorted({"kubernetes.io/hostname", "topology.kubernetes.io/zone"} - spread):
        yield f"{checkout.place(SERVER_FILE, 'kind: Deployment')}: pods share a {key}: add a topologySpreadConstraint"
    place = checkout.place(SERVER_FILE, f"kind: {AUTOSCALER}")
    target = documents(checkout, SERVER_FILE)["Deployment"]["metadata"]["name"]
    if (scaler["scaleTargetRef"]["kind"], scaler["scaleTargetRef"]["name"]) != ("Deployment", target):
        yield f"{place}: the autoscaler is for another object: name the Deployment {target}"
    if "replicas" in spec:
        yield f"{checkout.place(SERVER_FILE, 'replicas:')}: each kubectl apply would undo the autoscaler: remove replicas"
    for metric in scaler["metrics"]:
        if f"| `{metric['pods']['metric']['name']}` |" not in checkout.text(METRICS):
            yield f"{place}: the server has no metric {metric['pods']['metric']['name']}: name one of {METRICS}"


def network(checkout: Checkout) -> Iterator[str]:
    """Yield ports that the Service or the NetworkPolicy names and no container has, and open metrics."""
    spec, objects = workload(checkout, SERVER_FILE), documents(checkout, SERVER_FILE)
    ports = {entry["name"] for entry in spec["template"]["spec"]["containers"][0]["ports"]}
    place = checkout.place(SERVER_FILE, "kind: NetworkPolicy")
    policy = objects["NetworkPolicy"]["spec"]
    if policy["podSelector"]["matchLabels"] != spec["selector"]["matchLabels"]:
        yield f"{place}: the policy is for other pods: use the labels of the Deployment"
    allowed = {port["port"]: rule.get("from") for rule in policy["ingress"] for port in rule["ports"]}
    offered = {entry["targetPort"] for entry in objects["Service"]["spec"]["ports"]}
    for name in sorted((allowed.keys() | offered | ports) - (allowed.keys() & offered & ports)):
        yield f"{place}: the port {name} is not in the Deployment, the Service and the policy: add it"
    if not allowed.get("metrics", True):
        yield f"{place}: everybody may read the metrics, which need no key: name who may"
    if set(policy["policyTypes"]) != {"Ingress", "Egress"} or policy.get("egress") != []:
        yield f"{place}: the server may connect to others: forbid Egress"


CHECKS = (schemas, pods, images, build_context, server_flags, endings, metrics_port, placement, network)
