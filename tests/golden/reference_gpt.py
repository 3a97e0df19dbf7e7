# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""GPT-2/3 in plain PyTorch operations and double precision: what the C++ program is compared with.

Sizes: B samples of T tokens, width C, H heads of D = C / H, filter F, vocabulary V, L layers. Parameters are a dictionary from the names
that wsc gives them ("transformer_decoder/layers/0/norm1/weight") to tensors; weights of linear maps are (out, in).
"""
import math

import torch

NONLINEARITY = {
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: x.clamp(min=0),
}


def parameter_shapes(m):
    """Name -> shape, in the order of the forward pass. `m`: settings, named as in the [model] section of a deck."""
    C, F, V = m["hidden_size"], m["filter_size"], m["vocab_size"]
    shapes = {"embedding_layer/word_embeddings/weight": (V, C)}
    if m["position_embedding_type"] == "learned":
        shapes["embedding_layer/position_embeddings/weight"] = (m["max_position_embeddings"], C)

    def linear(name, out_size, in_size):
        shapes.update({f"{name}/weight": (out_size, in_size), f"{name}/bias": (out_size,)})

    def norm(name):
        shapes.update({f"{name}/weight": (C,), f"{name}/bias": (C,)})

    for layer in range(m["num_hidden_layers"]):
        path = f"transformer_decoder/layers/{layer}"
        norm(f"{path}/norm1")
        for projection in ("q", "k", "v", "output"):
            linear(f"{path}/self_attn/proj_{projection}_dense_layer", C, C)
        norm(f"{path}/norm3")
        linear(f"{path}/ffn/ffn/0/linear_layer", F, C)
        linear(f"{path}/ffn/ffn/1/linear_layer", C, F)
    norm("transformer_decoder/norm")
    if not m["share_embedding_weights"]:
        shapes["lm_head/weight"] = (V, C)
    return shapes


def layer_norm(p, name, x, epsilon):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + epsilon) * p[f"{name}/weight"] + p[f"{name}/bias"]


def linear(p, name, x):
    return x @ p[f"{name}/weight"].T + p[f"{name}/bias"]


def sinusoids(positions, C):
    """Vaswani et al. 2017, section 3.5: columns 2i and 2i + 1 are sin and cos of position / 10000^(2i / C). positions: any shape."""
    angle = positions.to(torch.float64)[..., None] / 10000.0 ** (torch.arange(0, C, 2, dtype=torch.float64) / C)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)


def attention_mask(T, span):
    """(B or 1, 1, T, T), true where query i sees key j: 0 <= i - j <= span[j]; without spans 0 <= i - j."""
    distance = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    seen = distance >= 0
    return seen[None, None] if span is None else (seen & (distance <= span[:, None, :]))[:, None]


def attention(q, k, v, H, seen):
    """softmax(q k^T / sqrt(D)) v per head, over the keys that are seen. q, k, v: (B, T, C)."""
    B, T, C = q.shape
    q, k, v = (x.reshape(B, T, H, C // H).transpose(1, 2) for x in (q, k, v))
    scores = (q @ k.transpose(-1, -2)) / math.sqrt(C // H)
    weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(B, T, C)


def logits(m, p, batch):
    """(B, T, V). batch: (B, 3, T) or (B, 5, T) integers, rows input_ids, loss mask, labels[, attention_span, position_ids]."""
    tokens, packed, T = batch[:, 0], batch.shape[1] == 5, batch.shape[2]
    positions = batch[:, 4] if packed else torch.arange(T)
    seen = attention_mask(T, batch[:, 3] if packed else None)
    epsilon = m["layer_norm_epsilon"]

    x = p["embedding_layer/word_embeddings/weight"][tokens]
    if m["position_embedding_type"] == "learned":
        x = x + p["embedding_layer/position_embeddings/weight"][positions]
    else:
        x = x + sinusoids(positions, m["hidden_size"]).to(x.dtype)
    for layer in range(m["num_hidden_layers"]):
        path = f"transformer_decoder/layers/{layer}"
        h = layer_norm(p, f"{path}/norm1", x, epsilon)
        q, k, v = (linear(p, f"{path}/self_attn/proj_{projection}_dense_layer", h) for projection in "qkv")
        h = attention(q, k, v, m["num_heads"], seen)
        x = x + linear(p, f"{path}/self_attn/proj_output_dense_layer", h)
        h = linear(p, f"{path}/ffn/ffn/0/linear_layer", layer_norm(p, f"{path}/norm3", x, epsilon))
        x = x + linear(p, f"{path}/ffn/ffn/1/linear_layer", NONLINEARITY[m["nonlinearity"]](h))
    x = layer_norm(p, "transformer_decoder/norm", x, epsilon)
    head = "embedding_layer/word_embeddings" if m["share_embedding_weights"] else "lm_head"
    return x @ p[f"{head}/weight"].T


def loss_of(logits_, batch):
    """Sum of the token losses where the mask is 1, divided by the number of these tokens in the whole batch."""
    mask = batch[:, 1].to(logits_.dtype)
    losses = logits_.logsumexp(-1) - logits_.gather(-1, batch[:, 2][..., None])[..., 0]
    return (losses * mask).sum() / mask.sum()


def loss_and_gradients(m, p, batch):
    """Loss, logits (B, T, V) and name -> gradient, all detached."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in p.items()}
    z = logits(m, leaves, batch)
    loss = loss_of(z, batch)
    loss.backward()
    return loss.detach(), z.detach(), {name: leaf.grad for name, leaf in leaves.items()}


