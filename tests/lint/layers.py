#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An include may not point up, sideways, in a circle, or at a library outside its one home. A header
is for several modules or for a unit test: a module that serves one neighbour is a part of it."""
import re

import csource

# Which folders a folder may include: ARCHITECTURE.md "Layers".
USES = {
    "base": set(),
    "conf": {"base"},
    "state": {"base"},
    "proto": {"base"},
    "kube": {"proto", "base"},
    "cache": {"kube", "proto", "base"},
    "hook": {"cache", "kube", "proto", "base"},
    "persist": {"hook", "cache", "kube", "proto", "state", "base"},
    "admin": {"hook", "cache", "kube", "proto", "base"},
    "io": {"admin", "hook", "cache", "kube", "proto", "state", "base"},
    "helper": {"base"},
    "ctl": {"proto", "base"},
    "app": {"io", "helper", "conf", "admin", "persist", "hook", "cache", "kube", "proto", "state",
            "base"},
}
USES["main.c"] = USES["app"] | {"app"}

# The home of each library: a prefix of its headers, prefixes of the files that may include them.
HOMES = {
    "uv.h": ("io/",),
    "uv/": ("io/",),
    "mbedtls/": ("proto/tls",),
    "psa/": ("proto/tls",),
    "llhttp": ("proto/http",),
    "yajl/": ("proto/json",),
    "zlib.h": ("proto/gzip",),
    "yaml.h": ("kube/yaml_tree",),
    "libconfig.h": ("conf/",),
    "sqlite3.h": ("state/",),
    "systemd/": ("app/",),
    "seccomp.h": ("app/",),
    "uthash.h": ("base/",),
    "utlist.h": ("base/",),
    "utarray.h": ("base/",),
    "utstring.h": ("base/",),
    "xxhash.h": ("base/",),
    "xxh3.h": ("base/",),
}


# Headers with one includer and no unit test, and why they are there all the same.
LONELY = {
    "app/start.h": "main.c, which the tests cannot link, holds nothing but main()",
    "app/access_reviews.h": "a step of app/server_check, whose wire tests run it",
    "app/check_access.h": "a step of app/start: the wire tests run it as --check-access",
    "app/cluster_client.h": "one of the ways of app/cluster_runtime, whose unit tests run it",
    "app/daemon.h": "a step of app/start: all wire tests run it",
    "app/inspection.h": "what the machine tells informerctl doctor: tests/wire/test_doctor.py runs it",
    "ctl/findings.h": "a command of ctl/command: tests/wire/test_doctor.py runs it",
    "app/server_check.h": "one of those that app/check_access makes: the wire tests run it",
    "app/replay_player.h": "a part of the graph of app/daemon, which has one of each",
    "cache/list_watch_params.h": "list_watch.h would pass its limit of lines with it",
    "app/watchdog.h": "a timer of app/daemon: tests/wire/test_process.py runs it",
    "hook/hook_params.h": "hook.h would pass its limit of lines with it",
}


def check_arrows(source, inside, layer):
    for line, kind, name in source.includes():
        other = name.split("/")[0]
        if kind == '"' and (other not in USES or "/" not in name):
            yield f'{source.rel}:{line}: write our own headers as "layer/file.h", not "{name}"'
        elif other in USES and other != layer and other not in USES[layer]:
            yield f"{source.rel}:{line}: {layer} may not include {name}"
        for library, homes in HOMES.items():
            if name.startswith(library) and not inside.startswith(homes):
                yield f"{source.rel}:{line}: <{name}> is at home in daemon/{' or '.join(homes)} only"


def check_own_header(source, inside):
    own = inside[:-1] + "h"
    includes = [name for _, _, name in source.includes()]
    if source.path.suffix == ".c" and source.path.with_suffix(".h").exists():
        if not includes or includes[0] != own:
            yield f'{source.rel}:1: include "{own}" first: it proves that the header stands alone'


def check_cycles(graph):
    """One line per include cycle among our headers."""
    done, path = set(), []

    def visit(node):
        if node in path:
            yield f"daemon/{node}:1: include cycle: {' -> '.join(path[path.index(node):] + [node])}"
        elif node not in done:
            path.append(node)
            for other in graph.get(node, ()):
                yield from visit(other)
            path.pop()
            done.add(node)

    for node in sorted(graph):
        yield from visit(node)


def check_lonely(top, graph, users):
    """Headers that serve one neighbour only. A rig of the unit tests counts as a test."""
    tested = {name for folder in ("unit", "fuzz") for source in csource.sources(top, [f"tests/{folder}"])
              for _, _, name in source.includes()}
    tests = [path.stem for path in (top / "tests" / "unit").glob("test_*.c")]
    for header in sorted(h for h in graph if h.endswith(".h")):
        name = "test_" + header.split("/")[-1][:-2]
        named = any(test == name or test.startswith(name + "_") for test in tests)
        lonely = len(users.get(header, ())) <= 1 and header not in tested and not named
        if lonely and header not in LONELY:
            yield f"daemon/{header}:1: one module includes this header and no unit test does: merge them"
        if not lonely and header in LONELY:
            yield f"daemon/{header}:1: not lonely any more: take it off the list in layers.py"


def check_cmake(top):
    """CMakeLists.txt holds the same table in its layer() lines."""
    path = top / "CMakeLists.txt"
    text = path.read_text() if path.exists() else ""
    for match in re.finditer(r"^layer\((\w+)\s*(?:USES ([a-z ]+))?", text, re.M):
        name, uses = match.group(1), set((match.group(2) or "").split())
        if name not in USES or uses - USES[name]:
            line = text.count("\n", 0, match.start()) + 1
            extra = " ".join(sorted(uses - USES.get(name, set())))
            yield f"CMakeLists.txt:{line}: layer {name} may not use {extra or 'anything: unknown layer'}"


def check(top, _arguments):
    problems, graph, users = [], {}, {}
    for source in csource.sources(top, ["daemon"]):
        inside = source.rel[len("daemon/"):]
        layer = inside.split("/")[0]
        if layer not in USES:
            problems.append(f"{source.rel}:1: ARCHITECTURE.md knows no layer {layer}")
            continue
        problems += check_arrows(source, inside, layer)
        problems += check_own_header(source, inside)
        ours = [name for _, kind, name in source.includes() if kind == '"']
        if source.path.suffix == ".h":
            graph[inside] = ours
        for name in ours:
            if name != inside[:-1] + "h":
                users.setdefault(name, []).append(inside)
    problems += check_cycles(graph)
    problems += check_lonely(top, graph, users)
    problems += check_cmake(top)
    return problems


if __name__ == "__main__":
    csource.main(check)
