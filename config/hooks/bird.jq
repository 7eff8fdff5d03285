# SPDX-License-Identifier: Apache-2.0
# Renders a view of Services as static routes for BIRD 2, one for each address of a load balancer
# that this node can serve: with externalTrafficPolicy Local by a ready endpoint of its own, else by
# a ready endpoint anywhere. For hooks of mode snapshot; INFORMERD_NODE says which node this is.

# A value that is no address is left out and printed to stderr: BIRD would read it as configuration.
"\\A((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\\.(?!\\z)|\\z)){4}\\z" as $ip4
| ("\\A(g(:g){7}|(?!(.*g(:|\\z)){8})(g(:g)*)?::(g(:g)*)?)\\z"
    | gsub("g"; "[0-9A-Fa-f]{1,4}")) as $ip6
| def family: if test($ip4) then 4 elif test($ip6) then 6 else null end;

# Look at use, not at local_ready: while hold_empty holds the last endpoints, only use has them, and
# the counts are 0.
def can_serve:
    (.service.spec.externalTrafficPolicy == "Local") as $local
    | any(.ports[].use[];
        .state == "ready" and (($local | not) or .node == env.INFORMERD_NODE));

def protocol($family; length):
    "",
    "protocol static informerd\($family) {",
    "    ipv\($family);",
    (.[] | select(.[1] == $family)[0] | "    route \(.)/\(length) blackhole;"),
    "}";

[.snapshot[][] | select(can_serve) | .service.status.loadBalancer.ingress[]?
    | select(.ipMode != "Proxy").ip // empty]
| unique | map([., family])
| (.[] | select(.[1] == null) | "not an address: \(.[0])" | debug | empty),
  "# Written by informerd, which overwrites every change that you make here.",
  protocol(4; 32),
  protocol(6; 128)
