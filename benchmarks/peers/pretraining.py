"""Training loop for Hugging Face's BertForMaskedLM on random tokens, with SDPA attention.

    pretraining.py CONFIG --batch 32 --length 128 --predictions 20 --steps 20 [--bf16] [--device cuda] [--compile]

--bf16 uses autocast. The loss is computed at masked positions only, as in Google's code. Prints a
JSON object: sequences per second, without the first two steps.
"""

import argparse
import contextlib
import json
import statistics
import time

import torch
from transformers import BertConfig, BertForMaskedLM


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    for name in ("batch", "length", "predictions", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--device", default="cpu")
    for name in ("bf16", "compile"):
        parser.add_argument(f"--{name}", action="store_true")
    settings = parser.parse_args()
    torch.manual_seed(1)
    torch.set_default_device(settings.device)
    wait = torch.cuda.synchronize if settings.device == "cuda" else lambda: None
    config = BertConfig.from_json_file(settings.config)
    config._attn_implementation = "sdpa"
    model = BertForMaskedLM(config)
    bert = torch.compile(model.bert) if settings.compile else model.bert
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    autocast = torch.autocast(settings.device, torch.bfloat16) if settings.bf16 else contextlib.nullcontext()
    times = []
    for _ in range(settings.steps):
        ids = torch.randint(0, config.vocab_size, (settings.batch, settings.length))
        positions = torch.rand(settings.batch, settings.length).topk(settings.predictions).indices
        wait()
        start = time.perf_counter()
        with autocast:
            states = bert(ids).last_hidden_state
            masked_states = states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[2]))
            logits = model.cls(masked_states)
            labels = ids.gather(1, positions).flatten()
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        wait()
        times.append(time.perf_counter() - start)
    print(json.dumps({"sequences": settings.batch / statistics.median(times[2:])}))


if __name__ == "__main__":
    main()
