# SPDX-License-Identifier: Apache-2.0
# Renders one Secret of type kubernetes.io/tls as a PEM file: its certificates, then its key. For
# hooks of mode object. Its messages go to the log, so they never quote from the Secret.

def pem(name):
    (.data[name] // "" | try @base64d catch "")
    | if contains("-----BEGIN ") then rtrimstr("\n")
      else "\(name) is not there, or no PEM\n" | halt_error end;

.event.object | pem("tls.crt"), pem("tls.key")
