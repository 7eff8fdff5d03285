# SPDX-License-Identifier: Apache-2.0
"""Damage to a state_dir behind the back of its daemon, and the checks of how the daemon goes on."""
import contextlib
import json
import stat
import subprocess

import pytest

import campaign
from control import PATIENCE, key_of, wait_until
from fakeapi import service
from harness import hook_settings
from hooks import port_of

DB, WAL, SHM, LOCK = "state.db", "state.db-wal", "state.db-shm", "lock"
ASIDE = "state.db.aside"
COUNT = 25
SECRET = "hostile-c2VjcmV0"  # a value in each object, which informerd must never print

# The beginnings of log lines about a state that is refused, begun anew, or not written. The line
# about a state that is written late is not among them: on a slow disk it may come in any test.
OF_STATE = ("state reset: the saved state cannot be used", "state.db lost or damaged",
            "saved state of the watch discarded", "state of the cluster reset: the saved",
            "state_dir cannot be used", "state not writable: ",
            "state not synced to disk", "state is over its size limit")


def of_state(lines):
    """The log lines among these that report trouble with the state."""
    return [line for line in lines if line["msg"].startswith(OF_STATE)]


def sweep(everything, short):
    """The variants that a test tries: all of them in a campaign, else only the `short` list."""
    assert all(one in everything for one in short)
    return everything if campaign.LONG else short


def key(number):
    return f"n/s{number}"


def some(number, port=80):
    return service(key(number), ports=[port], annotations={"note": SECRET})


def difference(known, truth):
    """{key: (known value, true value)} of the keys whose values differ."""
    return {name: (known.get(name), truth.get(name)) for name in known | truth
            if known.get(name) != truth.get(name)}


class Told:
    """The sum of all runs of a hook of mode object, over all restarts of its daemon."""

    def __init__(self, hook):
        self.hook = hook

    def world(self):
        """{key: port} that a hook has when it obeys each of its runs."""
        world = {}
        for run in self.hook.runs():
            if run.event["type"] in ("DELETED", "LEFT"):
                world.pop(run.key, None)
            else:
                world[run.key] = run.port
        return world

    def ends(self):
        return [run for run in self.hook.runs() if run.event["type"] in ("DELETED", "LEFT")]


