#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_capture.py LOAD: one load of overhead.py, warmed up, three times in ranges `timed`; to be run recorded, to see what a recording has
of it: neurolens-capture --out X.nlcap -- python3 bench/gpu/load_capture.py eager"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import neurolens  # noqa: E402
from loads import Loads  # noqa: E402

loads = Loads()
loads.run(sys.argv[1])
for _ in range(3):
    with neurolens.scope("timed"):
        loads.run(sys.argv[1])
