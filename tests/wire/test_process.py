# SPDX-License-Identifier: Apache-2.0
"""The two processes and the processes of hooks: descriptors, environment, umask, deaths."""
import grp
import os
import pathlib
import pwd
import re
import signal
import socket
import stat
import subprocess
import tempfile
import time

import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from harness import INFORMERD, hook_settings
from proctree import children, descendants, exists, fds, reap

PROBE = r"""
{ ls -l /proc/self/fd | sed 1d; } >"$d/fds.tmp" && mv "$d/fds.tmp" "$d/fds"
umask >"$d/umask"; pwd >"$d/pwd"
cat /proc/self/status >"$d/status"
"""


def test_a_hook_gets_a_clean_environment(api, daemon, hook):
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook}, environ={"LD_PRELOAD_NOT": "x", "HOME": "/root"})
    env = hook.wait(1)[0].env
    assert env["PATH"] == "/usr/sbin:/usr/bin:/sbin:/bin" and env["LANG"] == "C.UTF-8"
    foreign = {name for name in env if not name.startswith("INFORMERD_")} - {"PATH", "LANG"}
    assert not foreign


def test_a_hook_has_three_descriptors_and_a_default_signal_state(api, daemon, new_hook):
    hook = new_hook(extra=PROBE)
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook_settings(hook, umask="0027")})
    wait_until((hook.folder / "status").exists)
    wait_until(lambda: hook.ended() == 1)
    numbers = re.findall(r" (\d+) -> ", (hook.folder / "fds").read_text())
    assert set(numbers) - {"3"} == {"0", "1", "2"}, "3 is ls reading the folder"
    assert len(numbers) <= 4
    assert (hook.folder / "umask").read_text().strip() == "0027"
    status = dict(line.split(":\t", 1) for line in
                  (hook.folder / "status").read_text().splitlines() if ":\t" in line)
    assert int(status["SigBlk"], 16) == 0
    assert int(status["SigIgn"], 16) == 0


def test_stdin_is_a_sealed_seekable_file(api, daemon, new_hook):
    hook = new_hook()
    probe = hook.folder / "probe"
    probe.write_text(f"""#!/bin/sh
cat /dev/stdin >{hook.folder}/one
cat /dev/stdin >{hook.folder}/two
(echo x >>/dev/stdin) 2>/dev/null || echo sealed >{hook.folder}/sealed
readlink /proc/self/fd/0 >{hook.folder}/link
touch {hook.folder}/done
""")
    probe.chmod(0o755)
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook_settings(hook, command=[probe])})
    wait_until((hook.folder / "done").exists)
    one, two = ((hook.folder / name).read_bytes() for name in ("one", "two"))
    assert one == two and one.startswith(b"{")
    assert (hook.folder / "sealed").exists()
    assert "memfd" in (hook.folder / "link").read_text()


