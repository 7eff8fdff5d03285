# SPDX-License-Identifier: Apache-2.0
"""hardened.py notices each defence that a program is built without."""
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("hardened.py")
SOURCE = """
#include <stdio.h>
#include <string.h>
#ifdef WX
__asm__(".section .wx,\\"awx\\",%progbits\\n.byte 0\\n.previous");
#endif
int big(const char *text);
int big(const char *text) { volatile char room[100000]; room[0] = text[0]; return room[0]; }
""" + "".join(f"int f{i}(int x); int f{i}(int x) {{ return x + {i}; }}\n" for i in range(150)) + """
int main(int argc, char **argv)
{
    char text[100];
    strcpy(text, argv[argc - 1]);
    printf(argv[0]);
    return big(text);
}
"""
FLAGS = ["-O2", "-w", "-fPIE", "-pie", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
         "-fstack-clash-protection", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack",
         "-fcf-protection" if platform.machine() == "x86_64" else "-mbranch-protection=standard"]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("readelf") is None,
                                reason="needs gcc and readelf")


def check(tmp_path, *flags):
    """(exit status, output) for a program that is built with these flags after the good ones."""
    source, program = tmp_path / "p.c", tmp_path / "p"
    source.write_text(SOURCE)
    subprocess.run(["gcc", *FLAGS, *flags, "-o", program, source], check=True)
    done = subprocess.run([sys.executable, SCRIPT, program], text=True, capture_output=True)
    return done.returncode, done.stdout


def test_a_program_with_all_defences_is_good(tmp_path):
    assert check(tmp_path) == (0, "")


@pytest.mark.parametrize("flag, word", [
    ("-no-pie", "position-independent"),
    ("-Wl,-z,norelro", "RELRO"),
    ("-Wl,-z,lazy", "bound at the start"),
    ("-Wl,-z,execstack", "stack that is not executable"),
    ("-DWX", "writable or executable"),
    ("-Wl,-rpath,/tmp", "RUNPATH"),
    ("-fno-stack-protector", "-fstack-protector-strong"),
    ("-U_FORTIFY_SOURCE", "_FORTIFY_SOURCE"),
    pytest.param("-fcf-protection=none", "-fcf-protection", marks=pytest.mark.skipif(
        platform.machine() != "x86_64", reason="amd64")),
    pytest.param("-fno-stack-clash-protection", "-fstack-clash-protection", marks=pytest.mark.skipif(
        platform.machine() != "x86_64", reason="amd64")),
    pytest.param("-mbranch-protection=none", "-mbranch-protection", marks=pytest.mark.skipif(
        platform.machine() != "aarch64", reason="arm64")),
])
def test_a_defence_that_is_missing_is_named(tmp_path, flag, word):
    status, output = check(tmp_path, flag)
    assert status == 1 and word in output


def test_no_program_at_all_is_not_good():
    assert subprocess.run([sys.executable, SCRIPT]).returncode == 1
