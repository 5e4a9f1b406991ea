# SPDX-License-Identifier: Apache-2.0
"""A vision-language model shaped like DeepSeek-OCR as a plain torch module: image encoder (windowed SAM, 16x compressor, CLIP),
projector, mixture-of-experts decoder. See conf/deepseek_ocr.yaml for what is left out."""
import torch
from torch import nn
from torch.nn import functional

from .config import DTYPES
from .workload import Stage, Workload


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)


class VisionAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        out = functional.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).reshape(batch, length, width))


class VisionMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x)))


class VisionBlock(nn.Module):
    """`window` 0: attention over all tokens; else over squares of that many tokens, padded."""

    def __init__(self, width, heads, hidden, window=0):
        super().__init__()
        self.window = window
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = VisionAttention(width, heads), VisionMlp(width, hidden)

    def forward(self, x):
        x = x + self._attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))

    def _attend(self, x):
        if not self.window:
            return self.attn(x)
        batch, length, width = x.shape
        side, window = int(length ** 0.5), self.window
        padded = -(-side // window) * window
        n = padded // window
        x = functional.pad(x.view(batch, side, side, width), (0, 0, 0, padded - side, 0, padded - side))
        x = x.view(batch, n, window, n, window, width).transpose(2, 3).reshape(batch * n * n, window * window, width)
        x = self.attn(x).view(batch, n, n, window, window, width).transpose(2, 3)
        return x.reshape(batch, padded, padded, width)[:, :side, :side].reshape(batch, length, width)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2).contiguous()


class ImageEncoder(nn.Module):
    def __init__(self, a):
        super().__init__()
        width, side = a["sam_width"], a["image_size"] // a["patch_size"]
        self.side = side
        self.patch = nn.Conv2d(3, width, a["patch_size"], stride=a["patch_size"])
        self.sam_pos = nn.Parameter(torch.zeros(1, side * side, width))
        self.sam = nn.ModuleList([VisionBlock(width, a["sam_heads"], 4 * width, 0 if i in a["sam_global_layers"] else a["sam_window"])
                                  for i in range(a["sam_layers"])])
        neck, (first, second) = a["neck_width"], a["compressor_widths"]
        self.neck = nn.Sequential(nn.Conv2d(width, neck, 1, bias=False), ChannelNorm(neck), nn.Conv2d(neck, neck, 3, padding=1, bias=False),
                                  ChannelNorm(neck))
        self.compressor = nn.Sequential(nn.Conv2d(neck, first, 3, stride=2, padding=1, bias=False),
                                        nn.Conv2d(first, second, 3, stride=2, padding=1, bias=False))
        clip = a["clip_width"]
        if second != clip:
            raise ValueError("the last of compressor_widths must be clip_width")
        self.clip_cls = nn.Parameter(torch.zeros(1, 1, clip))
        self.clip_pos = nn.Parameter(torch.zeros(1, (side // 4) ** 2 + 1, clip))
        self.clip_norm = nn.LayerNorm(clip)
        self.clip = nn.ModuleList([VisionBlock(clip, a["clip_heads"], a["clip_ff"]) for _ in range(a["clip_layers"])])

    def forward(self, pixels):
        x = self.patch(pixels).flatten(2).transpose(1, 2) + self.sam_pos
        for block in self.sam:
            x = block(x)
        x = x.transpose(1, 2).reshape(x.shape[0], -1, self.side, self.side)
        local = self.compressor(self.neck(x)).flatten(2).transpose(1, 2)
        x = torch.cat([self.clip_cls.expand(local.shape[0], -1, -1), local], dim=1) + self.clip_pos
        x = self.clip_norm(x)
        for block in self.clip:
            x = block(x)
        return torch.cat([x[:, 1:], local], dim=-1)


class DecoderAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_width = heads, width // heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(4))

    def _rotate(self, x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-second, first), dim=-1) * sin

    def forward(self, x, cos, sin, cache):
        batch, length, width = x.shape
        q, k, v = (p(x).view(batch, length, self.heads, self.head_width).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self._rotate(q, cos, sin), self._rotate(k, cos, sin)
        if cache:
            k, v = torch.cat([cache["k"], k], dim=2), torch.cat([cache["v"], v], dim=2)
        cache["k"], cache["v"] = k, v
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, width))


class GatedMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Experts(nn.Module):
    """All routed experts: tokens sorted by expert, one product per expert."""

    def __init__(self, width, hidden, experts, active):
        super().__init__()
        self.active = active
        self.router = nn.Linear(width, experts, bias=False)
        self.gate_up = nn.Parameter(torch.empty(experts, 2 * hidden, width).normal_(0, 0.02))
        self.down = nn.Parameter(torch.empty(experts, width, hidden).normal_(0, 0.02))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weight, chosen = self.router(flat).float().softmax(-1).topk(self.active, dim=-1)
        order = chosen.flatten().argsort(stable=True)
        token = order // self.active
        rows = flat[token]
        counts = torch.bincount(chosen.flatten(), minlength=self.gate_up.shape[0]).tolist()
        parts = []
        for expert, part in enumerate(rows.split(counts)):
            if part.shape[0]:
                gate, up = functional.linear(part, self.gate_up[expert]).chunk(2, dim=-1)
                parts.append(functional.linear(functional.silu(gate) * up, self.down[expert]))
        scaled = torch.cat(parts) * weight.flatten()[order, None].to(x.dtype)
        return torch.zeros_like(flat).index_add_(0, token, scaled).view_as(x)


class DecoderLayer(nn.Module):
    def __init__(self, a, index):
        super().__init__()
        width = a["hidden_size"]
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(width), RmsNorm(width)
        self.self_attn = DecoderAttention(width, a["num_attention_heads"])
        self.dense = index < a["first_dense_layers"]
        if self.dense:
            self.mlp = GatedMlp(width, a["intermediate_size"])
        else:
            self.experts = Experts(width, a["moe_intermediate_size"], a["n_routed_experts"], a["num_experts_per_tok"])
            self.shared_experts = GatedMlp(width, a["n_shared_experts"] * a["moe_intermediate_size"])

    def forward(self, x, cos, sin, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, cache)
        h = self.post_attention_layernorm(x)
        return x + (self.mlp(h) if self.dense else self.experts(h) + self.shared_experts(h))


class Decoder(nn.Module):
    def __init__(self, a):
        super().__init__()
        width = a["hidden_size"]
        self.head_width = width // a["num_attention_heads"]
        self.embed_tokens = nn.Embedding(a["vocab_size"], width)
        self.layers = nn.ModuleList([DecoderLayer(a, i) for i in range(a["num_hidden_layers"])])
        self.norm = RmsNorm(width)
        self.lm_head = nn.Linear(width, a["vocab_size"], bias=False)

    def _angles(self, start, length, like):
        inverse = 10000.0 ** (-torch.arange(0, self.head_width, 2, device=like.device, dtype=torch.float32) / self.head_width)
        angles = torch.arange(start, start + length, device=like.device, dtype=torch.float32)[:, None] * inverse[None]
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)

    def forward(self, tokens, image, caches):
        x = self.embed_tokens(tokens)
        if image is not None:
            x = torch.cat([image, x], dim=1)
        start = caches[0]["k"].shape[2] if caches[0] else 0
        cos, sin = self._angles(start, x.shape[1], x)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cos, sin, cache)
        return self.lm_head(self.norm(x[:, -1:]))


