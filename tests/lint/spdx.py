#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each file of this project starts with its licence line (scripts: after #!)."""
import csource

WANTED = "SPDX-License-Identifier: Apache-2.0"
FOLDERS = (".ci", "cmake", "config", "daemon", "packaging", "systemd", "tests")
SUFFIXES = (".c", ".h", ".py", ".sh", ".cmake", ".service", ".yml")


def must_have(path, text):
    return path.suffix in SUFFIXES or path.name == "CMakeLists.txt" or text.startswith("#!")


def check(top, _arguments):
    problems = []
    files = [top / "CMakeLists.txt", top / "dev"]
    for folder in FOLDERS:
        files += sorted(p for p in (top / folder).rglob("*")
                        if p.is_file() and "__pycache__" not in p.parts)
    for path in files:
        text = path.read_bytes()[:256].decode("utf-8", "replace") if path.exists() else ""
        lines = text.splitlines()
        head = lines[1:2] if text.startswith("#!") else lines[:1]
        if must_have(path, text) and not any(WANTED in line for line in head):
            problems.append(f"{path.relative_to(top)}:1: the licence line is missing: {WANTED}")
    return problems


if __name__ == "__main__":
    csource.main(check)
