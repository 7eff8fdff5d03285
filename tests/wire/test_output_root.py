# SPDX-License-Identifier: Apache-2.0
"""output of a daemon that was started as root, in folders of another user, who attacks it there."""
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import campaign
import pytest
from control import wait_until
from fakeapi import service
from outputs import PORTS, Place, port
from harness import NOBODY, RETRY
from proctree import kill

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root and another user")
PR_SET_PDEATHSIG = 1
OBJECTS = campaign.size(30, 60)
TURNS = campaign.size(12, 30)


@pytest.fixture
def place():
    """The folder of output files, in a place that user nobody can enter as well."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
    folder.chmod(0o755)
    yield Place(folder / "place")
    shutil.rmtree(folder)


def give(folder):
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder


@pytest.fixture
def as_nobody():
    """Starts a Python script as user nobody in a folder; returns when the script has printed
    "up"."""
    started = []

    def become():
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def start(script, folder):
        process = subprocess.Popen([sys.executable, "-c", "print('up', flush=True)\n" + script],
                                   cwd=folder, stdout=subprocess.PIPE, preexec_fn=become, text=True)
        started.append(process)
        assert process.stdout.readline() == "up\n"
        return process
    yield start
    for process in started:
        kill([process.pid])
        process.wait()


def each(place, folder, **more):
    return {"sources": ["services"], "retry": RETRY, "concurrency": 4, **PORTS,
            "output": folder / "${name}.conf", **more}


SWAP = """
import ctypes, itertools
libc = ctypes.CDLL(None)
for turn in itertools.count():
    libc.renameat2(-100, b"conf", -100, b"link", 2)
"""


def test_a_folder_on_the_way_that_becomes_a_link(place, api, daemon, as_nobody):
    """Only informerd's own checks stand between the attacker and root's folder."""
    theirs, precious = give(place / "theirs"), place / "precious"
    give(theirs / "conf")
    precious.mkdir()
    (precious / "s1.conf").write_text("precious\n")
    os.symlink(precious, theirs / "link")
    os.lchown(theirs / "link", NOBODY, NOBODY)
    attacker = as_nobody(SWAP, theirs)
    api.apply(*(service(f"n/s{i}", ports=[1000 + i]) for i in range(OBJECTS)))
    d = daemon(api, hooks={"h": each(place, theirs / "conf", output_owner="nobody")})
    wait_until(lambda: d.control.hook("h")["runs_ok"] >= OBJECTS)
    for i in range(0, OBJECTS, 2):
        api.delete("services", f"n/s{i}")
    wait_until(lambda: d.control.hook("h")["runs_ok"] >= OBJECTS * 3 // 2)
    assert attacker.poll() is None
    assert [path.name for path in precious.iterdir()] == ["s1.conf"]
    assert (precious / "s1.conf").read_text() == "precious\n"
    assert precious.stat().st_uid == 0


READ_ALL = """
import os
while True:
    for name in os.listdir("."):
        try:
            os.close(os.open(name, os.O_RDONLY | os.O_NOFOLLOW))
        except (FileNotFoundError, PermissionError):
            continue
        print("read", name, flush=True)
"""


@pytest.mark.parametrize("owner", ["", "daemon:daemon"])
def test_nobody_else_reads_the_file_at_any_moment(place, api, daemon, as_nobody, owner):
    place.folder.chmod(0o755)
    api.apply(*(service(f"n/s{i}", ports=[1000 + i]) for i in range(4)))
    attacker = as_nobody(READ_ALL, place.folder)
    d = daemon(api, hooks={"h": each(place, place.folder, output_mode="0600", output_owner=owner,
                                     umask="0000")})
    d.caught_up(api)
    for turn in range(TURNS):
        api.apply(*(service(f"n/s{i}", ports=[1000 + turn * 10 + i]) for i in range(4)))
        d.caught_up(api)
        for path in place.folder.glob("s?.conf"):   # informerd has to correct owner and mode
            if turn % 3 == 0:
                path.chmod(0o600)
                os.chown(path, 0, 0)
    assert len(place.files()) == 4 and attacker.poll() is None
    kill([attacker.pid])
    assert attacker.stdout.read() == ""


PLANT = """
import os, itertools, ctypes, random
def attempt(call, *args):
    try:
        call(*args)
    except OSError:
        pass
for turn in itertools.count():
    for name in os.listdir("."):
        if name.startswith(".informerd-") or turn % 50 == 0:
            attempt(os.unlink, name)
            attempt(os.rmdir, name)
            kind = random.randrange(5)
            if kind == 0:
                attempt(os.symlink, "../precious/s1.conf", name)
            elif kind == 1:
                attempt(os.link, "../precious/public", name)
            elif kind == 2:
                attempt(os.mkfifo, name)
            elif kind == 3:
                attempt(os.mkdir, name)
            else:
                attempt(lambda: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o666)))
"""


def test_an_attacker_who_plants_files_harms_only_itself(place, api, daemon, as_nobody):
    theirs, precious = give(place / "theirs"), place / "precious"
    precious.mkdir()
    for name in ("s1.conf", "public"):
        (precious / name).write_text("precious\n")
        (precious / name).chmod(0o644)
    before = {path.name: path.stat() for path in precious.iterdir()}
    attacker = as_nobody(PLANT, theirs)
    d = daemon(api, hooks={"h": each(place, theirs, output_mode="0666", output_owner="nobody")})
    for turn in range(TURNS):
        api.apply(*(service(f"n/s{i}", ports=[1000 + turn * 10 + i]) for i in range(10)))
        wait_until(lambda: sum(d.control.hook("h")[what] for what in ("runs_ok", "runs_failed"))
                   > turn * 10)
    assert attacker.poll() is None
    kill([attacker.pid])
    for path in list(theirs.iterdir()):   # informerd does not remove folders and pipes
        try:
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            elif not path.is_file():
                path.unlink()
        except FileNotFoundError:
            pass    # the temporary file of a run that is tried again
    assert d.ctl("run", "h", "--wait").returncode == 0
    for i in range(10):
        path = theirs / f"s{i}.conf"
        assert not path.is_symlink() and path.read_text() == port(1000 + (TURNS - 1) * 10 + i)
        assert path.stat().st_mode & 0o7777 == 0o666 and path.stat().st_uid == NOBODY
    assert sorted(before) == sorted(path.name for path in precious.iterdir())
    for name, stat in before.items():
        now = (precious / name).stat()
        assert (now.st_ino, now.st_mode, now.st_uid, now.st_ctime_ns) == (
            stat.st_ino, stat.st_mode, stat.st_uid, stat.st_ctime_ns), name


def test_a_link_of_another_user_on_the_way_is_reported(place, api, daemon):
    theirs, precious = give(place / "theirs"), place / "precious"
    precious.mkdir()
    os.symlink(precious, theirs / "conf")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": each(place, theirs / "conf")})
    d.wait_problem("output", str(theirs / "conf/a.conf"), "folder", "others than root")
    assert not list(precious.iterdir())
    warned = d.log(msg="a hook cannot run now")[0]["problem"]
    assert str(theirs / "conf") in warned and "others than root" in warned
