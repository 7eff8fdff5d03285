# SPDX-License-Identifier: Apache-2.0
"""compare.py notices each count that grows, and counts each instruction once."""
import importlib.util
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "cost/compare.py"
spec = importlib.util.spec_from_file_location("compare", SOURCE)
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)

RECORD = "# a comment\ndebian 12 x86_64\ndrain.instructions 100000\nmemory.object_bytes 1000\n"
# main() costs 5 and 7 itself, and calls work() of the program and read() of a library.
PROFILE = """\
version: 1
events: Ir

ob=/build/tests/cost
fl=/src/cost.c
fn=main
10 5
cfn=work
calls=2 20
11 1000
+1 7
cob=/lib/libparse.so.2
cfn=read
calls=1 0
* 300

fn=work
20 700

ob=/lib/libparse.so.2
fl=???
fn=read
0 300

totals: 1012
"""


def judged(capsys, **found):
    counts = {"drain.instructions": 100000, "memory.object_bytes": 1000}
    counts |= {name.replace("__", "."): count for name, count in found.items()}
    return compare.judge(counts, RECORD), capsys.readouterr().out


def test_the_same_counts_pass(capsys):
    status, told = judged(capsys)
    assert status == 0 and "MORE" not in told and "less" not in told


def test_a_count_may_be_a_little_higher(capsys):
    assert judged(capsys, drain__instructions=101000)[0] == 0


@pytest.mark.parametrize("name, count", [("drain__instructions", 101001), ("memory__object_bytes", 1011)])
def test_a_higher_count_fails(capsys, name, count):
    status, told = judged(capsys, **{name: count})
    assert status == 1 and f"MORE than recorded: {name.replace('__', '.')}\n" in told


def test_a_lower_count_is_to_be_recorded(capsys):
    status, told = judged(capsys, drain__instructions=98999)
    assert status == 0 and "less than recorded" in told and "drain.instructions" in told


def test_a_lower_count_does_not_hide_a_higher_one(capsys):
    status, told = judged(capsys, drain__instructions=50000, memory__object_bytes=2000)
    assert status == 1 and "MORE than recorded: memory.object_bytes\n" in told


def test_a_measure_that_is_not_recorded_fails(capsys):
    status, told = judged(capsys, storm__allocations=1)
    assert status == 1 and "storm.allocations: only measured" in told


def test_a_measure_that_is_gone_fails(capsys):
    status = compare.judge({"drain.instructions": 100000}, RECORD)
    assert status == 1 and "memory.object_bytes: only recorded" in capsys.readouterr().out


def test_each_instruction_is_counted_once():
    assert compare.instructions(PROFILE, "cost") == (1012, 712)


def test_what_is_recorded_is_read_again(tmp_path):
    compare.record({"sync.allocations": 7, "drain.instructions": 9}, tmp_path / "counts")
    assert compare.parse((tmp_path / "counts").read_text()) == (
        compare.host(), {"drain.instructions": 9, "sync.allocations": 7})


def test_on_another_debian_nothing_is_compared(tmp_path, capsys, monkeypatch):
    (tmp_path / "counts").write_text("debian 99 x86_64\ndrain.instructions 1\n")
    monkeypatch.setattr(compare, "COUNTS", tmp_path / "counts")
    monkeypatch.setattr("sys.argv", ["compare.py", "--build", str(tmp_path)])
    assert compare.main() == 0
    assert "nothing compared: the counts are of debian 99 x86_64" in capsys.readouterr().out
