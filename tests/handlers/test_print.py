# SPDX-License-Identifier: Apache-2.0
"""config/hooks/print, the hook that newcomers start with."""
from fakeapi import service


def printed(d):
    return [entry["line"] for entry in d.log(msg="hook output", stream="stdout")]


def test_a_line_for_each_change_of_a_service(api, example):
    api.apply(service("shop/web", ports=(80, 443)))
    d = example("print").caught_up(api)
    api.apply(service("shop/web", ports=(8080,)))
    d.caught_up(api)
    api.apply(service("shop/web", ports=(8080,), labels={"team": "a"}))
    api.apply(service("shop/name", type="ExternalName", externalName="example.com"))
    api.delete("services", "shop/web")
    d.caught_up(api)
    assert printed(d) == [
        "ADDED print_services shop/web (existing) TYPE=ClusterIP IP=10.96.0.10 PORTS=80 443",
        "MODIFIED print_services shop/web (change) TYPE=ClusterIP IP=10.96.0.10 PORTS=8080",
        "DELETED print_services shop/web (change) TYPE=ClusterIP IP=10.96.0.10 PORTS=8080"]
    assert not d.problems()


def test_values_are_printed_and_never_run(api, example, tmp_path):
    text = f"$(touch {tmp_path}/a) `touch {tmp_path}/b` %s%n \\n ; touch {tmp_path}/c"
    api.apply(service("shop/web", ip=text))
    d = example("print").caught_up(api)
    assert printed(d) == [
        f"ADDED print_services shop/web (existing) TYPE=ClusterIP IP={text} PORTS=80"]
    assert not {"a", "b", "c"} & {path.name for path in tmp_path.iterdir()}


def test_a_snapshot_and_missing_fields_are_printed(api, example):
    api.apply(service("shop/web"))
    d = example("print", {'sources = [ "print_services" ];':
                          'sources = [ "print_services" ]; mode = "snapshot";',
                          'fields : { TYPE = "spec.type"; IP = "spec.clusterIP"; '
                          'PORTS = "spec.ports[*].port"; };': ""}).caught_up(api)
    assert printed(d) == ["print_services   (existing) TYPE= IP= PORTS="]
