# SPDX-License-Identifier: Apache-2.0
"""Stages of a language model, under the labels that `neurolens stages` reads."""
from ._labels import scope


def request(**metadata):
    """One request, from its prompt to its last token."""
    return scope("LLM@request", **metadata)


def prefill(**metadata):
    """The forward of the prompt."""
    return scope("LLM@prefill", **metadata)


def decode_all(**metadata):
    """All decode steps of a request together."""
    return scope("LLM@decode_all", **metadata)


def decode_step(**metadata):
    """One forward of one new token per sequence."""
    return scope("LLM@decode_step", **metadata)
