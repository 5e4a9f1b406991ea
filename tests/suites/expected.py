# SPDX-License-Identifier: Apache-2.0
"""Every statement of tests/expected/*.yaml about real profiles, against what the program answers."""
import statistics

import pytest
import yaml

from neurolens_cli import H200, SHARED, TESTS

BUNDLED = ("h200/kineto/", "h200/xplane/", "h200/ncu/")


def path_of(profile):
    """The repository's own copy where there is one."""
    own = H200 / profile.rsplit("/", 1)[1]
    return own if profile.startswith(BUNDLED) and own.exists() else SHARED / "data" / profile


def statements():
    for file in sorted((TESTS / "expected").glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text()):
            profile = entry.pop("profile")
            for key, value in entry.items():
                yield pytest.param(profile, key, value, id=f"{profile.rsplit('/', 1)[1]}:{key}", marks=pytest.mark.xdist_group(f"expected_{profile}"))


def is_near(found, wanted, within=1e-3):
    """A number within a thousandth, or in the range that a list of two gives."""
    if isinstance(wanted, list):
        return found is not None and wanted[0] <= found <= wanted[1]
    return found is not None and abs(found - wanted) <= within * abs(wanted)


def value(run, sql):
    return run.values(sql)[0][0]


def operators(run, key):
    """By their last name: ONNX Runtime calls an operator by its node."""
    return {row["name"]: row[key] for row in run.ask("operators", "--limit", 100000)["operators"]}


def check_operators(run, wanted):
    found = operators(run, "gpu_ms")
    for name, ms in wanted.items():
        assert is_near(found.get(name), ms), (name, ms, found.get(name))
    first = max(wanted, key=wanted.get)
    assert max(found.values()) == found[first], f"most device time is in {max(found, key=found.get)}, not in {first}"


def check_host_operators(run, wanted):
    rows = run.values("SELECT value, sum(o.dur_ns) / 1e6 FROM op o JOIN args a ON a.owner = 'op' AND a.owner_id = o.id AND a.key = 'op_type' GROUP BY 1")
    found = {str(name).strip('"'): ms for name, ms in rows}
    for name, ms in wanted.items():
        assert is_near(found.get(name), ms), (name, ms, found)


def check_steps(run, wanted):
    lengths = [row[0] / 1e6 for row in run.values("SELECT dur_ns FROM step WHERE dur_ns IS NOT NULL")]
    assert len(lengths) == wanted["count"], lengths
    assert is_near(statistics.median(lengths), wanted["median_ms"]), lengths


def check_stages(run, wanted):
    assert {s["name"]: s["count"] for s in run.ask("stages")["stages"] if s["name"] in wanted} == wanted


def check_no_stages(run, wanted):
    reply = run.ask("stages")
    assert bool(reply["stages"]) is wanted, reply["stages"]
    assert wanted or reply["reason"], "no reason"


def check_idle_reason(run, wanted):
    causes = run.ask("idle")["causes"]
    assert causes and wanted in (causes[0]["name"] or ""), causes[:3]


CHECKS = {
    "kernels": lambda run, wanted: is_near(value(run, "SELECT count(*) FROM kernel"), wanted, 0),
    "kernel_ms": lambda run, wanted: is_near(value(run, "SELECT sum(dur_ns) / 1e6 FROM kernel"), wanted, 1e-5),
    "copies": lambda run, wanted: is_near(value(run, "SELECT count(*) FROM memcpy"), wanted, 0),
    "device_kernels": lambda run, wanted: dict(run.values("SELECT device, count(*) FROM kernel GROUP BY 1")) == wanted,
    "device_names": lambda run, wanted: [d["name"] for d in run.ask("summary")["devices"]] == wanted,
    "wall_ms": lambda run, wanted: is_near(run.ask("summary")["wall_ms"], wanted, 1e-5),
    "precision": lambda run, wanted: run.ask("summary")["precision"] == wanted,
    "startup_ms": lambda run, wanted: is_near(run.ask("idle")["startup_ms"], wanted),
    "edge_ms": lambda run, wanted: is_near(run.ask("idle")["edge_ms"], wanted),
    "tpot_ms": lambda run, wanted: is_near(run.ask("stages")["tpot_ms"], wanted),
    "first_finding": lambda run, wanted: run.ask("findings")["findings"][0]["rule"] == wanted,
    "operators_ms": check_operators,
    "host_operators_ms": check_host_operators,
    "steps": check_steps,
    "stages": check_stages,
    "llm_stages": check_no_stages,
    "idle_reason": check_idle_reason,
}


@pytest.mark.parametrize(("profile", "key", "wanted"), statements())
def test_what_is_true_of_a_profile_is_what_the_program_says(profile, key, wanted, imported):
    path = path_of(profile)
    if not path.exists():
        pytest.skip(f"{profile} is not here (NEUROLENS_SHARED)")
    assert CHECKS[key](imported(path), wanted) is not False, f"{key} is not {wanted}"


def test_there_are_enough_of_them():
    found = list(statements())
    assert len(found) >= 60 and len({one.values[0] for one in found}) >= 25, len(found)