def global_norm(gradients):
    return torch.sqrt(sum((g**2).sum() for g in gradients.values()))


def clip_factor(norm, max_norm):
    return min(1.0, max_norm / (float(norm) + 1e-6))


class PytorchAdamW:
    """torch.optim.AdamW itself: eps is added to sqrt(v / (1 - beta2^t))."""

    def __init__(self, p, o):
        self.parameters = {name: value.clone().requires_grad_() for name, value in p.items()}
        decayed = [x for x in self.parameters.values() if x.ndim >= 2]
        others = [x for x in self.parameters.values() if x.ndim < 2]
        groups = [{"params": decayed, "weight_decay": o["weight_decay_rate"]}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=o["learning_rate"], betas=(o["beta1"], o["beta2"]), eps=o["eps"])

    def step(self, gradients):
        for name, x in self.parameters.items():
            x.grad = gradients[name]
        self.optimizer.step()

    def values(self):
        return {name: x.detach() for name, x in self.parameters.items()}


class FormulaAdamW:
    """AdamW written out. eps_mode "cerebras": p -= lr (sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps) + decay p), so eps is added to
    the uncorrected sqrt(v). eps_mode "pytorch": the formula of PytorchAdamW, to check this class against it."""

    def __init__(self, p, o, eps_mode):
        self.o, self.eps_mode, self.t = o, eps_mode, 0
        self.p = {name: x.clone() for name, x in p.items()}
        self.m = {name: torch.zeros_like(x) for name, x in p.items()}
        self.v = {name: torch.zeros_like(x) for name, x in p.items()}

    def step(self, gradients):
        self.t += 1
        beta1, beta2, rate, eps = (self.o[key] for key in ("beta1", "beta2", "learning_rate", "eps"))
        correction1, correction2 = 1 - beta1**self.t, 1 - beta2**self.t
        for name, g in gradients.items():
            self.m[name] = beta1 * self.m[name] + (1 - beta1) * g
            self.v[name] = beta2 * self.v[name] + (1 - beta2) * g * g
            if self.eps_mode == "cerebras":
                update = math.sqrt(correction2) / correction1 * self.m[name] / (self.v[name].sqrt() + eps)
            else:
                update = self.m[name] / correction1 / ((self.v[name] / correction2).sqrt() + eps)
            decay = self.o["weight_decay_rate"] if g.ndim >= 2 else 0.0
            self.p[name] = self.p[name] - rate * (update + decay * self.p[name])

    def values(self):
        return self.p


def train(m, optimizer, batches, max_norm):
    """One step per batch, gradients clipped to `max_norm`. Returns each step's loss and unclipped norm, both before its update."""
    losses, norms = [], []
    for batch in batches:
        loss, _, gradients = loss_and_gradients(m, optimizer.values(), batch)
        norm = global_norm(gradients)
        factor = clip_factor(norm, max_norm)
        optimizer.step({name: g * factor for name, g in gradients.items()})
        losses.append(float(loss))
        norms.append(float(norm))
    return losses, norms
