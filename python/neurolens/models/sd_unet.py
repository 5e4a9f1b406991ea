# SPDX-License-Identifier: Apache-2.0
"""The U-Net of Stable Diffusion 1.x as a plain torch module: residual blocks, spatial transformers, down and up sampling.
With the sizes of conf/sd_unet.yaml it has the 859,520,964 parameters of the published one."""
import math

import torch
from torch import nn
from torch.nn import functional

from .config import DTYPES
from .workload import Stage, Workload


class ResBlock(nn.Module):
    def __init__(self, width_in, width_out, time_width, groups):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, width_in)
        self.conv1 = nn.Conv2d(width_in, width_out, 3, padding=1)
        self.time_proj = nn.Linear(time_width, width_out)
        self.norm2 = nn.GroupNorm(groups, width_out)
        self.conv2 = nn.Conv2d(width_out, width_out, 3, padding=1)
        self.shortcut = nn.Conv2d(width_in, width_out, 1) if width_in != width_out else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(functional.silu(self.norm1(x)))
        h = h + self.time_proj(functional.silu(time))[:, :, None, None]
        h = self.conv2(functional.silu(self.norm2(h)))
        return self.shortcut(x) + h


class Attention(nn.Module):
    def __init__(self, width, context_width, heads):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(context_width, width, bias=False)
        self.to_v = nn.Linear(context_width, width, bias=False)
        self.to_out = nn.Linear(width, width)

    def forward(self, x, context):
        batch, length, width = x.shape

        def split(tensor):
            return tensor.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)

        out = functional.scaled_dot_product_attention(split(self.to_q(x)), split(self.to_k(context)), split(self.to_v(context)))
        return self.to_out(out.transpose(1, 2).reshape(batch, length, width))


class GatedFeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj_in = nn.Linear(width, 8 * width)
        self.proj_out = nn.Linear(4 * width, width)

    def forward(self, x):
        hidden, gate = self.proj_in(x).chunk(2, dim=-1)
        return self.proj_out(hidden * functional.gelu(gate))


class SpatialTransformer(nn.Module):
    def __init__(self, width, context_width, heads, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, width)
        self.proj_in = nn.Conv2d(width, width, 1)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.self_attn = Attention(width, width, heads)
        self.cross_attn = Attention(width, context_width, heads)
        self.mlp = GatedFeedForward(width)
        self.proj_out = nn.Conv2d(width, width, 1)

    def forward(self, x, context):
        batch, width, height, columns = x.shape
        h = self.proj_in(self.norm(x)).permute(0, 2, 3, 1).reshape(batch, height * columns, width)
        normed = self.norm1(h)
        h = h + self.self_attn(normed, normed)
        h = h + self.cross_attn(self.norm2(h), context)
        h = h + self.mlp(self.norm3(h))
        h = h.reshape(batch, height, columns, width).permute(0, 3, 1, 2).contiguous()
        return x + self.proj_out(h)


class UNet(nn.Module):
    def __init__(self, channels, layers_per_block, attention_blocks, heads, context_dim, latent_channels, groups):
        super().__init__()
        time_width, first = 4 * channels[0], channels[0]
        self.first_width = first
        self.time_1, self.time_2 = nn.Linear(first, time_width), nn.Linear(time_width, time_width)
        self.conv_in = nn.Conv2d(latent_channels, first, 3, padding=1)
        self.down_res, self.down_attn, self.downsample = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        widths, width, self.down_plan = [first], first, []
        for level, out in enumerate(channels):
            for _ in range(layers_per_block):
                self.down_plan.append((len(self.down_res), len(self.down_attn) if attention_blocks[level] else None, None))
                self.down_res.append(ResBlock(width, out, time_width, groups))
                if attention_blocks[level]:
                    self.down_attn.append(SpatialTransformer(out, context_dim, heads, groups))
                width = out
                widths.append(width)
            if level + 1 < len(channels):
                self.down_plan.append((None, None, len(self.downsample)))
                self.downsample.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                widths.append(width)
        self.mid_res = nn.ModuleList([ResBlock(width, width, time_width, groups) for _ in range(2)])
        self.mid_attn = SpatialTransformer(width, context_dim, heads, groups)
        self.up_res, self.up_attn, self.upsample, self.up_plan = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), []
        for level in reversed(range(len(channels))):
            for layer in range(layers_per_block + 1):
                last = layer == layers_per_block and level > 0
                self.up_plan.append((len(self.up_res), len(self.up_attn) if attention_blocks[level] else None, len(self.upsample) if last else None))
                self.up_res.append(ResBlock(width + widths.pop(), channels[level], time_width, groups))
                width = channels[level]
                if attention_blocks[level]:
                    self.up_attn.append(SpatialTransformer(width, context_dim, heads, groups))
                if last:
                    self.upsample.append(nn.Conv2d(width, width, 3, padding=1))
        self.norm_out = nn.GroupNorm(groups, width)
        self.conv_out = nn.Conv2d(width, latent_channels, 3, padding=1)

    def _time(self, step, like):
        half = self.first_width // 2
        frequencies = torch.exp(-math.log(10000.0) * torch.arange(half, device=like.device, dtype=torch.float32) / half)
        angles = step.float()[:, None] * frequencies[None]
        embedding = torch.cat([angles.cos(), angles.sin()], dim=-1).to(like.dtype)
        return self.time_2(functional.silu(self.time_1(embedding)))

    def forward(self, latents, step, context):
        time = self._time(step, latents)
        h = self.conv_in(latents)
        kept = [h]
        for res, attn, down in self.down_plan:
            if down is not None:
                h = self.downsample[down](h)
            else:
                h = self.down_res[res](h, time)
                if attn is not None:
                    h = self.down_attn[attn](h, context)
            kept.append(h)
        h = self.mid_res[1](self.mid_attn(self.mid_res[0](h, time), context), time)
        for res, attn, up in self.up_plan:
            h = self.up_res[res](torch.cat([h, kept.pop()], dim=1), time)
            if attn is not None:
                h = self.up_attn[attn](h, context)
            if up is not None:
                h = self.upsample[up](functional.interpolate(h, scale_factor=2.0, mode="nearest"))
        return self.conv_out(functional.silu(self.norm_out(h)))


def make(config, device):
    """The module alone; device "meta" gives its sizes without memory."""
    with torch.device(device):
        return UNet(**config["model"]["args"]).to(getattr(torch, DTYPES[str(config["dtype"])])).eval()


def build(config):
    model, work, args = make(config, config["device"]), config["workload"], config["model"]["args"]
    like = {"device": config["device"], "dtype": next(model.parameters()).dtype}
    latents = torch.randn(work["batch"], args["latent_channels"], work["latent_size"], work["latent_size"], **like)
    context = torch.randn(work["batch"], work["prompt_tokens"], args["context_dim"], **like)
    step = torch.full((work["batch"],), 500, device=config["device"])
    return Workload(model, [Stage("step", lambda state: model(latents, step, context), {"batch": work["batch"]})])
