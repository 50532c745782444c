"""Two distributions of the package: bert_cli, and, from the directory light/, bert_cli_light without TensorFlow.

The name in pyproject.toml next to this file, or to the link to it, decides which one is built. Both have the same
modules and commands. Extras can only add dependencies, so a server without TensorFlow needs a distribution.
"""

import pathlib
import re
import tomllib

from setuptools import find_packages, setup

ROOT = pathlib.Path(__file__).parent
NAME = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
FULL, LIGHT = "bert_cli", "bert_cli_light"
EXCEL = "python-calamine>=0.4"
PARQUET = "pyarrow>=17"
# Earlier ones cannot compute com.microsoft.MultiHeadAttention. A later year may send data again, as 2026 began to.
OPENVINO = "openvino>=2026.3,<2027"
SERVE = ["starlette>=0.46", "uvicorn>=0.34", "httptools>=0.6", "uvloop>=0.21", "prometheus_client>=0.21"]
OTEL = ["opentelemetry-sdk>=1.44", "opentelemetry-exporter-otlp-proto-http>=1.44"]
HUB = "huggingface_hub>=1.1"  # the first one that tells sizes before a download (dry_run)
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "bert_cli/__init__.py").read_text(encoding="utf-8"))[1]
DESCRIPTION = {
    FULL: "Google's 2018 BERT workflow on today's TensorFlow: same flags, same files, same numbers",
    LIGHT: "Serve, convert and tokenize BERT models without TensorFlow: bert_cli with fewer dependencies",
}
# Dependencies of both distributions: tokenizing, converting, and predicting on onnxruntime.
COMMON = [
    "absl-py>=2.1",
    "numpy>=1.26,<3",
    "safetensors>=0.5",  # Hugging Face weights, without pickles
    "h5py>=3.11",  # Keras weights
    "ml_dtypes>=0.5",  # bfloat16 for NumPy
    "google-crc32c>=1.6",  # checksums of TFRecord files, by the processor's own instruction; 1.5 imports pkg_resources
    "rich>=13.7",  # progress and tables
    "jinja2>=3.1",  # its tables and texts, escaped
    "onnx>=1.17",  # graphs for onnxruntime, and files of bert-export
    # Answers new texts in a second, in which TensorFlow is not yet imported; 110 MB. A minor version began to send
    # telemetry, so the tests check a new one for connections before this bound moves.
    "onnxruntime>=1.20,<1.33",
]
REQUIRED = {
    FULL: [
        *COMMON,
        "tensorflow>=2.21,<2.22",  # Keras 3; the versions below belong to this one
        "tensorflow-text>=2.21.1,<2.22",  # 2.21.0 cannot be imported
        "tensorflow-hub>=0.16.1,<0.17",
        "setuptools>=68,<81",  # tensorflow-hub 0.16 imports pkg_resources, gone in 82; from 68 on as in pyproject.toml
        "pandas>=2.2.1,<4",  # 2.2.0 warns, when it is imported, that it lacks pyarrow
        "scikit-learn>=1.5",  # metrics
        "scipy>=1.13",  # the truncated normal of new embedding rows
        # The plots of report.html, which each training run writes: SVG, so no script in the page. Earlier versions use
        # names that pyparsing 3.3 deprecates.
        "matplotlib>=3.10.7",
    ],
    LIGHT: [*COMMON, *SERVE],
}
EXTRAS = {
    FULL: {
        "gpu": ["tensorflow[and-cuda]>=2.21,<2.22"],  # NVIDIA's libraries, 3 GB, for Linux
        "parquet": [PARQUET],
        "excel": [EXCEL],  # workbooks of Excel and LibreOffice, through pandas
        "beam": ["apache-beam>=2.77,<3"],  # bert-create-pretraining-data --runner; takes protobuf below 7
        # Engines that may hold a model in their workers, see docs/clusters.md.
        "spark": ["pyspark>=4,<5", PARQUET],  # needs Java 17
        "ray": ["ray[data]>=2.50,<3"],
        "tensorboard": ["tensorboard>=2.18"],  # to look at what --tensorboard writes, which needs no package
        # Experiment trackers for --report_to.
        "mlflow": ["mlflow>=2.16"],
        "wandb": ["wandb>=0.18"],
        "openvino": [OPENVINO],  # --engine=openvino, fast in bfloat16 on CPUs; 140 MB
        "hub": [HUB],  # --init_checkpoint=hf:owner/name, the only flag value that downloads a model
        "serve": SERVE,  # bert-serve
        "otel": OTEL,  # spans of its requests, if variables of OpenTelemetry name an exporter
        # The programs that `make benchmark` compares with, in an environment of their own or in this one.
        "benchmark": [
            "torch>=2.4",
            "transformers>=5",
            "accelerate>=1",
            "sentence-transformers>=5",
            OPENVINO,
            "ctranslate2>=4.5",
            "fastapi>=0.115",
        ],
        "dev": [
            "pytest>=9.1.1",  # caplog has the records of a logger that does not propagate them
            "pytest-xdist>=3.8",  # --no-loadscope-reorder, in the Makefile
            "pytest-timeout>=2.3",  # a test that waits for ever is named and ends, not the whole of CI
            "hypothesis>=6.140",  # earlier ones may warn of the random state of NumPy, in the middle of a test
            "ruff>=0.17",
            "mypy>=2",
            OPENVINO,  # an engine, in its tests
            EXCEL,
            PARQUET,
            "openpyxl>=3.1.5",  # writes the workbooks of the tests
            HUB,
            "openai>=2",  # a client of bert-serve, in its tests
            "nbconvert>=7.16",  # runs the notebook of docs/tutorials/, in a kernel
            "ipykernel>=6.29",
            "kubernetes-validate>=1.33",  # schemas for the manifests in deploy/
            "jsonschema>=4.20",  # checks answers of bert-serve against its openapi.json
            *SERVE,
            *OTEL,
        ],
    },
    LIGHT: {"hub": [HUB], "openvino": [OPENVINO], "otel": OTEL},
}

