# SPDX-License-Identifier: Apache-2.0
"""One scale for all replies, over every profile there is: the device time of an operator is the same in all of them, and no cost, gain or
share of the wall is larger than the wall, whatever the number of devices."""
import pytest

from neurolens_cli import H200, SHARED, load, named

# A recording of another tool, to compare each with.
OTHER = H200 / "llama.nlc.gz"
# Each file once: some of the shared ones are bundled.
PROFILES = sorted({p.name: p for folder in (H200, SHARED / "data") if folder.exists() for p in folder.rglob("*")
                   if p.is_file() and p.suffix != ".md"}.values())
# Sums of the same nanoseconds in another order.
WITHIN_MS = 1e-6


@pytest.fixture(scope="module", params=named(PROFILES))
def run(request, imported):
    return imported(request.param)


@pytest.fixture(scope="module")
def report(run, tmp_path_factory):
    """All of a run's answers at once."""
    to = tmp_path_factory.mktemp("report")
    run.store.json("report", run.id, "--format", "json", "--out", to)
    return load(next(to.rglob("report.json")))


@pytest.fixture(scope="module")
def operators(run):
    return run.ask("operators", "--limit", 0)["operators"]


def sums(rows, name, time):
    out = {}
    for row in rows:
        if row[name] is not None:
            out[row[name]] = out.get(row[name], 0) + row[time]
    return out


def differ(expected, found):
    return [(name, expected.get(name), ms) for name, ms in found.items() if abs(expected.get(name, 0) - ms) > WITHIN_MS]


def test_the_device_time_of_an_operator_is_the_same_in_every_reply(run, operators, report):
    """Self device time everywhere: of the kernels that the operator launched itself."""
    self_ms, total_ms = sums(operators, "name", "gpu_ms"), sums(operators, "name", "gpu_total_ms")
    assert all(total_ms[name] >= ms - WITHIN_MS for name, ms in self_ms.items()), "self device time above total"
    assert not differ(self_ms, sums(run.ask("summary")["operators"], "name", "gpu_ms")), "summary"
    roofline = run.ask("roofline", "--limit", 100_000, "--phase", "all")
    by_op = sums(roofline["points"], "op", "t_measured_ms")
    assert len(roofline["points"]) == roofline["points_total"], "--limit does not list all"
    assert not differ(self_ms, by_op) and not differ(by_op, self_ms), "roofline"
    assert not differ(self_ms, sums(report["operators"], "name", "gpu_ms")), "report"


def test_compare_gives_the_device_time_of_operators_that_operators_gives(run, operators):
    reply = run.store.json("compare", run.id, OTHER, "--phase", "all", status=(0, 1))
    if reply["across"] is None:
        pytest.skip("no device work, or the same setup")
    operators = sums(operators, "name", "gpu_ms")
    found = {row["name"]: row["a_ms"] * reply["across"]["devices_a"] for row in reply["across"]["operators"]
             if row["a_ms"] is not None and row["name_b"] is None and row["name"] in operators}
    assert len(found) > 0 or not any(operators.values()), "no operator in the comparison"
    # Rows of one name without numbering are joined under the name of the largest.
    assert not [f for f in differ(operators, found) if f[2] < f[1]], differ(operators, found)[:3]
    assert abs(sum(found.values()) - sum(operators.values())) <= 1e-3 * max(1, sum(operators.values())), "sums of operators"


def test_no_cost_gain_or_share_is_larger_than_the_wall(report):
    wall_ms = report["wall_ms"]
    if wall_ms is None:
        pytest.skip("the source has no wall time")
    limit_ms = wall_ms * (1 + 1e-9) + WITHIN_MS
    for f in report["findings"]["findings"]:
        for key in ("cost_ms", "impact_ms"):
            assert f[key] is None or f[key] <= limit_ms, f"{f['rule']}: {key} {f[key]} of a wall of {wall_ms} ms"
        for e in f["evidence"]:
            assert e["unit"] != "ratio" or "share" not in e["what"] or e["value"] is None or e["value"] <= 1 + 1e-9, f"{f['rule']}: {e}"
    for device in report["devices"]:
        assert device["busy_ms"] <= limit_ms and (device["utilization"] or 0) <= 1 + 1e-9, device
    for row in report["operators"] + report["kernels"]:
        assert (row["share"] or 0) <= 1 + 1e-9, row
    for stage in (report["stages"] or {"stages": []})["stages"]:
        for key in ("launch_share", "idle_share"):
            assert (stage[key] or 0) <= 1 + 1e-9, f"{stage['name']}: {key} {stage[key]}"
