# SPDX-License-Identifier: Apache-2.0
"""The daemon in careless or hostile surroundings: limits, signals, standard streams, odd
environments, configurations of unusual size, and files that others than root can write."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

import campaign
import pytest
from confwriter import merge
from control import wait_until
from fakeapi import service
from harness import INFORMERD, check_config, hook_settings, is_sanitized
from proctree import children, few_descriptors, memory_kb

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def launch(d, command=None, **popen):
    """Starts a daemon with the test's own command, environment, streams and limits."""
    settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": "/",
                "env": {"PATH": os.environ["PATH"]}, "start_new_session": True, **popen}
    stderr = settings.pop("stderr", None)
    with open(d.stderr_file, "ab") as log:
        d.process = subprocess.Popen(command or [INFORMERD, "-c", d.config],
                                     stderr=log if stderr is None else stderr, **settings)
    d.wait_control()
    return d


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def switches(pid):
    """The number of times that the process has gone to sleep."""
    return memory_kb(pid, "voluntary_ctxt_switches")


def many_watches(count):
    return {f"w{n}": {"resource": "services", "namespaces": [f"ns{n}"]} for n in range(count)}


# ---- Ready

@pytest.mark.parametrize("settings", [{}, {"existing": "skip"}, {"mode": "snapshot"}],
                         ids=["nothing-to-run", "skip", "snapshot"])
def test_ready_does_not_wait_for_missing_objects(api, daemon, hook, settings):
    if settings:
        api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, **settings)}).synced()
    wait_until(lambda: d.control.status()["ready"])


def test_an_empty_configuration_is_ready_at_once(api, daemon):
    d = daemon(api, watches={})
    wait_until(lambda: d.control.status()["ready"])
    assert d.control.status()["watches"] == {} and not api.requests


# ---- Signals

def test_a_signal_without_a_meaning_does_not_end_the_daemon(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).synced()
    d.signal(signal.SIGPIPE)
    api.apply(service("n/a"))
    hook.wait(1)


def test_signals_that_were_blocked_or_ignored_still_end_the_daemon(api, daemon):
    def prepare():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    d = launch(daemon(api, start=False), preexec_fn=prepare)
    assert d.stop()[0] == 0


@as_root
def test_a_daemon_as_first_process_of_a_container_leaves_no_zombies(api, daemon, new_hook):
    hook = new_hook(extra="(sleep 0.01 &) ; (sleep 0.01 &)")
    api.apply(*(service(f"n/s{n}") for n in range(10)))
    d = daemon(api, hooks={"h": hook}, start=False)
    # a /proc of its own, also where / is no mount point (chroot), which --mount-proc needs
    own_proc = 'mount --make-private /proc && mount -t proc proc /proc && exec "$@"'
    launch(d, ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation",
               "unchanged", "sh", "-c", own_proc, "-", INFORMERD, "-c", d.config])
    hook.wait(10)
    d.caught_up(api)
    main, = children(d.pid)
    wait_until(lambda: len(children(main)) == 1, what="orphans are reaped")
    os.kill(main, signal.SIGTERM)
    assert d.wait_exit() == 0


# ---- Standard streams

def test_without_standard_streams(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False)
    launch(d, ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "-", INFORMERD, "-c", d.config])
    api.apply(service("n/a"))
    hook.wait(1)
    assert d.stop()[0] == 0


def test_a_reader_of_the_log_that_goes_away(api, daemon, hook):
    read, write = os.pipe()
    os.close(read)
    d = launch(daemon(api, hooks={"h": hook}, start=False), stderr=write)
    os.close(write)
    api.apply(service("n/a"))
    hook.wait(1)


def test_a_log_reader_that_does_not_read_stops_nothing(api, daemon, new_hook):
    hook = new_hook(extra="i=0; while [ $i -lt 40 ]; do printf '%04000d\\n' $i; i=$((i+1)); done")
    read, write = os.pipe()
    d = launch(daemon(api, hooks={"h": hook}, start=False), stderr=write)
    os.close(write)
    for number in range(3):
        api.apply(service(f"n/s{number}"))
        hook.wait(number + 1)
    d.caught_up(api)
    os.set_blocking(read, False)
    text = os.read(read, 1 << 20)
    assert len(text) >= 32768
    api.apply(service("n/last"))
    with open(read, "rb", buffering=0) as log:
        def told():
            nonlocal text
            text += log.read(1 << 20) or b""
            return b"log lines were dropped" in text
        wait_until(told)