setup(
    name=NAME,
    version=VERSION,
    description=DESCRIPTION[NAME],
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    keywords=["BERT", "TensorFlow", "Keras", "text classification", "named entities", "SQuAD", "pre-training", "GLUE"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX",  # tensorflow-text has no wheels for Windows
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["bert_cli", "bert_cli.*"]),
    # Of every folder that is a package, the built-in model, and the templates of the report; a test finds what has no pattern.
    package_data={
        "": [
            "py.typed",
            "*.pyi",
            "*.txt",
            "*.tsv",
            "*.json",
            "*.md",
            "*.safetensors",
            "*.html",
            "*.css",
            "*.js",
            "*.svg",
        ],
        "bert_cli.builtin": ["pretrained/*"],
        "bert_cli.report": ["templates/*"],
        "bert_cli.serving.http": ["templates/*"],
    },
    # `pip install -e` puts a path file for the clone into site-packages, not an import hook, which Python asks last: in the
    # folder above a clone named bert_cli, the clone itself would be imported, as a package without modules.
    options={"editable_wheel": {"mode": "compat"}},
    install_requires=REQUIRED[NAME],
    extras_require=EXTRAS[NAME],
    entry_points={
        "console_scripts": [
            "bert = bert_cli.__main__:main",
            "bert-tokenize = bert_cli.tokenize_text:main",
            "bert-doctor = bert_cli.doctor:main",
            "bert-classify = bert_cli.run_classifier:main",
            "bert-create-pretraining-data = bert_cli.create_pretraining_data:main",
            "bert-pretrain = bert_cli.run_pretraining:main",
            "bert-build-vocab = bert_cli.build_vocab:main",
            "bert-fill-mask = bert_cli.fill_mask:main",
            "bert-squad = bert_cli.run_squad:main",
            "bert-train-vectors = bert_cli.run_vectors:main",
            "bert-extract-features = bert_cli.extract_features:main",
            "bert-tag = bert_cli.run_tagging:main",
            "bert-export = bert_cli.export_model:main",
            "bert-convert = bert_cli.convert_checkpoint:main",
            "bert-prepare = bert_cli.prepare_data:main",
            "bert-report = bert_cli.report_runs:main",
            "bert-serve = bert_cli.serve:main",
        ]
    },
)
