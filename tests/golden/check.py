#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the golden files beside this script; exit code 1 where something differs. For people, not part of the test suite.

Hash against README.md; loss and logits against numpy loops over samples and heads, and against transformers' GPT-2 where that is installed;
each gradient against a difference quotient along itself and along a random direction; the AdamW steps against PyTorch's optimizer, its
clipping, and the written-out formula, each by the way that did not make the file. Also shown: how far float32 PyTorch is
from the files, as a measure for float32 programs.
"""
import math
import sys
from pathlib import Path

import h5py
import numpy as np
import torch

import make_gpt2 as make
import reference_gpt as gpt

failures = 0


def report(what, error, limit):
    global failures
    good = error <= limit
    failures += not good
    print(f"  {'ok  ' if good else 'FAIL'} {what}: {error:.1e} (limit {limit:.0e})")


def relative(a, b):
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)) / max(np.linalg.norm(np.asarray(b)), 1e-300))


def read_parameters(group):
    values = {}
    group.visititems(lambda name, item: values.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return values


def read_settings(file):
    return {key: value.decode() if isinstance(value, bytes) else value.item() if hasattr(value, "item") else value
            for key, value in file.attrs.items()}


# ---- an independent forward pass ----------------------------------------------------------------------------------------------------


def numpy_norm(p, name, x, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + epsilon) * p[name + "/weight"] + p[name + "/bias"]


def numpy_activation(name, x):
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return x * np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))(x)
    return x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def numpy_sample(m, p, sample):
    """Logits (T, V) of one sample (3 or 5, T), query by query."""
    T, C, H = sample.shape[1], m["hidden_size"], m["num_heads"]
    spans, positions = (sample[3], sample[4]) if len(sample) == 5 else (np.full(T, T), np.arange(T))
    x = p["embedding_layer/word_embeddings/weight"][sample[0]]
    for t, position in enumerate(positions):
        if m["position_embedding_type"] == "learned":
            x[t] += p["embedding_layer/position_embeddings/weight"][position]
        else:
            for c in range(C):
                x[t, c] += (math.cos if c % 2 else math.sin)(position / 10000 ** (c // 2 * 2 / C))
    for layer in range(m["num_hidden_layers"]):
        path = f"transformer_decoder/layers/{layer}/"
        h = numpy_norm(p, path + "norm1", x, m["layer_norm_epsilon"])
        q, k, v = (h @ p[f"{path}self_attn/proj_{z}_dense_layer/weight"].T + p[f"{path}self_attn/proj_{z}_dense_layer/bias"] for z in "qkv")
        mixed = np.zeros_like(x)
        for head in np.array_split(np.arange(C), H):
            for i in range(T):
                seen = [j for j in range(i + 1) if i - j <= spans[j]]
                weights = np.exp(k[seen][:, head] @ q[i, head] / math.sqrt(C / H))
                mixed[i, head] = weights @ v[seen][:, head] / weights.sum()
        x = x + mixed @ p[path + "self_attn/proj_output_dense_layer/weight"].T + p[path + "self_attn/proj_output_dense_layer/bias"]
        h = numpy_norm(p, path + "norm3", x, m["layer_norm_epsilon"])
        h = numpy_activation(m["nonlinearity"], h @ p[path + "ffn/ffn/0/linear_layer/weight"].T + p[path + "ffn/ffn/0/linear_layer/bias"])
        x = x + h @ p[path + "ffn/ffn/1/linear_layer/weight"].T + p[path + "ffn/ffn/1/linear_layer/bias"]
    x = numpy_norm(p, "transformer_decoder/norm", x, m["layer_norm_epsilon"])
    return x @ p.get("lm_head/weight", p["embedding_layer/word_embeddings/weight"]).T


def numpy_loss(z, batch):
    """Mean token loss over the positions whose mask is 1."""
    losses = [-math.log(np.exp(z[b, t] - z[b, t, batch[b, 2, t]]).sum() ** -1) for b, t in zip(*np.nonzero(batch[:, 1]))]
    return sum(losses) / len(losses)


# ---- the checks ---------------------------------------------------------------------------------------------------------------------


def check_forward(file, m, p, batch):
    z = np.stack([numpy_sample(m, p, sample) for sample in batch])
    report("logits, numpy", relative(file["expected/logits"], z), 1e-13)
    report("loss, numpy", relative(file["expected/loss"], numpy_loss(z, batch)), 1e-13)


def check_gradients(file, m, p, batch, gradients):
    """Central differences in double precision: error about step^2, and 1e-16 / step of rounding."""
    tensors, data = {name: torch.from_numpy(x) for name, x in p.items()}, torch.from_numpy(batch).long()
    rng, step, worst = np.random.default_rng(0), 1e-5, 0.0
    scale = float(file["expected/grad_norm"][()])
    for name, g in gradients.items():
        for direction in (g, rng.normal(size=g.shape)):
            direction = direction / max(np.linalg.norm(direction), 1e-12)
            sides = [float(gpt.loss_of(gpt.logits(m, tensors | {name: tensors[name] + s * step * torch.from_numpy(direction)}, data), data))
                     for s in (1, -1)]
            worst = max(worst, abs((sides[0] - sides[1]) / (2 * step) - (g * direction).sum()) / scale)
    report("gradients, difference quotients (worst, of the global norm)", worst, 1e-8)
    report("gradient norm", relative(scale, np.linalg.norm(np.concatenate([g.ravel() for g in gradients.values()]))), 1e-14)


class MovingEpsAdamW(gpt.PytorchAdamW):
    """eps_mode cerebras out of PyTorch's optimizer: eps / sqrt(1 - beta2^t) added to the corrected root is eps added to the uncorrected."""

    def __init__(self, p, o):
        super().__init__(p, o)
        self.o, self.t = o, 0

    def step(self, gradients):
        self.t += 1
        for group in self.optimizer.param_groups:
            group["eps"] = self.o["eps"] / math.sqrt(1 - self.o["beta2"] ** self.t)
        super().step(gradients)


