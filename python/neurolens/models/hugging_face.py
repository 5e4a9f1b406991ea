# SPDX-License-Identifier: Apache-2.0
"""Workloads of Hugging Face models, built from sizes alone: weights are random unless `model.weights` names a local folder."""
import contextlib
import inspect

from .config import DTYPES, ConfigError, get
from .workload import Stage, Workload

AUTO = {"causal_lm": "AutoModelForCausalLM", "encoder": "AutoModel", "image_classification": "AutoModelForImageClassification",
        "speech_seq2seq": "AutoModelForSpeechSeq2Seq"}


def model_config(config):
    """The transformers configuration object."""
    import transformers

    values = dict(get(config, "model.hf"))
    kind = values.pop("model_type")
    try:
        return transformers.AutoConfig.for_model(kind, **values)
    except ValueError as e:
        raise ConfigError(f"model.hf: this transformers does not build model_type '{kind}': {e}") from None


@contextlib.contextmanager
def default_dtype(torch, dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def build_model(config, device):
    """The module on `device` ("meta": its sizes alone)."""
    import torch
    import transformers

    auto = getattr(transformers, AUTO[config["model"]["task"]])
    dtype = getattr(torch, DTYPES[str(config["dtype"])])
    weights = get(config, "model.weights")
    # Without training there is nothing to drop; dropout modules do nothing in eval().
    if weights not in (None, "random"):
        return auto.from_pretrained(weights, dtype=dtype, attn_implementation=config["attention"], local_files_only=True).to(device).eval()
    with default_dtype(torch, dtype), torch.device(device):
        model = auto.from_config(model_config(config), attn_implementation=config["attention"])
    return model.to(dtype).eval()


def _accepts(model, name):
    return name in inspect.signature(model.forward).parameters


def _causal_lm(config, model, torch):
    batch, prompt = config["workload"]["batch"], config["workload"].get("prompt_tokens", 128)
    steps = config["workload"].get("output_tokens", 1) - 1
    vocab = model.config.get_text_config().vocab_size
    ids = torch.randint(0, vocab, (batch, prompt), device=config["device"])
    last = config["workload"]["logits"] == "last" and _accepts(model, "logits_to_keep")
    extra = {"logits_to_keep": 1} if last else {}

    def prefill(state):
        out = model(input_ids=ids, use_cache=True, **extra)
        state["cache"], state["next"] = out.past_key_values, out.logits[:, -1:].argmax(-1)

    def decode(state):
        out = model(input_ids=state["next"], past_key_values=state["cache"], use_cache=True)
        state["cache"], state["next"] = out.past_key_values, out.logits[:, -1:].argmax(-1)

    stages = [Stage("LLM@prefill", prefill, {"batch": batch, "tokens": prompt})]
    if steps > 0:
        stages.append(Stage("LLM@decode_step", decode, {"batch": batch, "tokens": 1}, steps, "LLM@decode_all"))
    return Workload(model, stages, "LLM@request", {"head_tokens": batch if last else batch * prompt})


def _encoder(config, model, torch):
    batch, length = config["workload"]["batch"], config["workload"].get("prompt_tokens", 128)
    ids = torch.randint(0, model.config.vocab_size, (batch, length), device=config["device"])
    return Workload(model, [Stage("step", lambda state: model(input_ids=ids), {"batch": batch, "tokens": length})])


def _image(config, model, torch):
    batch, c = config["workload"]["batch"], model.config
    pixels = torch.randn(batch, c.num_channels, c.image_size, c.image_size, device=config["device"], dtype=next(model.parameters()).dtype)
    return Workload(model, [Stage("step", lambda state: model(pixel_values=pixels), {"batch": batch})])


def _speech(config, model, torch):
    batch, c = config["workload"]["batch"], model.config
    prompt, steps = config["workload"].get("prompt_tokens", 4), config["workload"].get("output_tokens", 1) - 1
    # The first convolution halves nothing, the second halves the frames.
    audio = torch.randn(batch, c.num_mel_bins, 2 * c.max_source_positions, device=config["device"], dtype=next(model.parameters()).dtype)
    ids = torch.randint(0, c.vocab_size, (batch, prompt), device=config["device"])

    def decode(state, tokens):
        out = model(encoder_outputs=state["audio"], decoder_input_ids=tokens, past_key_values=state.get("cache"), use_cache=True)
        state["cache"], state["next"] = out.past_key_values, out.logits[:, -1:].argmax(-1)

    def prefill(state):
        with state["scope"]("LLM@prefill::encoder", {"batch": batch, "tokens": c.max_source_positions}):
            state["audio"] = model.get_encoder()(audio)
        decode(state, ids)

    stages = [Stage("LLM@prefill", prefill, {"batch": batch, "tokens": prompt})]
    if steps > 0:
        stages.append(Stage("LLM@decode_step", lambda state: decode(state, state["next"]), {"batch": batch, "tokens": 1}, steps, "LLM@decode_all"))
    return Workload(model, stages, "LLM@request")


MAKERS = {"causal_lm": _causal_lm, "encoder": _encoder, "image_classification": _image, "speech_seq2seq": _speech}


def build(config):
    import torch

    return MAKERS[config["model"]["task"]](config, build_model(config, config["device"]), torch)
