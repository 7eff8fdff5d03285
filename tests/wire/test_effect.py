# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 111, effect and files: when a hook, and no other, runs again for objects that it has
handled."""
import os
import pathlib

import outputs
import pytest
from control import wait_until
from fakeapi import service
from harness import MODES, NOW, hook_settings
from mounts import boot

ONE, TWO = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-aaaaaaaaaaaa"
ALL = [("ADDED", "n/a"), ("ADDED", "n/b")]


def told(hook):
    return sorted(what for run in hook.told() for what in run)


@pytest.fixture
def pair(api, daemon, hook, new_hook):
    """pair(**settings): a daemon that was stopped after two hooks had handled n/a and n/b: hook "h"
    with these settings, and a second one (`pair.other`), for which nothing changes."""
    def make(**settings):
        make.other = new_hook()
        api.apply(service("n/a"), service("n/b"))
        d = daemon(api, hooks={"h": hook_settings(hook, **settings),
                               "other": hook_settings(make.other)}).settled(api)
        d.stop()
        hook.forget()
        make.other.forget()
        return d
    return make


# ---- 111: the hook has changed

RENEWING = {
    "environment": {"environment": {"WORD": "b"}},
    "events": {"events": ["added", "modified", "deleted"]},
    "changes_in": {"changes_in": ["spec.ports"]},
    "umask": {"umask": "0077"},
}
IN_PLACE = {
    "timeout": {"timeout": "29s"},
    "kill": {"kill_signal": "INT", "kill_grace": "1s"},
    "settle": {"settle": ["10ms", "20ms"], "min_interval": "1ms", "splay": "1ms"},
    "rerun_every": {"rerun_every": "1d"},
    "retry": {"retry": {"attempts": 7}, "park_exit": [3], "parked_age": "1d", "parked_deletes": 9},
    "concurrency": {"concurrency": 3, "log_limit": "1KiB"},
    "order": {"after": ["other"], "require": "any", "when_stale": "wait"},
    "effect": {"effect": "boot"},
}


def edit(d, changes):
    group = d.settings["hooks"]["h"]
    for name, value in changes.items():
        group[name] = {**group[name], **value} if isinstance(group.get(name), dict) else value
    d.write_config()


@pytest.mark.parametrize("what", RENEWING)
def test_s111_only_a_hook_whose_settings_changed_runs_again(api, pair, hook, what):
    d = pair(environment={"WORD": "a"})
    edit(d, RENEWING[what])
    d.again(api)
    assert told(hook) == ALL and not pair.other.runs()
    assert {run.reason for run in hook.runs()} == {"renew"}
    assert {run.event["object"]["kind"] for run in hook.runs()} == {"Service"}
    d.stop()
    d.again(api)
    assert told(hook) == ALL and not pair.other.runs()


@pytest.mark.parametrize("what", IN_PLACE)
def test_settings_of_time_retry_limits_and_order_run_nothing(api, pair, hook, what):
    d = pair()
    edit(d, IN_PLACE[what])
    d.again(api)
    assert not hook.runs() and not pair.other.runs()
    api.apply(service("n/a", ports=[81]))
    hook.wait(1)
    assert hook.runs()[0].reason == "change"


def test_a_timeout_that_was_lowered_holds_for_the_next_run(api, pair, hook):
    d = pair(kill_grace="0s")
    edit(d, {"timeout": "50ms"})
    hook.block()
    d.again(api)
    api.apply(service("n/a", ports=[81]))
    d.wait_problem("timeout after 50 ms")
    hook.release()


@pytest.mark.parametrize("mode", MODES)
def test_s111_a_hook_runs_again_whose_script_was_edited_while_informerd_was_down(api, pair, hook,
                                                                                 mode):
    d = pair(mode=mode, **NOW)
    hook.path.write_text(hook.path.read_text() + "# edited\n")
    d.again(api)
    if mode == "snapshot":
        (run,) = hook.runs()
        assert len(run.snapshot["services"]) == 2
    else:
        assert told(hook) == ALL
    assert {run.reason for run in hook.runs()} == {"renew"} and not pair.other.runs()
    hook.forget()
    d.stop()
    d.again(api)
    assert not hook.runs()


def test_s111_a_script_that_was_only_written_again_is_the_same(api, pair, hook):
    d = pair()
    text = hook.path.read_bytes()
    hook.path.unlink()
    hook.path.write_bytes(text)
    hook.path.chmod(0o755)
    d.again(api)
    assert not hook.runs() and not pair.other.runs()


@pytest.mark.parametrize("how", ["edited", "gone", "came"])
def test_s111_files_of_the_hook_count_as_its_script_does(api, pair, hook, tmp_path, how):
    file = tmp_path / "template"
    if how != "came":
        file.write_text("one\n")
    d = pair(files=[file])
    if how == "gone":
        file.unlink()
    else:
        file.write_text("two\n")
    d.again(api)
    assert told(hook) == ALL and not pair.other.runs()


def test_a_script_that_an_interpreter_runs_counts_as_a_program(api, pair, hook):
    d = pair(command=["/usr/bin/env", "sh", hook.path])
    hook.path.write_text(hook.path.read_text() + "# edited\n")
    d.again(api)
    assert told(hook) == ALL and not pair.other.runs()


@pytest.fixture
def system_program(hook):
    """A program below /usr/bin, as a package installs it; it is the hook's script."""
    path = pathlib.Path(f"/usr/bin/informerd-test-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        path.write_bytes(hook.path.read_bytes())
    except OSError as err:
        pytest.skip(f"needs to write below /usr/bin: {err}")
    path.chmod(0o755)
    yield path
    path.unlink()


@pytest.mark.parametrize("named", [False, True])
def test_a_program_of_the_system_counts_only_if_files_names_it(api, pair, hook, system_program,
                                                               named):
    d = pair(command=[system_program], files=[system_program] if named else [])
    system_program.write_text(system_program.read_text() + "# updated\n")
    d.again(api)
    assert told(hook) == (ALL if named else []) and not pair.other.runs()


@pytest.mark.parametrize("which", ["check", "apply"])
def test_s111_programs_of_the_output_count_too(api, pair, hook, new_hook, tmp_path, which):
    program = new_hook()
    d = pair(output=tmp_path / "${name}", **{which: [program.path]})
    program.path.write_text(program.path.read_text() + "# edited\n")
    d.again(api)
    assert told(hook) == ALL and not pair.other.runs()


def test_s111_an_edit_while_informerd_runs_counts_at_the_next_start(api, pair, hook):
    d = pair().again(api)
    hook.path.write_text(hook.path.read_text() + "# edited\n")
    d.caught_up(api)
    assert not hook.runs()
    d.stop()
    d.again(api)
    assert told(hook) == ALL


def test_s111_changes_meanwhile_are_told_with_the_rest_and_deletes_are_not_lost(api, pair, hook):
    d = pair()
    hook.path.write_text(hook.path.read_text() + "# edited\n")
    api.delete("services", "n/a")
    api.apply(service("n/b", ports=[81]), service("n/c"))
    d.again(api)
    assert told(hook) == [("ADDED", "n/b"), ("ADDED", "n/c"), ("DELETED", "n/a")]
    assert hook.of("n/b")[0].port == 81 and hook.of("n/a")[0].event["object"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_s111_a_renewal_that_was_cut_off_is_still_due(api, pair, hook, mode, how):
    d = pair(mode=mode, kill_grace="0s", **NOW)
    d.settings["limits"] = {"stop_timeout": "0s"}
    d.write_config()
    hook.path.write_text(hook.path.read_text() + "# edited\n")
    for _ in range(2):
        hook.block()
        d.start()
        hook.wait(1)
        getattr(d, how)()
        hook.release()
        hook.forget()
    d.again(api)
    assert {run.reason for run in hook.runs()} == {"renew"} and not pair.other.runs()
    assert mode == "snapshot" or told(hook) == ALL
    hook.forget()
    d.stop()
    api.apply(service("n/a", ports=[82]))
    d.again(api)
    assert {run.reason for run in hook.runs()} == {"change"}


# ---- effect

def test_effect_process_runs_again_at_each_start(api, pair, hook):
    d = pair(effect="process")
    for count in (1, 2):
        d.again(api)
        assert told(hook) == sorted(ALL * count)
        d.stop()
    assert {run.reason for run in hook.runs()} == {"renew"} and not pair.other.runs()


def test_effect_process_tells_deletes_while_informerd_was_down(api, pair, hook):
    d = pair(effect="process")
    api.delete("services", "n/a")
    d.again(api)
    assert told(hook) == [("ADDED", "n/b"), ("DELETED", "n/a")]


def test_effect_process_runs_again_after_kill_9(api, pair, hook):
    d = pair(effect="process").again(api)
    d.kill()
    hook.forget()
    d.again(api)
    assert told(hook) == ALL


def test_effect_does_not_run_a_hook_that_takes_no_added(api, pair, hook):
    d = pair(effect="process", events=["modified", "deleted"])
    d.again(api)
    assert not hook.runs()


def test_effect_does_not_run_for_skipped_objects(api, pair, hook):
    d = pair(effect="process", existing="skip")
    api.apply(service("n/c"))
    d.again(api)
    assert told(hook) == [("ADDED", "n/c")]
    d.stop()
    hook.forget()
    d.again(api)
    assert told(hook) == [("ADDED", "n/c")], "the hook has run for it, so its effect is lost"


@pytest.mark.parametrize("mode", MODES)
def test_effect_boot_runs_again_after_a_boot_and_once(api, pair, hook, mode):
    d = pair(effect="boot", mode=mode, **NOW)
    boot(d, ONE).settled(api)
    if mode == "snapshot":
        assert len(hook.runs()) == 1 and len(hook.runs()[0].snapshot["services"]) == 2
    else:
        assert told(hook) == ALL
    assert {run.reason for run in hook.runs()} == {"renew"} and not pair.other.runs()
    d.stop()
    hook.forget()
    boot(d, ONE).settled(api).stop()
    assert not hook.runs(), "the same boot"
    boot(d, TWO).settled(api)
    assert hook.runs() and not pair.other.runs()


def test_effect_boot_is_no_reason_without_a_boot(api, pair, hook):
    d = pair(effect="boot").again(api)
    assert not hook.runs()
    d.kill()
    d.again(api)
    assert not hook.runs()


def test_a_boot_that_is_cut_off_before_the_runs_is_not_forgotten(api, pair, hook):
    d = pair(effect="boot")
    hook.block()
    boot(d, ONE)
    hook.wait(1)
    d.kill()
    hook.release()
    hook.forget()
    boot(d, ONE).settled(api)
    assert told(hook) == ALL


def test_a_renewed_run_does_not_write_an_equal_file_again(api, daemon, place, applier):
    """effect says that the programs' effects are lost. The file is still there, but apply must run
    again."""
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": outputs.whole(place, apply=[applier.path], effect="process")})
    d.settled(api)
    before = outputs.identity(place / "all.cfg")
    d.stop()
    d.again(api)
    assert outputs.identity(place / "all.cfg") == before and outputs.starts(applier) == 2
    wait_until(lambda: d.control.hook("h")["apply"] == "handled")