# ---- Limits

def test_few_descriptors_and_many_watches(api, daemon, hook):
    """Connections that cannot be opened are tried again, without a busy loop; open ones go on."""
    api.apply(service("ns0/a"))
    api.stop_listening()
    d = daemon(api, watches=many_watches(64), tuning={"backoff": {"initial": "100ms"}},
               hooks={"h": hook_settings(hook, sources=["w0"], concurrency=4)})
    with few_descriptors(d.pid, 20):
        api.listen()
        d.wait_problem("open files", "LimitNOFILE")
        before, begin = cpu_seconds(d.pid), time.monotonic()
        time.sleep(1)
        used, passed = cpu_seconds(d.pid) - before, time.monotonic() - begin
        assert used < passed / 2 and d.running(), "a daemon that spins uses all of the time"
    d.synced()
    hook.wait(1)


@pytest.mark.parametrize("state, limit", [("none", 20), (None, 30)])    # SQLite needs some as well
def test_a_start_with_few_descriptors(api, daemon, state, limit):
    kept = {} if state is None else {"state_dir": state}
    d = daemon(api, watches=many_watches(64), start=False, **kept)
    launch(d, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    d.wait_problem("open files", "LimitNOFILE")
    wait_until(lambda: len(d.log(msg="watch synced")) > 3)


def test_a_hook_that_found_no_descriptors_runs_once_there_are_some(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).synced()
    api.wait_watching("services")
    with few_descriptors(d.pid, 1):
        api.apply(service("n/a"))
        d.wait_problem("cannot start runs", "open files")
    hook.wait(1)


# ---- Idle

def test_an_idle_daemon_sleeps(api, daemon, hook):
    """While the server sends nothing, neither process wakes up, once the state is on disk."""
    api.apply(service("n/a"))
    d = daemon(api, watches=many_watches(16), hooks={"h": hook_settings(hook, sources=["w0"])})
    d.settled(api)

    def sleeps():
        before = {pid: switches(pid) for pid in pids}
        time.sleep(1.2)     # longer than the period of any usual timer
        return {pid: switches(pid) for pid in pids} == before
    pids = (d.pid, d.helper)
    wait_until(sleeps, what="a time without a wake-up")


# ---- Environments

@pytest.mark.parametrize("environ", [
    {}, {"LC_ALL": "tr_TR.UTF-8", "LANG": "\xff", "TZ": ":/nonsense", "PATH": ""},
    {"NOTIFY_SOCKET": "/no/such/socket", "JOURNAL_STREAM": "1:1", "LISTEN_FDS": "3"},
    {"X" * 1000: "y" * 100000},
], ids=["none", "locale", "systemd", "large"])
def test_odd_environments(api, daemon, hook, environ):
    d = launch(daemon(api, hooks={"h": hook}, start=False), env=environ)
    api.apply(service("n/a"))
    assert hook.wait(1)[0].env["PATH"] == "/usr/sbin:/usr/bin:/sbin:/bin"
    assert d.stop()[0] == 0


def test_a_working_folder_that_is_gone(api, daemon, hook, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    d = daemon(api, hooks={"h": hook}, start=False)
    launch(d, cwd=gone, preexec_fn=gone.rmdir)
    api.apply(service("n/a"))
    hook.wait(1)


# ---- The control socket's place

@pytest.mark.parametrize("where", ["file", "no folder", "folder", "under a file"])
def test_a_control_socket_that_cannot_be_made(api, daemon, tmp_path, where):
    (tmp_path / "file").write_text("precious")
    place = {"file": tmp_path / "file", "no folder": tmp_path / "no" / "s", "folder": tmp_path,
             "under a file": tmp_path / "file" / "s"}[where]
    d = daemon(api, control={"socket": place}, start=False)
    d.start(wait=False)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit in (1, 78) and str(place) in d.stderr()
    assert (tmp_path / "file").read_text() == "precious"


def test_a_control_socket_that_somebody_removed(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).synced()
    d.control.path.unlink()
    api.apply(service("n/a"))
    hook.wait(1)
    assert d.stop()[0] == 0


# ---- Hooks that change while they run

def test_a_hook_that_is_replaced_while_it_runs(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    new = hook.path.with_name("new")
    new.write_text(hook.path.read_text().replace("start", "start", 1) + "# new\n")
    new.chmod(0o755)
    new.rename(hook.path)
    hook.release()
    api.apply(service("n/b"))
    hook.wait(2)
    d.caught_up(api)


def test_a_hook_that_vanishes_and_comes_back(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).synced()
    away = hook.path.with_name("away")
    hook.path.rename(away)
    api.apply(service("n/a"))
    d.wait_problem("hook failed", "No such file")
    away.rename(hook.path)
    assert hook.wait(1)[0].input["reason"] == "retry"


# ---- Unusual sizes

def test_many_hooks_on_many_watches(api, daemon, new_hook):
    """Each hook runs once for each watch. With sanitizers there are fewer: a fork is slow there."""
    hook, sources = new_hook(), campaign.size(20, 50)
    count = campaign.size(10, 50) if is_sanitized() else campaign.size(40, 200)
    watches = {f"w{n}": {"resource": "services", "namespaces": ["n"]} for n in range(sources)}
    hooks = {f"h{n}": hook_settings(hook, sources=list(watches), events=["added"], command=None,
                                    shell=f": >{hook.folder}/ran.{n}") for n in range(count)}
    d = daemon(api, watches=watches, hooks=hooks)
    d.synced()
    wait_until(lambda: d.control.status()["ready"])
    api.apply(service("n/a"))
    wait_until(lambda: len(list(hook.folder.glob("ran.*"))) == count, what="all hooks run")
    d.control.wait_idle()


def test_names_of_63_bytes(api, daemon, hook):
    long, name = "w" * 63, "n" * 63 + "/" + "s" * 63
    api.apply(service(name))
    d = daemon(api, watches={long: {"resource": "services", "namespaces": ["*"]}},
               hooks={"h" * 63: hook_settings(hook, sources=[long])})
    assert hook.wait(1)[0].key == name
    d.caught_up(api)
    assert d.ctl("get", long, name, "-o", "json").returncode == 0
    for command in ("status", "watches", "hooks"):
        assert d.ctl(command).returncode == 0


def test_a_configuration_of_thousands_of_watches(api, daemon):
    """The check accepts it. Its time grows with the number of watches, not with the square of it:
    eight times as many watches take about eight times as long."""
    def cpu_of_check(count):
        d = daemon(api, watches=many_watches(count), start=False)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([INFORMERD, "-c", d.config, "--check"], stderr=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0, done.stderr[-2000:]
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    count = campaign.size(4000, 10000)
    few = max(cpu_of_check(count // 8) for _ in range(3))
    many = min(cpu_of_check(count) for _ in range(campaign.size(1, 3)))
    print(few, many)
    assert many < 48 * few, "the square would be 64"


# ---- Files that others than root can write (started as root)

class Place:
    """A configuration with one hook, in folders of their own, whose rights the tests then
    change."""

    def __init__(self, daemon, api, hook, folder):
        self.folder = folder
        self.conf, self.hooks = folder / "etc", folder / "hooks"
        for made in (self.conf, self.conf / "conf.d", self.hooks):
            made.mkdir()
            made.chmod(0o755)
        self.program = self.hooks / "hook"
        shutil.copy(hook.path, self.program)
        self.d = daemon(api, start=False, include=["conf.d/*.conf"], hooks={
            "h": hook_settings(hook, command=[self.program])})
        self.config = self.conf / "informerd.conf"
        self.kubeconfig = self.conf / "kubeconfig"
        shutil.move(self.d.settings["clusters"]["prod"]["kubeconfig"], self.kubeconfig)
        self.extra = self.conf / "conf.d" / "extra.conf"
        self.extra.write_text('watches : { x : { resource = "nodes"; }; };\n')
        self.write()

    def write(self, **settings):
        self.d.settings = merge(self.d.settings, {
            "clusters": {"prod": {"kubeconfig": self.kubeconfig}}, **settings})
        self.d.config = self.config
        self.d.write_config()

    def set_program(self, path):
        self.write(hooks={"h": {"command": [path]}})


@pytest.fixture
def place(api, daemon, hook, tmp_path):
    os.umask(0o022)
    made = Place(daemon, api, hook, tmp_path)
    assert check_config(made.config).returncode == 0
    return made


def refused(place, *words):
    done = check_config(place.config)
    assert done.returncode == 78, done.stderr
    for word in words:
        assert str(word) in done.stderr
    return done.stderr


FILES = ("config", "extra", "kubeconfig", "program")


@as_root
@pytest.mark.parametrize("which", FILES)
def test_a_file_that_others_can_write_is_refused(place, which):
    for mode in (0o666, 0o602, 0o777):
        getattr(place, which).chmod(mode | 0o100)
        refused(place, getattr(place, which), "chmod go-w")


@as_root
@pytest.mark.parametrize("which", FILES)
def test_a_file_that_a_group_can_write_is_refused_unless_the_group_is_root(place, which):
    path = getattr(place, which)
    path.chmod(0o770)
    os.chown(path, 0, 0)
    assert check_config(place.config).returncode == 0
    os.chown(path, 0, 65534)
    refused(place, path, "chmod go-w")


@as_root
@pytest.mark.parametrize("which", FILES)
def test_a_file_of_another_user_is_refused(place, which):
    os.chown(getattr(place, which), 65534, 0)
    refused(place, getattr(place, which), "chown root")


@as_root
@pytest.mark.parametrize("which", FILES)
def test_a_folder_that_another_user_can_write_is_refused(place, which):
    folder = getattr(place, which).parent
    for owner, group, mode in ((65534, 0, 0o755), (0, 65534, 0o777), (0, 65534, 0o775)):
        os.chown(folder, owner, group)
        folder.chmod(mode)
        refused(place, folder)
    folder.chmod(0o755)
    assert check_config(place.config).returncode == 0, "it was nothing else"


@as_root
def test_a_ca_file_that_others_can_write_is_refused(place, api, authority):
    ca = place.conf / "ca.crt"
    shutil.copy(authority.file, ca)
    api.kubeconfig(place.kubeconfig, ca_file=str(ca))
    assert check_config(place.config).returncode == 0
    ca.chmod(0o646)
    refused(place, ca, "chmod go-w")


@as_root
def test_a_sticky_folder_of_roots_is_no_danger_to_roots_files(place):
    place.hooks.chmod(0o1777)
    assert check_config(place.config).returncode == 0
    os.chown(place.hooks, 65534, 0)
    refused(place, place.hooks, "chown root")


@as_root
def test_a_missing_program_that_others_could_create_is_refused(place):
    place.hooks.chmod(0o1777)
    for missing in (place.hooks / "missing", place.hooks / "no" / "such" / "program"):
        place.set_program(missing)
        place.d.start(wait=False)
        place.d.expected_exit = place.d.wait_exit()
        assert place.d.expected_exit == 78
        assert "does not exist, and others" in place.d.stderr()


@as_root
def test_links_are_followed_one_by_one(place, tmp_path):
    """Each folder that contains a link on the way is checked, not only the last one."""
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    (open_folder / "middle").symlink_to(place.program)
    (place.hooks / "link").symlink_to("../open/../open/middle")
    place.set_program(place.hooks / "link")
    assert check_config(place.config).returncode == 0
    open_folder.chmod(0o777)
    refused(place, open_folder, "chmod go-w")
    open_folder.chmod(0o1777)
    assert check_config(place.config).returncode == 0
    os.chown(open_folder / "middle", 65534, 65534, follow_symlinks=False)
    refused(place, "middle", "chown root")


@as_root
def test_links_in_a_circle_are_refused(place):
    (place.hooks / "a").symlink_to("b")
    (place.hooks / "b").symlink_to("a")
    place.set_program(place.hooks / "a")
    refused(place)


@as_root
@pytest.mark.skipif(shutil.which("setfacl") is None, reason="needs setfacl (package acl)")
def test_an_access_control_list_for_another_user_is_refused(place):
    subprocess.run(["setfacl", "-m", "u:65534:rw", place.program], check=True)
    refused(place, place.program)


@as_root
def test_a_daemon_that_was_not_started_as_root_checks_nothing(place):
    for which in FILES:
        os.chown(getattr(place, which), 65534, 65534)
        getattr(place, which).chmod(0o777)
    place.write(user=None)
    for folder in place.config.parents:
        if str(folder) != "/" and folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o005)
    place.config.chmod(0o777)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                           INFORMERD, "-c", place.config, "--check"], text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr


@as_root
def test_a_start_refuses_such_files_too(place):
    place.program.chmod(0o777)
    place.d.start(wait=False)
    place.d.expected_exit = place.d.wait_exit()
    assert place.d.expected_exit == 78 and "chmod go-w" in place.d.stderr()