def check_training(file, m, p):
    o = {key: m[key] for key in make.OPTIMIZER}
    batches = torch.from_numpy(file["adamw/batches"][()]).long()
    start = {name: torch.from_numpy(x) for name, x in p.items()}
    runs = {"pytorch": gpt.FormulaAdamW(start, o, "pytorch"), "cerebras": MovingEpsAdamW(start, o)}
    for mode, optimizer in runs.items():
        losses, norms = gpt.train(m, optimizer, batches, o["max_gradient_norm"])
        final = read_parameters(file[f"adamw/{mode}/final"])
        report(f"AdamW {mode}, another way: losses", relative(file[f"adamw/{mode}/losses"], losses), 1e-12)
        report(f"AdamW {mode}, another way: norms", relative(file[f"adamw/{mode}/grad_norms"], norms), 1e-11)
        report(f"AdamW {mode}, another way: weights", max(relative(final[name], x) for name, x in optimizer.values().items()), 1e-11)
        report(f"AdamW {mode}: steps not clipped", sum(norm <= o["max_gradient_norm"] for norm in norms), 0)
    difference = relative(file["adamw/cerebras/losses"], file["adamw/pytorch/losses"])
    report("AdamW: 1e-3 / difference of the losses of the two modes", 1e-3 / difference, 1)
    gradients = gpt.loss_and_gradients(m, start, batches[0])[2]
    leaves = [torch.zeros_like(g).requires_grad_() for g in gradients.values()]
    for leaf, g in zip(leaves, gradients.values()):
        leaf.grad = g.clone()
    norm = torch.nn.utils.clip_grad_norm_(leaves, o["max_gradient_norm"])
    ours = [g * gpt.clip_factor(norm, o["max_gradient_norm"]) for g in gradients.values()]
    report("clipping, torch", max(relative(leaf.grad, g) for leaf, g in zip(leaves, ours)), 1e-13)


