# SPDX-License-Identifier: Apache-2.0
"""One program recorded by torch.profiler and by `neurolens run` on the same machine: the replies agree section by section."""
import pytest

from neurolens_cli import H200

SECTIONS = ("summary", "operators", "kernels", "idle", "launch", "stages", "roofline", "findings", "critical-path", "overlap")


@pytest.fixture(scope="module")
def pair(imported):
    return imported(H200 / "base.json.gz"), imported(H200 / "llama.nlc.gz")


def close(what, a, b, within):
    assert a is not None and b is not None and abs(a - b) <= within * max(abs(a), abs(b)), f"{what}: {a} and {b}"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_answered_for_both(pair, section):
    theirs, ours = (set(run.ask(section)) for run in pair)
    assert theirs == ours


def test_device_time_by_operator_and_kernel_agrees(pair):
    theirs, ours = ({row["name"]: row["gpu_ms"] for row in run.ask("operators", "--limit", 1000)["operators"]} for run in pair)
    for name in sorted(theirs, key=theirs.get)[-8:]:
        close(name, theirs[name], ours.get(name), 0.05)
    close("kernel time", *(run.ask("summary")["device_ms"] for run in pair), 0.02)
    assert [run.values("SELECT count(*) FROM kernel")[0][0] for run in pair] == [4651, 4651]


def test_precision_and_model_are_the_same(pair):
    assert [run.ask("summary")["precision"] for run in pair] == ["bf16", "bf16"]
    theirs, ours = (run.ask("stages")["model"]["dims"] for run in pair)
    assert theirs == ours


def test_stages_agree_and_have_their_utilisation(pair):
    theirs, ours = ({s["name"]: s for s in run.ask("stages")["stages"]} for run in pair)
    assert {name: s["count"] for name, s in theirs.items()} == {name: s["count"] for name, s in ours.items()}
    for name in ("prefill", "decode_step"):
        for stage in (theirs[name], ours[name]):
            assert stage["mfu"] is not None and stage["mbu"] is not None, (name, stage["mfu_reason"], stage["mbu_reason"])
        # Our recorder looks into some forwards only: the work of one execution is compared.
        per_execution = [s["flops"] / s["work_executions"] for s in (theirs[name], ours[name])]
        close(f"FLOPs of one {name}", *per_execution, 0.01)


def test_the_roofline_of_the_same_shapes_agrees(pair):
    def by_shape(run):
        rows = run.ask("roofline", "--limit", 100000, "--phase", "all")["points"]
        return {(row["op"], row["shapes"]): row for row in rows if row["efficiency"] is not None and row["op"] == "aten::mm"}
    theirs, ours = (by_shape(run) for run in pair)
    assert len(ours) >= 6, "matrix products with an efficiency"
    assert {row["types_from"] for row in theirs.values()} == {"recorded"} and {row["types_from"] for row in ours.values()} == {"kernel name"}
    for key in set(theirs) & set(ours):
        assert theirs[key]["dtype"] == ours[key]["dtype"], key
        close(str(key), theirs[key]["efficiency"], ours[key]["efficiency"], 0.15)
    assert len(set(theirs) & set(ours)) >= 6, (list(theirs)[:3], list(ours)[:3])
