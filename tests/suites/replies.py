# SPDX-License-Identifier: Apache-2.0
"""Every operation's --json reply has the form its reply schema promises (checked by ajv), and so do the parameters and report.json."""
import json
import shlex
import subprocess

import pytest

from neurolens_cli import BIN, H200, LIMIT_S, ROOT, Store, load, outcome

pytestmark = [pytest.mark.xdist_group("replies"), pytest.mark.slow_first(20)]
TRACE, OTHER = H200 / "compile.json.gz", H200 / "item_sync.json.gz"
# Sources whose reports differ in the sections they have: all, durations without starts, no calls on the host.
REPORTED = [H200 / name for name in ("base.json.gz", "llama_layer_details.csv.gz", "jax_gelu_norm.trace.json.gz")]
FIXTURE = ROOT / "web/fixtures/full.json"

# An operation is called as its example says, except those whose example names files of the reader's own;
# %s is a scratch folder. The order matters to the first and the last only.
CALLS = {
    "import": ["import", TRACE], "kernels": ["kernels", "--by-shape"], "tag": ["tag", "@latest", "a=b"],
    "query": ["query", "SELECT count(*) AS n FROM kernel"],
    "export": ["export", "@latest", "--format", "bundle", "--out", "%s/run.zip"], "validate": ["validate", "%s/run.json"],
    "docs": ["docs", "ops"], "stages": ["stages"], "flame": ["flame"], "roofline": ["roofline"], "critical-path": ["critical-path"],
    "fingerprint": ["fingerprint"], "report": ["report", "@latest", "--out", "%s/report"], "analyze": ["analyze", "@latest"], "rm": ["rm", "@latest", "--force"],
    "gate": ["gate", "--baseline", "@latest", "--candidate", OTHER],
    "record": ["record", "--out", "%s/record.nlcap", "--", "sleep", "0.2"], "run": ["run", "--", "sleep", "0.2"],
    "ctl": ["ctl", "%s/record.nlcap", "status"],
    "prove": ["prove", "--a", "true", "--b", "sleep 0.01", "--iterations", 12], "bench": ["bench", "ls", "--suite", ROOT / "examples/bench"],
    "bench-pairs": ["bench-pairs", "--bench-root", ROOT / "examples/bench"],
    "clock-guard": ["clock-guard"],
    "compare": ["compare", H200 / "base.json.gz", TRACE],
}


def operations():
    done = subprocess.run([BIN, "docs", "ops", "--json"], capture_output=True, check=True, timeout=LIMIT_S)
    return {op["name"]: op for op in json.loads(done.stdout)["ops"]}


OPS = operations()
# import first, rm last; record before ctl, which looks at its capture. profile needs a framework, deep
# needs Nsight Compute, send a server, and serve answers when it is stopped: their own suites check their replies.
ORDER = ["import", "record", *sorted(set(OPS) - {"import", "record", "run", "rm", "profile", "deep", "send", "serve"}), "run", "rm"]


@pytest.fixture(scope="module")
def checked(ajv, module_folder):
    """What ajv prints about the reply and the parameters of every operation, called in order."""
    store, cases = Store(module_folder / "store", cwd=module_folder), []
    for name in ORDER:
        words = CALLS.get(name) or shlex.split(OPS[name]["example"])[1:]
        if name == "validate":
            store.text("export", "@latest", "--format", "run-json", "--out", module_folder / "run.json")
        done = store.run("--json", *(str(w).replace("%s", str(module_folder)) for w in words))
        cases.append({"name": f"reply of {name}", "schema": OPS[name]["reply"], "value": json.loads(done.stdout)})
        cases.append({"name": f"parameters of {name}", "schema": OPS[name]["parameters"], "value": None})
    schema = store.json("schema", "report")["schema"]
    for trace in REPORTED:
        store.text("analyze", trace, "--json", module_folder / "report.json")
        cases.append({"name": f"report of {trace.name}", "schema": schema, "value": load(module_folder / "report.json")})
    cases.append({"name": f"report of {FIXTURE.name}", "schema": schema, "value": load(FIXTURE)})
    done = subprocess.run(["node", "replies.mjs"], cwd=ajv, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0 and done.stdout, done.stderr[-300:]
    return done.stdout


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("what", ["reply", "parameters"])
def test_the_schema_is_kept(what, name, checked):
    why = outcome(checked, f"{what} of {name}")
    assert why is None, why


@pytest.mark.parametrize("name", [path.name for path in [*REPORTED, FIXTURE]])
def test_the_schema_of_the_report_is_kept(name, checked):
    why = outcome(checked, f"report of {name}")
    assert why is None, why