class VisionLanguageModel(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.vision = ImageEncoder(a)
        self.projector = nn.Linear(2 * a["clip_width"], a["hidden_size"])
        self.decoder = Decoder(a)

    def forward(self, tokens, caches, pixels=None, scope=None, data=None):
        """`scope(label, data)` labels the work on the image; without pixels only the decoder runs."""
        if pixels is None:
            return self.decoder(tokens, None, caches)
        with scope("LLM@prefill::vision", data):
            image = self.projector(self.vision(pixels))
        return self.decoder(tokens, image, caches)


def make(config, device):
    """The module alone; device "meta" gives its sizes without memory."""
    with torch.device(device):
        return VisionLanguageModel(config["model"]["args"]).to(getattr(torch, DTYPES[str(config["dtype"])])).eval()


def build(config):
    model, work, a, device = make(config, config["device"]), config["workload"], config["model"]["args"], config["device"]
    batch, prompt, steps = work["batch"], work["prompt_tokens"], work.get("output_tokens", 1) - 1
    pixels = torch.randn(batch, 3, a["image_size"], a["image_size"], device=device, dtype=next(model.parameters()).dtype)
    ids = torch.randint(0, a["vocab_size"], (batch, prompt), device=device)

    image_tokens = (a["image_size"] // a["patch_size"] // 4) ** 2

    def prefill(state):
        state["caches"] = [{} for _ in model.decoder.layers]
        seen = {"batch": batch, "tokens": image_tokens}
        state["next"] = model(ids, state["caches"], pixels, state["scope"], seen).argmax(-1)

    def decode(state):
        state["next"] = model(state["next"], state["caches"]).argmax(-1)

    stages = [Stage("LLM@prefill", prefill, {"batch": batch, "tokens": image_tokens + prompt})]
    if steps > 0:
        stages.append(Stage("LLM@decode_step", decode, {"batch": batch, "tokens": 1}, steps, "LLM@decode_all"))
    return Workload(model, stages, "LLM@request")