def check_transformers(file, m, p, batch):
    """Hugging Face's GPT-2, where it knows the model: learned positions, tied head, no packing."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        print("  --   transformers is not installed")
        return
    if m["position_embedding_type"] != "learned" or not m["share_embedding_weights"] or batch.shape[1] != 3:
        return
    config = GPT2Config(vocab_size=m["vocab_size"], n_positions=m["max_position_embeddings"], n_embd=m["hidden_size"],
                        n_layer=m["num_hidden_layers"], n_head=m["num_heads"], n_inner=m["filter_size"],
                        activation_function={"gelu": "gelu", "gelu_tanh": "gelu_new"}[m["nonlinearity"]],
                        layer_norm_epsilon=m["layer_norm_epsilon"], resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                        bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config).double().eval()
    names = {"embedding_layer/word_embeddings": "wte", "embedding_layer/position_embeddings": "wpe", "transformer_decoder/norm": "ln_f"}
    for n in range(m["num_hidden_layers"]):
        names |= {f"transformer_decoder/layers/{n}/{ours}": f"h.{n}.{theirs}" for ours, theirs in (
            ("norm1", "ln_1"), ("self_attn/proj_output_dense_layer", "attn.c_proj"), ("norm3", "ln_2"),
            ("ffn/ffn/0/linear_layer", "mlp.c_fc"), ("ffn/ffn/1/linear_layer", "mlp.c_proj"))}
    state = {}
    for ours, theirs in names.items():
        for part in ("weight", "bias"):
            if f"{ours}/{part}" in p:
                value = p[f"{ours}/{part}"]
                state[f"transformer.{theirs}.{part}"] = value.T if part == "weight" and ".c_" in theirs else value
    for n in range(m["num_hidden_layers"]):
        for part in ("weight", "bias"):
            rows = np.concatenate([p[f"transformer_decoder/layers/{n}/self_attn/proj_{x}_dense_layer/{part}"] for x in "qkv"])
            state[f"transformer.h.{n}.attn.c_attn.{part}"] = rows.T
    state["lm_head.weight"] = state["transformer.wte.weight"]
    model.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in state.items()})
    with torch.no_grad():
        z = model(torch.from_numpy(batch[:, 0]).long()).logits
    report("logits, transformers", relative(file["expected/logits"], z), 1e-12)


def show_float32(file, m, weights, batch, gradients):
    p = {name: torch.from_numpy(x) for name, x in weights.items()}
    loss, z, g = gpt.loss_and_gradients(m, p, torch.from_numpy(batch).long())
    key_biases = [name for name in g if name.endswith("proj_k_dense_layer/bias")]
    worst = max(relative(g[name], gradients[name]) for name in g if name not in key_biases)
    key = max(np.linalg.norm(g[name].numpy() - gradients[name]) / np.linalg.norm(gradients[name[:-4] + "weight"]) for name in key_biases)
    print(f"  float32 PyTorch: loss {relative(loss, file['expected/loss']):.0e}, logits {relative(z, file['expected/logits']):.0e}, "
          f"gradients {worst:.0e}, key bias {key:.0e} of the key weights' gradient")


def main():
    torch.set_num_threads(1)
    readme = (make.FOLDER / "README.md").read_text()
    for name in make.FILES:
        print(name)
        path = make.FOLDER / name
        report("hash in README.md", 0 if f"{make.sha256(path)}  {name}\n" in readme else 1, 0)
        with h5py.File(path) as file:
            m, batch, weights, gradients = (read_settings(file), file["batch/data"][()], read_parameters(file["model"]),
                                            read_parameters(file["gradients"]))
            p = {key: value.astype(np.float64) for key, value in weights.items()}
            report("parameters missing or too many", len(set(p) ^ set(gpt.parameter_shapes(m))) + len(set(gradients) ^ set(p)), 0)
            check_forward(file, m, p, batch)
            check_transformers(file, m, p, batch)
            check_gradients(file, m, p, batch, gradients)
            if "adamw" in file:
                check_training(file, m, p)
            show_float32(file, m, weights, batch, gradients)
    print("all checks passed" if failures == 0 else f"{failures} checks failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
