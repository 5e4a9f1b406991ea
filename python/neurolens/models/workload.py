# SPDX-License-Identifier: Apache-2.0
"""What a model is for the runner: the module, and the calls that make up one request. A function named by `model.target` gets the
resolved configuration and returns a Workload, or (module, inputs) for a model with one forward."""
from dataclasses import dataclass, field
from typing import Any, Callable


@dataclass
class Stage:
    """One labelled call. `run(state)` is handed a dict that all stages of one request share; `state["scope"](label, data)` labels
    a part of it. With `repeat`, a label around all repetitions may be given as `around`."""

    label: str
    run: Callable
    data: dict = field(default_factory=dict)
    repeat: int = 1
    around: str = ""


@dataclass
class Workload:
    model: Any
    stages: list
    request: str = ""  # label around one request; empty: none
    inputs: dict = field(default_factory=dict)  # what was fed, for the metadata


def of(built):
    """A Workload of what a target returned; TypeError when it is neither of the two forms."""
    if isinstance(built, Workload):
        return built
    if isinstance(built, tuple) and len(built) == 2 and callable(built[0]):
        model, inputs = built
        if isinstance(inputs, dict):
            return Workload(model, [Stage("step", lambda state: model(**inputs))])
        if isinstance(inputs, (list, tuple)):
            return Workload(model, [Stage("step", lambda state: model(*inputs))])
    raise TypeError("the target must return a neurolens.models.Workload, or a model and its inputs")
