# SPDX-License-Identifier: Apache-2.0
"""scripts/check finds what it is for: each of its checks of names fails on a tree with that defect, and passes without."""
import shutil
import subprocess

import pytest

from neurolens_cli import LIMIT_S, ROOT

HEADER = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\nnamespace nl {{\n{}\n}}  // namespace nl\n"
SOURCE = "// SPDX-License-Identifier: Apache-2.0\nnamespace nl {{\nnamespace {{\n{}\n}}  // namespace\n}}  // namespace nl\n"
# What is checked, two files with the defect, and the second without it.
DEFECTS = [
    ("names", "src/base/a.h", HEADER.format("struct Twice { int a; };"), "src/model/b.h", HEADER.format("enum class Twice : int { kOne };"), HEADER.format("struct Once {};")),
    ("names", "src/base/a.h", HEADER.format("int Count(const char* text, int base = 10);"), "src/model/b.h", HEADER.format("int Count(const char* what, int n);"),
     HEADER.format("int Count(int n);")),
    ("units", "src/base/a.cc", SOURCE.format("constexpr int kMost = 3;"), "src/base/b.cc", SOURCE.format("constexpr int kMost = 4;"), SOURCE.format("constexpr int kLeast = 4;")),
    ("units", "src/base/a.cc", SOURCE.format("int Half(int n) { return n / 2; }"), "src/base/b.cc", SOURCE.format("int Half(int m) { return m >> 1; }"),
     SOURCE.format("int Half(double n) { return 0; }")),
    ("units", "src/base/a.h", HEADER.format("constexpr bool IsDigit(char c) { return true; }"), "src/base/b.cc", SOURCE.format("bool IsDigit(char ch) { return false; }"),
     SOURCE.format("bool IsLetter(char ch) { return false; }")),
    ("units", "src/base/a.cc", SOURCE.format("int a;"), "src/base/b.cc", SOURCE.format("using namespace std;"), SOURCE.format("using namespace std::string_literals;")),
    ("units", "src/base/a.cc", SOURCE.format("int a;"), "src/base/b.cc", "#define LIMIT 3\n" + SOURCE.format("int b = LIMIT;"), "#define LIMIT 3\n" + SOURCE.format("int b = LIMIT;") + "#undef LIMIT\n"),
    ("sizes", "src/base/a.h", HEADER.format("int a;"), "src/base/b.cc", SOURCE.format("int Long() {\n" + "  ++a;\n" * 80 + "  return 0;\n}"), SOURCE.format("int Short() { return 0; }")),
]


def check(tree, name):
    """Status and output of one check of the tree."""
    done = subprocess.run([tree / "scripts/check", name], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=LIMIT_S)
    return tmp_path


@pytest.mark.parametrize("what, first, first_text, second, defect, mended", DEFECTS, ids=[f"{d[0]}_{n}" for n, d in enumerate(DEFECTS)])
def test_a_check_finds_its_defect(tree, what, first, first_text, second, defect, mended):
    for path in (first, second):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / first).write_text(first_text)
    (tree / second).write_text(defect)
    status, said = check(tree, what)
    assert status == 1 and said.startswith(f"FAIL {what}: ") and second in said, said
    (tree / second).write_text(mended)
    assert check(tree, what) == (0, f"ok {what}\n")


@pytest.mark.parametrize("phrase", ["this is no profile", "a thing of use", "the file is told by content"])
def test_the_english_check_finds_phrases_that_read_like_a_translation(tree, phrase):
    (tree / "docs").mkdir()
    (tree / "docs/x.md").write_text(f"# X\n{phrase}\n")
    status, said = check(tree, "english")
    assert status == 1 and "docs/x.md:2" in said, said
    (tree / "docs/x.md").write_text("# X\nThe format is detected from the content.\n")
    assert check(tree, "english") == (0, "ok english\n")
