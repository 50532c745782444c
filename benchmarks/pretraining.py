"""Training speed of bert-pretrain: sequences per second on a text, for each precision in turn.

    python benchmarks/pretraining.py --input_file TEXT --vocab_file VOCAB --bert_config_file CONFIG

The rate is that of the second half of the steps, which leaves compiling out. Run nothing else on the machine meanwhile.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("input_file", "vocab_file", "bert_config_file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--precisions", default="float32,bfloat16")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32, help="sequences in a step")
    parser.add_argument("--flags", default="", help="further flags for bert-pretrain, with blanks between")
    return parser.parse_args()


def sequences_per_second(settings: argparse.Namespace, precision: str) -> float:
    with tempfile.TemporaryDirectory() as output_dir:
        command = [sys.executable, "-m", "bert_cli.run_pretraining", "--do_train", f"--output_dir={output_dir}"]
        command += [f"--{name}={getattr(settings, name)}" for name in ("input_file", "vocab_file", "bert_config_file")]
        command += [f"--precision={precision}", f"--num_train_steps={settings.steps}", "--num_warmup_steps=1"]
        command += ["--log_steps=1", f"--train_batch_size={settings.batch}", *settings.flags.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    rates = [float(rate) for rate in re.findall(r"training \d+/.*examples/s ([\d.]+)", done.stderr)]
    # Each line has the mean rate since the second step: from two of them comes that of the steps between.
    half = len(rates) // 2
    seconds = [settings.batch * count / rate for count, rate in ((half, rates[half]), (len(rates) - 1, rates[-1]))]
    return settings.batch * (len(rates) - 1 - half) / (seconds[1] - seconds[0])


def main() -> None:
    settings = parse_arguments()
    rates = {precision: [] for precision in settings.precisions.split(",")}
    for _ in range(settings.rounds):
        for precision, found in rates.items():
            found.append(sequences_per_second(settings, precision))
            print(f"{precision}: {found[-1]:.1f} sequences/s", flush=True)
    for precision, found in rates.items():
        print(f"median {precision}: {statistics.median(found):.1f} sequences/s")


if __name__ == "__main__":
    main()
