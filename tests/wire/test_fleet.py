# SPDX-License-Identifier: Apache-2.0
"""docs/fleet.md: its tables are those of the model, and its figures those of the real daemon."""
import json
import sys

import pytest
import yaml

from harness import BUILD, INFORMERD, ROOT

FLEET = ROOT / "tests" / "fleet"
sys.path.insert(0, str(FLEET))
import apf  # noqa: E402
import clients  # noqa: E402
import measure  # noqa: E402
import model  # noqa: E402
import world  # noqa: E402

PAGE = (ROOT / "docs" / "fleet.md").read_text()
MEASURED = json.loads((FLEET / "measured.json").read_text())
SMALL = (100, 1000)


def shown(name):
    """The rows of a table of the page."""
    lines = model.block(name).search(PAGE)[0].splitlines()
    return [line.strip("| ").split(" | ") if n else [cell.strip() for cell in line.split("|")[1:-1]]
            for n, line in enumerate(lines) if not line.startswith("|---")]


@pytest.fixture(scope="module")
def small():
    return model.Model(MEASURED, SMALL)


def cells(row):
    return [cell.strip() for cell in row]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*model.SCENARIOS, "handshakes"])
def test_the_columns_of_the_smaller_fleets_are_what_the_model_says(small, name):
    made = small.table(name)
    assert [cells(row[:1 + len(SMALL)]) for row in shown(name)] == [cells(row) for row in made]


def test_the_tables_that_need_no_simulation_are_what_the_model_says():
    whole = model.Model(MEASURED)
    for name in ("agent", "advice"):
        assert model.block(name).search(PAGE)[0] == model.markdown(whole.table(name)) + "\n"


def test_every_table_and_picture_of_the_model_is_in_the_page():
    for name in model.TABLES:
        assert len(model.block(name).findall(PAGE)) == 1, name
        assert len(shown(name)) > 2, name
    for picture in ("fleet-start.svg", "fleet-size.svg"):
        assert f"({picture})" in PAGE
        assert (ROOT / "docs" / picture).read_text().startswith("<svg")


def test_the_same_seed_gives_the_same_fleet_and_another_seed_another_one():
    client, level = clients.clients(MEASURED)["cold"], apf.Level("system")
    first, again, other = (world.World(client, 50, level, seed).upgrade(0.1, 10).figures()
                           for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_levels_have_the_seats_of_a_server_with_default_flags():
    levels = {name: apf.Level(name) for name in apf.SHARES}
    assert {name: levels[name].seats for name in ("system", "workload-high", "workload-low",
                                                  "global-default")} == {
        "system": 74, "workload-high": 98, "workload-low": 245, "global-default": 49}
    assert levels["system"].width(3_000_000) == 10      # 1 MB at a time, 100 kB a seat
    assert levels["system"].width(250_000) == 3
    assert levels["global-default"].width(3_000_000) == 8


def test_a_level_refuses_requests_that_have_waited_too_long():
    clock, meter = apf.Clock(), apf.Meter()
    server = apf.Server(clock, meter, apf.Level("system"))
    ends = []
    for _ in range(30):      # 7 requests run at a time, for 8 s each
        server.ask(world.Request(1e9, 1e9, 1e9), lambda refused: ends.append((clock.now, refused)))
    clock.run(100)
    assert len(ends) == 30
    refused = [when for when, seconds in ends if seconds is not None]
    assert refused == [15.0] * 16
    assert meter.rejected == 16
    assert sum(meter.bytes.values()) == pytest.approx(14e9)


def test_the_sample_of_the_page_is_the_level_that_was_simulated():
    text = PAGE.split("```yaml\n")[1].split("```")[0]
    level, schema = yaml.safe_load_all(text)
    limited = level["spec"]["limited"]
    assert limited["nominalConcurrencyShares"] == model.OWN_SHARES
    assert limited["limitResponse"]["queuing"] == {
        "queues": model.OWN_QUEUES, "handSize": model.OWN_HAND,
        "queueLengthLimit": model.OWN_LENGTH}
    assert schema["spec"]["priorityLevelConfiguration"]["name"] == level["metadata"]["name"] \
        == model.own_level().name


def test_a_daemon_that_asks_for_more_than_the_model_thinks_is_noticed():
    measured = json.loads(json.dumps(MEASURED))
    measured["phases"]["cold"]["requests"]["get services"] = 1
    with pytest.raises(ValueError, match="a list and a watch"):
        clients.clients(measured)


@pytest.mark.parametrize("phase", MEASURED["phases"])
def test_a_daemon_that_asks_for_the_identity_twice_on_a_connection_is_noticed(phase):
    measured = json.loads(json.dumps(MEASURED))
    figures = measured["phases"][phase]
    figures["requests"]["list namespaces"] = figures["connections"] + 1
    with pytest.raises(ValueError, match="asked once which cluster"):
        clients.clients(measured)


def test_a_warm_start_that_lists_is_noticed():
    measured = json.loads(json.dumps(MEASURED))
    measured["phases"]["warm"]["requests"]["list services"] = 1
    with pytest.raises(ValueError, match="a warm start is not"):
        clients.clients(measured)


def test_a_warm_start_is_in_sync_when_its_streams_have_been_silent():
    client, level = clients.clients(MEASURED)["warm"], apf.Level("system")
    figures = world.World(client, 50, level).trickle(10, 1).figures()
    assert world.SILENCE < figures["p99"] < world.SILENCE + 0.1
    assert figures["requests"] == 50 * (len(client.streams) + client.gets)


def about(size):
    """The figures are of TLS 1.2; a record of TLS 1.3 is up to nine bytes shorter, and there are two."""
    return pytest.approx(size, rel=0.05, abs=18)


@pytest.mark.slow
def test_the_daemon_asks_for_what_the_figures_say():
    assert INFORMERD.exists(), f"{INFORMERD} is not built"
    now = measure.measure(BUILD, 30, MEASURED["endpoints_per_slice"])
    then, units = MEASURED["phases"], MEASURED["units"]
    again = "measure again: tests/fleet/measure.py --write, then model.py --write"
    assert set(now["phases"]) == set(then), again
    for name in set(then) - {"server_lost", "server_restarted"}:
        assert now["phases"][name]["requests"] == then[name]["requests"], (again, name)
    # A connection asks once at most which cluster its server is of, and others() raises if not.
    # Whether one answer serves both lists of a restarted server depends on how fast they come.
    restarted = [clients.others(phases["server_restarted"]) for phases in (now["phases"], then)]
    assert restarted[0] == restarted[1], again
    clients.check(now)      # of server_lost, too, where chance decides which stream moves
    for name in ("bookmark", "event"):
        assert now["units"][name] == about(units[name]), again
    for name in ("sent", "received"):
        assert now["units"]["renewal"][name] == about(units["renewal"][name]), again