def test_a_hook_leads_its_own_process_group(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    pid = int(hook.runs()[0].name.rpartition(".")[2])
    assert pid in descendants(d.helper) and os.getpgid(pid) == pid
    assert os.getpgid(pid) != os.getpgid(d.pid)
    hook.release()


def test_there_is_one_helper_and_no_zombies(api, daemon, hook):
    for number in range(20):
        api.apply(service(f"n/s{number}"))
    d = daemon(api, hooks={"h": hook_settings(hook, concurrency=4)})
    hook.wait(20)
    d.caught_up(api)
    assert children(d.pid) == {d.helper}
    wait_until(lambda: not children(d.helper), what="finished hooks are reaped")


def test_the_helper_shows_under_a_name_of_its_own(api, daemon):
    d = daemon(api).synced()
    line = pathlib.Path(f"/proc/{d.helper}/cmdline").read_bytes()
    assert line.rstrip(b"\0") == b"informerd: helper"
    line = pathlib.Path(f"/proc/{d.pid}/cmdline").read_bytes()
    assert b"informerd.conf" in line and b": helper" not in line


@pytest.mark.parametrize("argv0", ["i", "informerd", "informerd: helpe", "informerd: helper-"])
def test_the_name_of_the_helper_fits_into_any_command_line(tmp_path, argv0):
    """ps shows the bytes of argv and, if the last one of those is no NUL, the bytes behind them."""
    config = tmp_path / "informerd.conf"
    config.write_text('user = "nobody"; clusters : { c : { servers = [ "https://127.0.0.1:1" ]; token_file = "/x"; }; };'
                      'watches : { w : { resource = "nodes"; }; }; state_dir = "none";'
                      f'control : {{ socket = "{tmp_path}/s"; }};')
    config.chmod(0o600)
    process = subprocess.Popen([argv0, "-c", config, "--once", "--timeout", "1min"],
                               executable=INFORMERD, stderr=subprocess.PIPE)
    try:
        helper = wait_until(lambda: sorted(children(process.pid)), what="a helper")[0]
        wait_until(lambda: pathlib.Path(f"/proc/{helper}/cmdline").read_bytes().rstrip(b"\0")
                   == b"informerd: helper", what="the name")
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("option,meant", [("--chekc", "check"), ("--print-rback", "print-rbac"),
                                          ("--loglevel=info", "log-level"), ("--frobnicate", None)])
def test_a_misspelt_option_suggests_the_nearest_one(option, meant):
    done = subprocess.run([INFORMERD, option], capture_output=True, text=True)
    assert done.returncode == 64 and "Try informerd --help" in done.stderr
    assert (f"Did you mean --{meant}?" in done.stderr) == (meant is not None)


def test_the_helper_holds_no_network_and_main_starts_nothing(api, daemon):
    d = daemon(api).synced()
    api.wait_watching("services")
    inodes = {target for target in fds(d.helper).values() if target.startswith("socket:")}
    tcp = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}") as table:
            tcp |= {f"socket:[{line.split()[9]}]" for line in table if ":" in line.split()[0]}
    assert not inodes & tcp


def test_killing_the_helper_stops_main_with_an_error(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    below = descendants(d.pid)
    os.kill(d.helper, signal.SIGKILL)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 1
    d.wait_problem("helper")
    wait_until(lambda: all(reap(p) or not exists(p) for p in below),
               what="the hook dies with the helper")


def test_killing_main_ends_helper_and_hooks(api, daemon, new_hook):
    hook, stubborn = new_hook(), new_hook(extra="trap '' TERM")
    hook.block()
    stubborn.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook, "s": hook_settings(stubborn, kill_grace="200ms")})
    hook.wait(1)
    stubborn.wait(1)
    below = descendants(d.pid)
    assert len(below) >= 3
    d.process.kill()
    d.expected_exit = d.wait_exit()
    wait_until(lambda: all(reap(p) or not exists(p) for p in below))


def test_the_control_socket_is_private_and_taken_over_after_a_crash(api, daemon):
    d = daemon(api).synced()
    mode = stat.S_IMODE(d.control.path.stat().st_mode)
    assert mode & 0o007 == 0
    below = descendants(d.pid)
    d.process.kill()
    d.process.wait()
    wait_until(lambda: all(reap(p) or not exists(p) for p in below))
    assert d.control.path.exists()
    d.start().synced()
    code, _ = d.stop()
    assert code == 0 and not d.control.path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("group", ["", "daemon"])
def test_the_control_socket_belongs_to_the_configured_group(api, daemon, group):
    d = daemon(api, control={"group": group}).synced()
    found = d.control.path.stat()
    assert stat.S_IMODE(found.st_mode) == 0o660 and found.st_uid == 0
    user = pwd.getpwnam(d.settings["user"])
    assert found.st_gid == (grp.getgrnam(group).gr_gid if group else user.pw_gid)


