# SPDX-License-Identifier: Apache-2.0
"""Serving engines as workloads: vLLM and SGLang with random weights of the configured sizes, their steps labelled."""
import json
import os
import tempfile
import time

from .. import _labels, mark_event
from . import config as configs
from .config import DTYPES

INSTALL = {"vllm": "vllm", "sglang": "sglang[all]"}


def _model_folder(config, folder):
    """A folder with config.json alone: the engines fill the weights with random numbers."""
    hf = dict(configs.get(config, "model.hf"))
    hf["torch_dtype"] = DTYPES[str(config["dtype"])]
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(hf, out)
    return folder


def _prompts(config):
    work, vocab = config["workload"], configs.get(config, "model.hf.vocab_size", 32000)
    return [[(17 * row + 31 * column) % vocab for column in range(work["prompt_tokens"])] for row in range(work["batch"])]


class VllmSteps:
    """Engine steps of vLLM as stages. A step is prefill while a request of it has no token yet, else a decode step."""

    def __init__(self, engine):
        self._engine, self._step = engine, engine.step
        self._tokens, self.times = {}, []

    def expect(self, requests):
        self._tokens = dict.fromkeys(requests, 0)

    def __call__(self):
        prefill = any(count == 0 for count in self._tokens.values())
        label, begun = "LLM@prefill" if prefill else "LLM@decode_step", time.perf_counter()
        with _labels.scope(label, batch=len(self._tokens)):
            outputs = self._step()
        self.times.append((label, time.perf_counter() - begun))
        for output in outputs:
            self._tokens[output.request_id] = len(output.outputs[0].token_ids)
            if output.finished:
                self._tokens.pop(output.request_id)
        return outputs


def _run_vllm(config, vllm, folder):
    # In this process: its steps are labelled by us, and one process is recorded.
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    work = config["workload"]
    model = vllm.LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, dtype=DTYPES[str(config["dtype"])],
                     seed=config["seed"], **(configs.get(config, "engine.args") or {}))
    engine = model.llm_engine
    sampling = vllm.SamplingParams(max_tokens=work["output_tokens"], min_tokens=work["output_tokens"], ignore_eos=True, detokenize=False, temperature=0)
    steps, times = VllmSteps(engine), []
    for repeat in range(config["warmup"] + config["repeats"]):
        names = [f"{repeat}-{row}" for row in range(work["batch"])]
        for name, prompt in zip(names, _prompts(config)):
            engine.add_request(name, {"prompt_token_ids": prompt}, sampling)
        steps.expect(names)
        steps.times = []
        with _labels.scope("LLM@request" if repeat >= config["warmup"] else "warmup:request"):
            while engine.has_unfinished_requests():
                steps()
        if repeat >= config["warmup"]:
            times += steps.times
    return times


def _run_sglang(config, sglang, folder):
    # SGLang's scheduler is a process of its own, which labels its steps (step[DECODE bs=32]) as `neurolens stages` reads them.
    work, times = config["workload"], []
    engine = sglang.Engine(model_path=folder, load_format="dummy", skip_tokenizer_init=True, dtype=DTYPES[str(config["dtype"])],
                           random_seed=config["seed"], **(configs.get(config, "engine.args") or {}))
    sampling = {"max_new_tokens": work["output_tokens"], "ignore_eos": True, "temperature": 0}
    try:
        for repeat in range(config["warmup"] + config["repeats"]):
            label, begun = "LLM@request" if repeat >= config["warmup"] else "warmup:request", time.perf_counter()
            with _labels.scope(label, batch=work["batch"]):
                engine.generate(input_ids=_prompts(config), sampling_params=sampling)
            if repeat >= config["warmup"]:
                times.append((label, time.perf_counter() - begun))
    finally:
        engine.shutdown()
    return times


def run(config):
    from .run import METADATA, metadata, need, summary

    name = configs.get(config, "engine.name")
    try:
        engine = need(name, f"engine {name}")
    except configs.ConfigError:
        raise configs.ConfigError(f"engine {name}: {name} is not installed in this Python; install it with `pip install \"{INSTALL[name]}\"`, "
                                  "or use a configuration without an engine, such as llama_8b") from None
    mark_event(METADATA, metadata(config))
    with tempfile.TemporaryDirectory() as folder:
        times = {"vllm": _run_vllm, "sglang": _run_sglang}[name](config, engine, _model_folder(config, folder))
    return {"name": config["name"], "parameters": None, "stages": summary(times)}
