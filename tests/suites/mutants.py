# SPDX-License-Identifier: Apache-2.0
"""A seeded share of scripts/mutants: broken and hostile profiles and bundles through import, analyze, report and compare.

No command ends by a signal, hangs or ends with status 4, and what was imported can be read. Each case depends on its seed alone.
"""
import pytest

import mutant_runs

SEED = 20
PER_FORMAT = 6
BUNDLES = 20


@pytest.fixture(scope="module")
def bench():
    with mutant_runs.Bench(SEED) as made:
        yield made


def failures(bench, format_name, count):
    maker = bench.maker()
    found = ((number, bench.outcome(*maker(number, format_name))) for number in range(count))
    return [f"mutant {number}: {problem}" for number, problem in found if problem]


@pytest.mark.parametrize("format_name", mutant_runs.FORMATS)
def test_mutants_of_a_format_are_refused_or_explained(bench, format_name):
    wrong = failures(bench, format_name, PER_FORMAT)
    assert not wrong, f"scripts/mutants --seed {SEED} --format {format_name} --only N: {wrong}"


@pytest.mark.slow_first(20)
def test_hostile_bundles_with_true_hashes_are_refused_or_explained(bench):
    wrong = failures(bench, "bundle", BUNDLES)
    assert not wrong, f"scripts/mutants --seed {SEED} --format bundle --only N: {wrong}"


def test_a_mutant_depends_on_its_seed_and_number_alone(bench, tmp_path):
    for format_name in ("kineto", "nsys", "nlcap", "bundle"):
        written = []
        for _ in range(2):
            _, _, write, flags = bench.maker()(3, format_name)
            write(tmp_path / "mutant")
            written.append(((tmp_path / "mutant").read_bytes() if format_name != "bundle" else None, flags))
        assert written[0] == written[1], f"{format_name}: two mutants of one number"
