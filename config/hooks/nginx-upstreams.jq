# SPDX-License-Identifier: Apache-2.0
# Renders one Service of a view as nginx upstreams, one for each TCP port, for hooks of mode object:
# NAMESPACE_SERVICE_PORT, where PORT is the port's name, or its number if it has none.

# A value that cannot be a name fails the run: nginx would read it as configuration.
def word: if test("\\A[a-z0-9-]+\\z") then . else error("not a name: \(.)") end;

def host: if .family == "IPv6" then "[\(.address)]" else .address end;

.event.object
| "\(.namespace | word)_\(.name | word)" as $service
| "# Written by informerd; changes made here are lost.",
  (.ports[] | select(.protocol == "TCP")
   | "upstream \($service)_\(.name // .port | tostring | word) {",
     # nginx takes no upstream without a server. With a server that is down it answers 502 at once.
     (if .use == [] then "    server 127.0.0.1:9 down;" else empty end),
     (.use[] | "    server \(host):\(.port);"),
     "}")
