# SPDX-License-Identifier: Apache-2.0
"""Labels for `neurolens run`, and for every tool that reads NVTX.

    with neurolens.scope("tokenize", batch=8): ...
    @neurolens.scope("decode")
    def decode(): ...
    neurolens.mark_event("cache_miss", {"key": key})

A program that is not recorded pays a few hundred nanoseconds per scope and nothing else: no library is loaded, no
thread started, nothing printed. Labels are never worth an exception: what cannot be written is left out.
"""
from . import llm
from ._labels import is_recording, mark_event, scope, start, stop

__all__ = ["is_recording", "llm", "mark_event", "scope", "start", "stop"]
__version__ = "0.1.0"