class Patient:
    """A daemon with some services, a hook of mode object and one of mode snapshot. The test damages
    its state."""

    def __init__(self, api, daemon, new_hook, **settings):
        self.api = api
        self.objects, self.snapshots = new_hook(), new_hook()
        self.gone = set()  # the keys whose objects were really deleted
        self.log_from = self.run_from = 0
        api.apply(*(some(number) for number in range(COUNT)))
        self.d = daemon(api, start=False, hooks={
            "one": hook_settings(self.objects, concurrency=8),
            "all": hook_settings(self.snapshots, mode="snapshot", settle=["10ms", "50ms"])},
            **settings)

    @property
    def state(self):
        return self.d.state

    def path(self, name):
        return self.state / name

    def learn(self):
        """Starts the daemon and lets its hooks handle all objects; some keys have a second
        state."""
        self.d.again(self.api)
        self.api.apply(*(some(number, 81) for number in range(5)))
        self.d.caught_up(self.api)
        return self

    def change(self):
        """Changes the server: one object is changed, one is new, one is deleted, and one is
        replaced by another of the same name."""
        self.api.apply(some(7, 99), some(COUNT, 98))
        for number in (8, 9):
            self.api.delete("services", key(number))
            self.gone.add(key(number))
        self.api.apply(some(9, 97))
        return self

    def down(self, how):
        if how == "kill":
            self.wait_kept()
            self.d.kill()
        else:
            assert self.d.stop()[0] == 0
        return self

    def wait_kept(self):
        """Waits until all that the daemon knows is on disk."""
        def kept():
            state = self.d.control.status()["state"]
            return state["writable"] and state["waiting"] == 0
        wait_until(kept, what="all is kept")

    def mark(self):
        """From now on only later log lines and runs count: they are the results of the damage."""
        self.log_from = len(self.d.log())
        self.run_from = len(self.objects.runs())
        return self

    def up(self):
        self.mark()
        self.d.again(self.api)
        return self

    # Checks

    def warnings(self):
        """The warnings and errors since mark() that report trouble with the state."""
        lines = self.d.log()[self.log_from:]
        return of_state(line for line in lines if line["level"] in ("warn", "error"))

    def one_warning(self, *words):
        """Checks that there is exactly one warning, which names the folder and has these words."""
        found = self.warnings()
        text = "\n".join(json.dumps(line) for line in found)
        assert len(found) == 1, f"{len(found)} warnings:\n{text}"
        for word in (str(self.state), *words):
            assert word.lower() in text.lower(), f"no {word!r} in {text}"
        return found[0]

    def no_warning(self):
        assert not self.warnings(), self.warnings()

    def truth(self):
        objects = self.api.store.table("services").objects
        return {name: port_of({"object": obj}) for name, obj in objects.items()}

    def well(self, forgot=False):
        """Checks that both hooks know the server's objects as they are, and that no hook was told
        of the end of an object that was not deleted. forgot: the state is lost, so that hooks may
        not have been told of deletes meanwhile."""
        told, truth = Told(self.objects), self.truth()
        for run in told.ends():
            assert run.key in self.gone, f"{run} told of an end that was none"
        known = told.world()
        if forgot:
            known = {k: port for k, port in known.items() if k in truth or k not in self.gone}
        assert known == truth, f"{difference(known, truth)} {self.objects.runs()[self.run_from:]}"
        self.same_snapshot(truth)
        status = self.d.control.status()
        assert all(w["synced"] and w["state"] == "watching" for w in status["watches"].values())
        self.no_secret()
        return self

    def same_snapshot(self, truth):
        seen = {key_of(obj): port_of({"object": obj})
                for obj in self.snapshots.runs()[-1].snapshot["services"]}
        assert seen == truth, f"snapshot: {difference(seen, truth)}"

    def follows(self):
        """Changes more objects: the daemon must still follow its cluster."""
        self.api.apply(some(20, 71), some(COUNT + 1, 72))
        self.api.delete("services", key(21))
        self.gone.add(key(21))
        self.d.caught_up(self.api)
        return self

    def follows_more(self):
        """As follows(), with other objects."""
        self.api.apply(some(22, 73), some(COUNT + 2, 74))
        self.api.delete("services", key(23))
        self.gone.add(key(23))
        self.d.caught_up(self.api)
        return self

    def no_secret(self):
        assert SECRET not in self.d.stderr()

    def remembers(self, how="stop"):
        """Restarts the daemon, and checks that it has kept all that it learnt: no hook runs
        again."""
        self.down(how).mark()
        before = len(self.objects.runs()), len(self.snapshots.runs())
        self.d.again(self.api)
        told = self.objects.runs()[before[0]:], self.snapshots.runs()[before[1]:]
        assert told == ([], []), told
        self.no_warning()
        return self

    def tidy(self):
        """Stops the daemon in good order, and checks its folder: it has the database, the lock and
        the files that were set aside, and no other user may read them."""
        assert self.d.stop()[0] == 0
        facts = {path.name: path.lstat() for path in self.state.iterdir()}
        kept = {name for name in facts if not name.startswith(ASIDE)}
        assert kept == {DB, LOCK} and len(facts) <= 5, set(facts)
        assert stat.S_IMODE(self.state.stat().st_mode) == 0o700
        for name in (DB, LOCK):
            assert stat.S_IMODE(facts[name].st_mode) == 0o600, name
        return self

    def degraded(self):
        return [text for text in self.d.control.status()["degraded"] if "state" in text]

    def wait_degraded(self, timeout=PATIENCE):
        return wait_until(self.degraded, timeout, "degraded for its state")[0]

    def wait_writable(self, timeout=PATIENCE):
        wait_until(lambda: not self.degraded(), timeout,
                   lambda: f"still degraded: {self.degraded()}")


@contextlib.contextmanager
def tmpfs(folder, size="4m"):
    """Mounts a file system in memory at this folder, until the end of the block."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", folder],
                          capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no file system of our own here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        wait_until(lambda: subprocess.run(["umount", folder], capture_output=True).returncode == 0,
                   what=f"{folder} is unmounted")


def remount(folder, how):
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


def fill(folder):
    """Uses up all the space that is left in this file system."""
    with open(folder / "ballast", "ab", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(512))


def empty(folder):
    (folder / "ballast").unlink()
