# SPDX-License-Identifier: Apache-2.0
"""Each lint passes a good tree and fails, with file and line, on each bad one."""
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def write(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(lint, top, *more):
    done = subprocess.run([sys.executable, str(HERE / lint), "--top", str(top), *more], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def header(guard, text):
    return f"{SPDX}#ifndef {guard}\n#define {guard}\n{text}\n#endif\n"


GOOD = {
    "CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nlayer(proto  USES base)\n",
    "dev": "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n",
    "daemon/base/buf.h": header("BASE_BUF_H", """
#include <stddef.h>

struct buf {
    char *data;
    void (*grow)(struct buf *b, size_t bytes);
};

/* A callback: no function. */
typedef int (*buf_fn)(int a, int b, int c, int d, int e, int f, int g);

extern const char *const buf_names[];

/* Makes an empty one. */
void buf_init(struct buf *b);

/* Adds text as printf does;
 * aborts without memory. */
__attribute__((format(printf, 2, 3))) void
buf_printf(struct buf *b, const char *fmt, ...);

/* What is in it. */
static inline char *buf_data(struct buf *b)
{
    return b->data;
}
"""),
    "daemon/base/buf.c": SPDX + """#include "base/buf.h"

static const char *const words[] = {"{", "a \\"; int f(void) {"};

void buf_init(struct buf *b)
{
    b->data = (char *)words[0]; /* } */
}
""",
    "daemon/proto/url.h": header("PROTO_URL_H", '#include "base/buf.h"'),
    "daemon/proto/url.c": SPDX + '#include "proto/url.h"\n#include "base/buf.h"\n',
    "daemon/helper/run.c": SPDX + '#include "base/buf.h"\n',
    "daemon/main.c": SPDX + '#include "app/daemon.h"\n#include "io/loop.h"\n',
    "tests/unit/test_url.c": SPDX + '#include "proto/url.h"\n',
    # Tests for the headers of bad trees, which are bad in other ways.
    "tests/unit/test_a.c": SPDX,
    "tests/unit/test_b_more.c": SPDX,
    "tests/unit/test_bad.c": SPDX,
}


@pytest.fixture
def top(tmp_path):
    write(tmp_path, GOOD)
    return tmp_path


@pytest.mark.parametrize("lint", ["layers.py", "prototypes.py", "sizes.py", "spdx.py"])
def test_a_good_tree_passes(top, lint):
    assert run(lint, top) == (0, "")


BAD = {
    "upward": ("layers.py", {"daemon/proto/bad.c": SPDX + '#include "hook/queue.h"\n'},
               "daemon/proto/bad.c:2: proto may not include hook/queue.h"),
    "upward in angle brackets": ("layers.py", {"daemon/base/bad.h": SPDX + "#include <proto/url.h>\n"},
                                 "daemon/base/bad.h:2: base may not include proto/url.h"),
    "sideways": ("layers.py", {"daemon/helper/bad.c": SPDX + '#include "proto/url.h"\n'},
                 "daemon/helper/bad.c:2: helper may not include proto/url.h"),
    "into app": ("layers.py", {"daemon/io/bad.c": SPDX + '#include "app/daemon.h"\n'},
                 "daemon/io/bad.c:2: io may not include app/daemon.h"),
    "an unknown layer": ("layers.py", {"daemon/util/bad.c": SPDX}, "daemon/util/bad.c:1: "),
    "a path without layer": ("layers.py", {"daemon/base/bad.c": SPDX + '#include "buf.h"\n'},
                             "daemon/base/bad.c:2: write our own headers"),
    "a path around the view": ("layers.py", {"daemon/base/bad.c": SPDX + '#include "../io/loop.h"\n'},
                               "daemon/base/bad.c:2: write our own headers"),
    "libuv outside io": ("layers.py", {"daemon/hook/bad.c": SPDX + "\n#include <uv.h>\n"},
                         "daemon/hook/bad.c:3: <uv.h> is at home in daemon/io/ only"),
    "mbedTLS outside tls": ("layers.py", {"daemon/proto/url.c": SPDX + '#include "proto/url.h"\n'
                                          "#include <mbedtls/ssl.h>\n"},
                            "daemon/proto/url.c:3: <mbedtls/ssl.h> is at home"),
    "an include cycle": ("layers.py", {"daemon/base/a.h": '#include "base/b.h"\n',
                                       "daemon/base/b.h": '#include "base/a.h"\n'},
                         "include cycle: base/a.h -> base/b.h -> base/a.h"),
    "a header for one neighbour": ("layers.py", {"daemon/base/part.h": SPDX,
                                                 "daemon/base/buf.c": SPDX + '#include "base/buf.h"\n'
                                                 '#include "base/part.h"\n'},
                                   "daemon/base/part.h:1: one module includes this header"),
    "own header second": ("layers.py", {"daemon/proto/url.c": '#include "base/buf.h"\n'
                                        '#include "proto/url.h"\n'},
                          'daemon/proto/url.c:1: include "proto/url.h" first'),
    "an arrow in CMake": ("layers.py", {"CMakeLists.txt": "\nlayer(proto USES hook base)\n"},
                          "CMakeLists.txt:2: layer proto may not use hook"),
    "a bare prototype": ("prototypes.py", {"daemon/base/x.h": header(
        "BASE_X_H", "/* The first. */\nint x_one(void);\nMUST_CHECK int\nx_two(int a);")},
                         "daemon/base/x.h:6: x_two() has no comment"),
    "a comment too far up": ("prototypes.py", {"daemon/base/x.h": header(
        "BASE_X_H", "/* Far. */\n\nint x_one(void);")}, "daemon/base/x.h:6: x_one() has no"),
    "a bare inline function": ("prototypes.py", {"daemon/base/x.h": header(
        "BASE_X_H", "struct x {\n    int a;\n};\nstatic inline int x_one(void)\n{\n    return 1;\n}")},
                               "daemon/base/x.h:7: x_one() has no comment"),
    "a wrong guard": ("prototypes.py", {"daemon/base/x.h": header("X_H", "")},
                      "daemon/base/x.h:1: the guard of this header is BASE_X_H"),
    "a long function": ("sizes.py", {"daemon/base/x.c": "int x(void)\n{\n" + "    ;\n" * 58 + "}\n"},
                        "daemon/base/x.c:1: x() has 61 lines, the limit is 60"),
    "a long file": ("sizes.py", {"daemon/base/x.c": "\n" * 1001}, "x.c:1001: 1001 lines"),
    "a long header": ("sizes.py", {"daemon/base/x.h": "\n" * 201}, "x.h:201: 201 lines"),
    "many parameters": ("sizes.py", {"daemon/base/x.c": "void x(int a, int b, int (*c)(int, int),\n"
                                     "       int d, int e, int f, int g);\n"},
                        "daemon/base/x.c:1: x() has 7 parameters, the limit is 6"),
    "no licence in C": ("spdx.py", {"daemon/base/x.c": "int x;\n"}, "daemon/base/x.c:1: "),
    "no licence in a script": ("spdx.py", {"config/hooks/x": "#!/bin/sh\necho\n"}, "config/hooks/x:1: "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_tree_fails(top, name):
    lint, files, message = BAD[name]
    write(top, files)
    code, output = run(lint, top)
    assert code == 1
    assert message in output
    assert len(output.splitlines()) == 1, output


def test_limits_are_inclusive(top):
    write(top, {"daemon/base/x.c": "int x(int a, int b, int c, int d, int e, int f)\n{\n" + "    ;\n" * 57
                + "}\n" + "\n" * 440, "daemon/base/x.h": "\n" * 150})
    assert run("sizes.py", top) == (0, "")


def build(top, layer, name, text):
    """Compiles one file into libLAYER.a as CMake does."""
    write(top, {f"daemon/{layer}/{name}.c": text})
    member = top / f"{name}.c.o"
    subprocess.run(["cc", "-fPIE", "-fcommon", "-c", str(top / f"daemon/{layer}/{name}.c"), "-o",
                    str(member)], check=True)
    subprocess.run(["ar", "rc", str(top / f"lib{layer}.a"), str(member)], check=True)


@pytest.mark.parametrize("text,symbol", [
    ("static int count;\nint f(void);\nint f(void) { return count++; }", "count"),
    ("int count = 1;", "count"),
    ("int count;", "count"),
    ("int f(void);\nint f(void) { static int calls = 3; return calls++; }", "calls"),
    ("static _Thread_local int count;\nint f(void);\nint f(void) { return count++; }", "count"),
    ("const char *names[] = {\"a\"};", "names"),
])
def test_writable_globals_fail(top, text, symbol):
    build(top, "base", "buf", text)
    build(top, "helper", "run", text)
    build(top, "proto", "url", "int u(void);\nint u(void) { return 0; }")
    code, output = run("sizes.py", top, "--build", str(top))
    assert code == 1
    lines = output.splitlines()
    assert len(lines) == 2, output
    assert f": {symbol} is a writable global" in lines[0]
    assert lines[0].startswith("daemon/base/buf.c:") and lines[1].startswith("daemon/helper/run.c:")


def test_constants_and_exempt_files_pass(top):
    state = "static int count;\nint f(void);\nint f(void) { return count++; }"
    build(top, "base", "buf", "extern const char *const n[];\nconst char *const n[] = {\"a\", \"b\"};")
    build(top, "base", "log", state)
    build(top, "app", "daemon", state)
    build(top, "helper", "run", "int h(void);\nint h(void) { return 0; }")
    build(top, "proto", "url", "int u(void);\nint u(void) { return 0; }")
    assert run("sizes.py", top, "--build", str(top)) == (0, "")


def test_a_library_that_is_not_built_fails(top):
    code, output = run("sizes.py", top, "--build", str(top))
    assert code == 1
    assert "libproto.a is not built" in output
