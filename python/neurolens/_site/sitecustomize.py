# SPDX-License-Identifier: Apache-2.0
# Found by every Python interpreter under `neurolens run`, through PYTHONPATH. Sets up labels for frameworks, then
# hands over to the sitecustomize that would have run without us. Nothing here may stop the program.
import os
import sys


def _begin():
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get("NEUROLENS_CAPTURE_DIR"):
        try:
            from neurolens import _auto

            _auto.install()
        except Exception:
            pass
    _chain(here)


def _chain(here):
    """Runs the next sitecustomize on the path, as this module."""
    import importlib.machinery
    import importlib.util

    rest = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    sys.path[:] = rest
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)  # its exceptions are its own: Python prints and goes on


_begin()
