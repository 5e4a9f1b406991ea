# SPDX-License-Identifier: Apache-2.0
"""Models by configuration: a YAML file names the workload, `python3 -m neurolens.models run --config FILE` builds and runs it with
labelled stages. Importing this package imports neither torch nor transformers."""
from .config import ConfigError, load, shipped
from .workload import Stage, Workload

__all__ = ["ConfigError", "Stage", "Workload", "load", "shipped"]
