# SPDX-License-Identifier: Apache-2.0
# Renders a view of Services as sections of haproxy.cfg, for hooks of mode snapshot: for each port
# that has a node port a section NAMESPACE_SERVICE_PORT, which listens there. PORT is the port's
# name, or its number if it has none.

# A value that cannot be a name is left out and printed to stderr: HAProxy would read it as
# configuration.
def is_word: test("\\A[a-z0-9-]+\\z");

def host: if .family == "IPv6" then "[\(.address)]" else .address end;

def section:
    "",
    "listen \(.title)",
    (.node_port as $port | $ENV.HAPROXY_BIND // "::" | splits(" +")
     | "    bind \(.):\($port) v4v6"),
    (if .app_protocol == "http" then "    mode http" else "    mode tcp", "    option tcplog" end),
    # There are draining endpoints only when none is ready. Then there are no others, and they still
    # serve.
    (.use[] | "    server \(.address):\(.port) \(host):\(.port) check");

"# Written by informerd, which overwrites every change that you make here.",
(.snapshot[][] | . as $service | .ports[] | select(.protocol == "TCP" and .node_port)
 | [$service.namespace, $service.name, (.name // .port | tostring)] as $words
 | .title = ($words | join("_"))
 | if all($words[]; is_word) then section else (.title | "not a name: \(.)" | debug | empty) end)
