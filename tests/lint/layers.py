#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An include may not point up, sideways, in a circle, or at a library outside its one home."""
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
    "admin": {"hook", "cache", "kube", "proto", "base"},
    "io": {"admin", "hook", "cache", "kube", "proto", "state", "base"},
    "helper": {"base"},
    "ctl": {"proto", "base"},
    "app": {"io", "helper", "conf", "admin", "hook", "cache", "kube", "proto", "state", "base"},
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
    "zlib.h": ("proto/",),
    "yaml.h": ("kube/kubeconfig",),
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
    problems, graph = [], {}
    for source in csource.sources(top, ["daemon"]):
        inside = source.rel[len("daemon/"):]
        layer = inside.split("/")[0]
        if layer not in USES:
            problems.append(f"{source.rel}:1: ARCHITECTURE.md knows no layer {layer}")
            continue
        problems += check_arrows(source, inside, layer)
        problems += check_own_header(source, inside)
        if source.path.suffix == ".h":
            graph[inside] = [name for _, kind, name in source.includes() if kind == '"']
    problems += check_cycles(graph)
    problems += check_cmake(top)
    return problems


if __name__ == "__main__":
    csource.main(check)