def test_a_second_daemon_on_the_same_socket_is_refused(api, daemon):
    first = daemon(api).synced()
    second = daemon(api, control={"socket": first.control.path}, start=False)
    second.start(wait=False)
    second.expected_exit = second.wait_exit()
    assert second.expected_exit != 0
    assert str(first.control.path) in second.stderr()
    assert first.control.alive()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("where", ["config", "hook", "folder"])
def test_root_refuses_files_that_others_can_write(api, daemon, hook, where):
    d = daemon(api, hooks={"h": hook}, start=False)
    {"config": d.config, "hook": hook.path, "folder": hook.folder}[where].chmod(0o777)
    d.start(wait=False)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 78
    assert "writ" in d.stderr()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("program", ["check", "apply"])
def test_root_refuses_programs_of_a_file_that_others_can_write(api, daemon, hook, new_hook,
                                                               program):
    other = new_hook()
    other.path.chmod(0o777)
    d = daemon(api, start=False, hooks={"h": hook_settings(
        hook, output=f"{hook.folder}/${{name}}", **{program: [str(other.path)]})})
    d.start(wait=False)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 78
    assert "writ" in d.stderr() and str(other.path) in d.stderr()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_main_drops_its_user_and_hooks_run_as_named(api, daemon, new_hook):
    as_user = new_hook(extra="id -un >$d/id; grep CapInh /proc/self/status >$d/caps")
    as_root = new_hook(extra="id -un >$d/id")
    as_user.folder.chmod(0o1777)
    api.apply(service("n/a"))
    d = daemon(api, user="nobody", start=False, hooks={
        "plain": hook_settings(as_user), "root": hook_settings(as_root, user="root")})
    os.chmod(as_user.folder.parent, 0o711)
    for folder in as_user.folder.parents:
        if folder != folder.parent and str(folder).startswith(tempfile.gettempdir()):
            os.chmod(folder, os.stat(folder).st_mode | 0o011)
    os.chmod(d.short, 0o755)
    d.launcher = ["setpriv", "--inh-caps", "+net_raw"]      # as in some containers
    d.start()
    wait_until(lambda: as_user.ended() == 1 and as_root.ended() == 1)
    assert (as_user.folder / "id").read_text() == "nobody\n"
    assert (as_root.folder / "id").read_text() == "root\n"
    assert int((as_user.folder / "caps").read_text().split()[1], 16) == 0
    status = open(f"/proc/{d.pid}/status").read()
    uid = int(subprocess.check_output(["id", "-u", "nobody"]))
    assert re.search(rf"^Uid:\t{uid}\t{uid}\t{uid}\t{uid}$", status, re.M)
    for one in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert re.search(rf"^{one}:\t0+$", status, re.M), status


def notify_socket(folder):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(str(folder / "n"))
    sock.settimeout(PATIENCE)
    return sock


def test_s75_ready_is_told_to_systemd_after_the_first_runs(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, start=False)
    with notify_socket(d.short) as sock:
        d.environ["NOTIFY_SOCKET"] = str(d.short / "n")
        d.start()
        if b"libsystemd" not in open(f"/proc/{d.pid}/maps", "rb").read():
            pytest.skip("built without libsystemd")
        hook.wait(1)
        assert not d.control.status()["ready"]
        hook.release()
        seen = b""
        while b"READY=1" not in seen:
            seen += sock.recv(4096) + b"\n"
        assert hook.ended() == 1
        wait_until(lambda: d.control.status()["ready"])
        d.stop()
        seen = b""
        while b"STOPPING=1" not in seen:
            seen += sock.recv(4096) + b"\n"


def read_until(sock, text):
    """Reads what informerd tells systemd until a message holds this text; returns the last one."""
    seen = b""
    while text not in seen:
        seen = sock.recv(4096)
    return seen


