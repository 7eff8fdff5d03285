# SPDX-License-Identifier: Apache-2.0
"""Rights of hooks by configuration (capabilities, no_new_privileges, rlimits), and programs that try to
get more."""
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

import capability
from control import wait_until
from fakeapi import service
from harness import INFORMERD, NOBODY
from proctree import exists, reap

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="starts programs as another user")
USER = pwd.getpwuid(NOBODY).pw_name
STATUS = "grep -E '^(Cap|NoNewPrivs)' /proc/self/status"
LIMITS = """import json, resource
print(json.dumps({name: resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))
                  for name in "as core cpu fsize memlock nofile nproc stack".split()}))"""
NET_ADMIN = capability.bits("NET_ADMIN")


def line(shell, **more):
    return {"sources": ["services"], "shell": shell, "user": USER, **more}


def ended(d, hook="h", program="command"):
    """The last run of a program of the hook, once it has ended."""
    def find():
        runs = [run for run in d.ctl_json("runs", hook) if run["program"] == program]
        return runs[0] if runs else None
    return wait_until(find, what=f"a run of {hook}")


def status(d, hook="h"):
    return capability.parse(ended(d, hook)["stdout"])


@pytest.fixture
def start(api, daemon):
    """start(h=settings, ...): a daemon with these hooks, and one object for which they run."""
    def make(launcher=(), **hooks):
        api.apply(service("n/a"))
        d = daemon(api, hooks=hooks, start=False)
        d.launcher = list(launcher)
        return d.start()
    return make


