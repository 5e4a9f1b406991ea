# SPDX-License-Identifier: Apache-2.0
"""scope, mark_event, start, stop: what a program calls."""
import functools
import inspect
import json

from . import _emit


def _text(metadata):
    """Metadata as JSON; what JSON cannot hold as its text."""
    if not metadata:
        return None
    try:
        return json.dumps(metadata, default=str, ensure_ascii=False)
    except Exception:  # a key that is no text, a value whose __str__ fails
        return json.dumps(str(type(metadata)))


def _check_plain(function):
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("scope decorates plain functions: a coroutine or generator leaves its range open while others run; "
                        "use `with` inside")


def _labelled(function, name, metadata):
    _check_plain(function)
    emitter = _emit.current

    @functools.wraps(function)
    def labelled(*args, **kwargs):
        if not emitter.on():
            return function(*args, **kwargs)
        emitter.push(name, _text(metadata))
        try:
            return function(*args, **kwargs)
        finally:
            emitter.pop()

    return labelled


class _Range:
    """A range that is recorded."""

    __slots__ = ("_name", "_metadata", "_open")

    def __init__(self, name, metadata):
        self._name = name
        self._metadata = metadata
        self._open = 0

    def __enter__(self):
        if _emit.current.on():
            _emit.current.push(self._name, _text(self._metadata))
            self._open += 1
        return self

    def __exit__(self, *_):
        # Closed when it was opened, also when recording stopped in between.
        if self._open:
            self._open -= 1
            _emit.current.pop()
        return False

    def __call__(self, function):
        return _labelled(function, self._name, self._metadata)


# Entering and leaving a range that is not recorded are two calls of built-in functions that do nothing: half the
# price of two in Python. The second takes what __exit__ is given and answers with something false; of those that do it
# is the quickest.
_enter_nothing, _leave_nothing = "".strip, type.__prepare__


class _Paused(tuple):
    """A range made while recording is off: (name, metadata), for use as a decorator."""

    __slots__ = ()
    __enter__, __exit__ = _enter_nothing, _leave_nothing

    def __call__(self, function):
        return _labelled(function, *self)


class _Nothing:
    """Every range of a program that is not recorded."""

    __slots__ = ()
    __enter__, __exit__ = _enter_nothing, _leave_nothing

    def __call__(self, function):
        _check_plain(function)
        return function


_NOTHING = _Nothing()
_DOC = """A named range on the calling thread: a context manager, or a decorator of a plain function."""

if _emit.current is None:

    def scope(name, **metadata):
        return _NOTHING

else:

    def scope(name, **metadata):
        return _Range(name, metadata) if _emit.current.on() else _Paused((name, metadata))


scope.__doc__ = _DOC


def mark_event(name, data=None):
    """An instant with a name and data."""
    emitter = _emit.current
    if emitter is not None and emitter.on():
        emitter.mark(name, _text(data))


def start():
    """Begins recording: with --capture-range api, and after stop()."""
    if _emit.current is not None:
        _emit.current.start()


def stop():
    """Ends recording until start()."""
    if _emit.current is not None:
        _emit.current.stop()


def is_recording():
    """Whether labels are written at this moment."""
    return _emit.current is not None and _emit.current.recording()
