# SPDX-License-Identifier: Apache-2.0
# Renders a view of Services as a hosts file for dnsmasq, for hooks of mode snapshot:
# ADDRESS SERVICE.NAMESPACE.CLUSTER.DOMAIN for each address of a load balancer, each external IP,
# and, of headless Services, each endpoint. The variable DOMAIN is the domain.

def addresses:
    if .service.spec.clusterIP == "None" then .ports[].use[].address else empty end,
    (.service.spec.externalIPs[]?, (.service.status.loadBalancer.ingress[]? | .ip // empty)
     # A value that is no address is left out and printed to stderr: it could add lines to the file.
     | if test("\\A[0-9A-Fa-f.:]+\\z") then . else "not an address: \(.)" | debug | empty end);

"# Written by informerd; changes made here are lost.",
(.snapshot[][]
 | "\(.name).\(.namespace).\(.cluster).\(env.DOMAIN)" as $host
 | [addresses] | unique[] | "\(.) \($host)")
