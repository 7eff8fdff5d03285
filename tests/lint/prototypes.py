#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each function in a header has a comment right before it, and each header has its guard."""
import re

import csource


def check(top, _arguments):
    problems = []
    for source in csource.sources(top, ["daemon"], "*.h"):
        guard = re.sub(r"\W", "_", source.rel[len("daemon/"):]).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in source.text:
            problems.append(f"{source.rel}:1: the guard of this header is {guard}")
        for function in source.declarations():
            if not source.comment_before(function.line):
                problems.append(f"{source.rel}:{function.line}: {function.name}() has no comment "
                                "right before it: what it does, units, ownership, errors")
    return problems


if __name__ == "__main__":
    csource.main(check)