@pytest.fixture
def folder():
    """A folder in which programs of everybody may write, and root's setuid bits count."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="ifd-", dir="/var/tmp"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def suid(folder):
    """A program of root with the setuid bit, which shows its own rights."""
    assert not os.statvfs(folder).f_flag & os.ST_NOSUID
    program = folder / "suid"
    shutil.copy(shutil.which("grep"), program)
    program.chmod(0o4755)
    return program


def test_a_hook_of_an_ordinary_user_has_exactly_the_capabilities_that_it_names(start):
    d = start(h=line(STATUS, capabilities=["CAP_NET_ADMIN"]))
    sets = status(d)
    assert {sets[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {NET_ADMIN}
    assert sets["CapBnd"] == capability.of(d.helper)["CapBnd"] and sets["NoNewPrivs"] == 0


def test_each_program_of_a_hook_has_the_rights_of_the_hook(start, folder):
    def show(name):
        return ["/bin/sh", "-c", f"{STATUS} >{folder}/{name}; ulimit -n >>{folder}/{name}"]
    start(h={"sources": ["services"], "user": USER, "command": show("command"), "check": show("check"),
             "apply": show("apply"), "output": folder / "out", "mode": "snapshot",
             "capabilities": ["CAP_NET_ADMIN", "CAP_NET_RAW"], "no_new_privileges": True,
             "rlimits": {"nofile": "77"}})
    for name in ("command", "check", "apply"):
        text = wait_until(lambda: (folder / name).exists() and (folder / name).read_text().endswith("\n77\n")
                          and (folder / name).read_text(), what=name)
        sets = capability.parse(text)
        assert sets["CapEff"] == sets["CapPrm"] == NET_ADMIN | capability.bits("NET_RAW"), name
        assert sets["NoNewPrivs"] == 1, name


def test_a_hook_that_names_no_capabilities_has_those_of_its_user(start):
    d = start(h=line(STATUS), r=line(STATUS, user="root"), n=line(STATUS, user="root", no_new_privileges=True))
    sets = status(d)
    assert [sets[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0, 0, 0, 0]
    mine = capability.of("self")
    for hook in "rn":
        sets = status(d, hook)
        assert sets["CapPrm"] == sets["CapEff"] == mine["CapPrm"], "root has all, though the helper has lowered its own"
        assert sets["CapBnd"] == mine["CapBnd"] and sets["CapAmb"] == 0


def test_a_hook_of_root_can_be_cut_to_the_capabilities_that_it_names(start, suid):
    d = start(h=line(f"{STATUS}; {suid} CapPrm /proc/self/status", user="root",
                     capabilities=["CAP_NET_ADMIN"], no_new_privileges=True))
    run = ended(d)
    sets = capability.parse(run["stdout"])
    assert sets["CapPrm"] == sets["CapEff"] == NET_ADMIN
    assert all(int(text, 16) == NET_ADMIN for text in re.findall(r"CapPrm:\s(\w+)", run["stdout"]))


def test_a_capability_that_is_not_named_cannot_be_used(start, folder):
    (folder / "roots").touch()
    d = start(h=line(f"chown {NOBODY} {folder}/roots", capabilities=["CAP_NET_ADMIN"], retry={"attempts": 1}),
              c=line(f"chown {NOBODY} {folder}/roots", capabilities=["CAP_CHOWN"], after=["h"]))
    assert ended(d)["result"] == "exit status 1" and "not permitted" in ended(d)["stderr"]
    assert ended(d, "c")["result"] == "exit status 0" and (folder / "roots").stat().st_uid == NOBODY


def test_no_new_privileges_takes_the_setuid_bit_away(start, suid):
    show = f"{suid} CapPrm /proc/self/status"
    d = start(free=line(show, capabilities=["CAP_NET_ADMIN"]),
              held=line(show, capabilities=["CAP_NET_ADMIN"], no_new_privileges=True),
              none=line(show, no_new_privileges=True))
    assert status(d, "free")["CapPrm"] == capability.of("self")["CapBnd"], "sudo works unless it is told not to"
    assert status(d, "held")["CapPrm"] == NET_ADMIN
    assert status(d, "none")["CapPrm"] == 0


def test_no_capability_comes_back_to_a_hook(start):
    """Raised again, added to the inheritable set, or by becoming root."""
    tries = " ; ".join([
        "setpriv --inh-caps +net_raw --ambient-caps +net_raw true && echo raised",
        "setpriv --reuid 0 --clear-groups true && echo root",
        "setpriv --securebits +noroot true && echo securebits"])
    d = start(h=line(f"{tries}; {STATUS}", capabilities=["CAP_NET_ADMIN"], no_new_privileges=True))
    run = ended(d)
    assert not re.search("raised|root|securebits", run["stdout"])
    assert len(run["stderr"].splitlines()) >= 3 and capability.parse(run["stdout"])["CapPrm"] == NET_ADMIN


def test_a_hook_with_capabilities_dies_with_the_helper(start, folder):
    """A change of capabilities may clear PR_SET_PDEATHSIG."""
    shell = f"echo $$ >{folder}/new && mv {folder}/new {folder}/pid; exec sleep 9999"
    d = start(h=line(shell, capabilities=["CAP_NET_ADMIN"], no_new_privileges=True, timeout="1h"))
    pid = int(wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text()))
    for process in (d.helper, d.pid):
        os.kill(process, signal.SIGKILL)
    d.expected_exit = d.wait_exit()
    wait_until(lambda: reap(pid) or not exists(pid), what="the kernel has killed the hook")


def test_the_limits_of_a_hook(start):
    inherited = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    d = start(h={"sources": ["services"], "user": USER, "command": [sys.executable, "-c", LIMITS],
                 "rlimits": {"as": "1GiB:2GiB", "core": "0B", "cpu": "1min:infinity", "fsize": "1MiB",
                             "nofile": "100:200", "nproc": "4000", "stack": "4MiB:8MiB"}})
    mib = 1024 * 1024
    assert json.loads(ended(d)["stdout"]) == {
        "as": [1024 * mib, 2048 * mib], "core": [0, 0], "cpu": [60, -1], "fsize": [mib, mib],
        "memlock": list(inherited), "nofile": [100, 200], "nproc": [4000, 4000], "stack": [4 * mib, 8 * mib]}


def test_a_program_cannot_raise_its_hard_limit(start):
    d = start(h=line("(ulimit -n 201 && echo raised); ulimit -Sn 150; ulimit -Sn; ulimit -Hn",
                     rlimits={"nofile": "100:200"}))
    run = ended(d)
    assert run["stdout"].split() == ["150", "200"] and "imit" in run["stderr"]


@pytest.mark.skipif(not capability.of("self")["CapPrm"] & capability.bits("SYS_RESOURCE"),
                    reason="root may not raise limits on this machine")
def test_the_helper_raises_a_hard_limit_for_one_hook(start):
    d = start(["prlimit", "--nofile=256:512"], h=line("ulimit -Sn; ulimit -Hn", rlimits={"nofile": "1024:4096"}),
              r=line("ulimit -Sn; ulimit -Hn"))
    assert ended(d)["stdout"].split() == ["1024", "4096"] and ended(d, "r")["stdout"].split() == ["256", "512"]


def test_a_program_that_uses_up_its_processor_time_or_file_size_is_ended(start, folder):
    d = start(cpu=line("while :; do :; done", rlimits={"cpu": "1s:2s", "core": "0B"}, retry={"attempts": 1}),
              size=line(f"exec head -c 100000 /dev/zero >{folder}/big", rlimits={"fsize": "4KiB", "core": "0B"},
                        retry={"attempts": 1}))
    assert ended(d, "cpu")["result"].startswith("killed by signal 24")
    assert ended(d, "size")["result"].startswith("killed by signal 25") and (folder / "big").stat().st_size == 4096


def test_a_hook_whose_limit_of_memory_is_used_up_fails_alone(start):
    grab = [sys.executable, "-c", "x = bytearray(1 << 30)"]
    d = start(h={"sources": ["services"], "user": USER, "command": grab, "rlimits": {"as": "512MiB"},
                 "retry": {"attempts": 1}})
    assert ended(d)["result"] == "exit status 1" and "MemoryError" in ended(d)["stderr"]
    assert d.running()


def test_hooks_with_other_rights_do_not_share_their_apply(start, folder):
    def hook(name, **more):
        return {"sources": ["services"], "user": USER, "shell": f"echo {name}", "mode": "snapshot",
                "output": folder / name, "apply": ["/bin/sh", "-c", STATUS], **more}
    d = start(a=hook("a"), b=hook("b"), c=hook("c", capabilities=["CAP_NET_ADMIN"]),
              n=hook("n", no_new_privileges=True), r=hook("r", rlimits={"nofile": "99"}))
    runs = {name: ended(d, name, "apply")["run"] for name in "abcnr"}
    assert runs["a"] == runs["b"] and len(set(runs.values())) == 4


def check(tmp_path, settings, launcher=()):
    """The lines that --check prints for a hook with these settings."""
    config = tmp_path / "informerd.conf"
    config.write_text('clusters : { c : { servers = [ "https://127.0.0.1:1" ]; token_file = "/etc/hostname"; }; };\n'
                      'watches : { w : { resource = "nodes"; }; };\n'
                      f'user = "{USER}"; state_dir = "none"; metrics : {{ listen = [ ]; }};\n'
                      f'hooks : {{ h : {{ sources = [ "w" ]; shell = "true";\n{settings}\n}}; }};\n')
    config.chmod(0o600)
    done = subprocess.run([*launcher, INFORMERD, "-c", config, "--check"], capture_output=True, text=True)
    assert done.returncode == (78 if done.stderr else 0)
    return done.stderr.replace(str(config), "FILE")


@pytest.mark.parametrize("settings, message", [
    ('capabilities = [ "CAP_NET_ADMIM" ];', 'FILE:5: hooks.h.capabilities[0]: "CAP_NET_ADMIM" is no capability'),
    ('capabilities = [ "CAP_KILL", "CAP_KILL" ];', 'FILE:5: hooks.h.capabilities: "CAP_KILL" is named twice'),
    ('user = "root";\ncapabilities = [ "CAP_KILL" ];',
     "FILE:6: hooks.h.capabilities: a program of root has all others"),
    ('rlimits : { nofile = "many"; };', 'FILE:5: hooks.h.rlimits.nofile: "many" is no limit: a number'),
    ('rlimits : { as = "1024"; };', 'FILE:5: hooks.h.rlimits.as: "1024" is no limit: a size'),
    ('rlimits : { cpu = "1500ms"; };', 'FILE:5: hooks.h.rlimits.cpu: "1500ms" is no limit: whole seconds'),
    ('rlimits : { cpu = "0s"; };', 'FILE:5: hooks.h.rlimits.cpu: "0s" is no limit: whole seconds'),
    ('rlimits : { nproc = "9:8"; };', 'FILE:5: hooks.h.rlimits.nproc: "9:8" has a soft limit above the hard one'),
    ('rlimits : { nofile = "infinity"; };', 'FILE:5: hooks.h.rlimits.nofile: "infinity" is above the hard limit'),
    ('rlimits : { nice = "1"; };', "FILE:5: unknown setting hooks.h.rlimits.nice"),
])
def test_check_names_the_line_of_a_right_that_cannot_be_given(tmp_path, settings, message):
    assert check(tmp_path, settings).startswith(message)


def test_check_accepts_rights_that_can_be_given(tmp_path):
    assert not check(tmp_path, 'capabilities = ( "CAP_NET_ADMIN" ); no_new_privileges = true;\n'
                               'rlimits : { nofile = "1024:infinity"; core = "infinity"; };'
                     .replace("1024:infinity", "1024:2048"))


def test_check_looks_at_what_informerd_itself_may(tmp_path):
    """As in a unit with CapabilityBoundingSet= and LimitNOFILE=."""
    few = ["prlimit", "--nofile=256:512", "setpriv", "--bounding-set", "-net_admin,-sys_resource"]
    text = check(tmp_path, 'capabilities = [ "CAP_KILL", "CAP_NET_ADMIN" ];\nrlimits : { nofile = "513"; };', few)
    assert re.match(r"FILE:5: hooks\.h\.capabilities\[1\]: informerd itself does not have CAP_NET_ADMIN", text)
    assert re.search(r'^FILE:6: hooks\.h\.rlimits\.nofile: "513" is above the hard limit of informerd, 512', text, re.M)
    assert not check(tmp_path, 'capabilities = [ "CAP_KILL" ];\nrlimits : { nofile = "512"; };', few)