def test_systemctl_status_says_what_is_wrong_and_when_it_is_over(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, start=False)
    with notify_socket(d.short) as sock:
        d.environ["NOTIFY_SOCKET"] = str(d.short / "n")
        d.start()
        if b"libsystemd" not in open(f"/proc/{d.pid}/maps", "rb").read():
            pytest.skip("built without libsystemd")
        read_until(sock, b"STATUS=1 of 1 watches synced, 1 hook")
        api.kill()
        read_until(sock, b"STATUS=no contact: watch services: ")
        api.listen()
        read_until(sock, b"STATUS=1 of 1 watches synced, 1 hook")


def fields(message):
    return dict(line.split("=", 1) for line in message.decode().splitlines())


@pytest.mark.parametrize("code", [0, 78])
def test_systemd_is_told_when_a_reload_begins_and_ends_also_if_it_is_refused(api, daemon, hook, code):
    """RELOADING=1 has the time, by which systemd knows that this reload began after its signal."""
    d = daemon(api, hooks={"h": hook}, start=False)
    with notify_socket(d.short) as sock:
        d.environ["NOTIFY_SOCKET"] = str(d.short / "n")
        d.start()
        if b"libsystemd" not in open(f"/proc/{d.pid}/maps", "rb").read():
            pytest.skip("built without libsystemd")
        read_until(sock, b"READY=1")
        if code != 0:
            d.config.write_text(d.config.read_text() + "nonsense = 1;\n")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert d.ctl("reload").returncode == code
        told = fields(read_until(sock, b"RELOADING=1"))
        assert before <= int(told["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        sock.setblocking(False)     # the answer of a reload comes when systemd knows of its end
        read_until(sock, b"READY=1")


def test_the_loop_feeds_the_watchdog_of_systemd(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False)
    with notify_socket(d.short) as sock:
        d.environ.update(NOTIFY_SOCKET=str(d.short / "n"), WATCHDOG_USEC="20000")
        d.start()
        if b"libsystemd" not in open(f"/proc/{d.pid}/maps", "rb").read():
            pytest.skip("built without libsystemd")
        read_until(sock, b"READY=1")
        for _ in range(3):
            read_until(sock, b"WATCHDOG=1")


@pytest.mark.parametrize("environ", [
    pytest.param({}, id="no-watchdog"),
    pytest.param({"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}, id="of-another-process")])
def test_the_watchdog_of_another_process_is_not_fed(api, daemon, hook, environ):
    d = daemon(api, hooks={"h": hook}, start=False)
    with notify_socket(d.short) as sock:
        d.environ.update(environ, NOTIFY_SOCKET=str(d.short / "n"))
        d.start()
        if b"libsystemd" not in open(f"/proc/{d.pid}/maps", "rb").read():
            pytest.skip("built without libsystemd")
        seen = [b""]
        while b"READY=1" not in seen[-1]:
            seen.append(sock.recv(4096))
        assert b"WATCHDOG=1" not in b"".join(seen)


def test_s75_an_empty_list_makes_ready(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, limits={"ready_timeout": "1h"})
    wait_until(lambda: d.control.status()["ready"], what="ready")
    assert d.control.watch("services")["synced"] and hook.runs() == []


def test_s75_an_object_of_the_list_that_goes_before_its_run_does_not_delay_ready(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook}, limits={"ready_timeout": "1h"})
    hook.wait(1)
    now, later = ("n/a", "n/b") if hook.what()[0][1] == "n/a" else ("n/b", "n/a")
    api.delete("services", later)
    wait_until(lambda: d.control.keys("services") == [now], what="it has gone from the cache")
    assert not d.control.status()["ready"]
    hook.release()
    wait_until(lambda: d.control.status()["ready"], what="ready")
    assert hook.what() == [("ADDED", now)]


def test_s75_ready_comes_after_ready_timeout_at_the_latest(api, daemon):
    api.stop_listening()
    d = daemon(api, limits={"ready_timeout": "300ms"})
    wait_until(lambda: d.control.status()["ready"])
    assert not d.control.watch("services")["synced"]
