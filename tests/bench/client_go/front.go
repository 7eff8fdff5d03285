// SPDX-License-Identifier: Apache-2.0

// front ADDRESS CERT_FILE KEY_FILE TARGET: accepts HTTP/2 and HTTP/1.1 over TLS, as API servers do,
// and passes requests on to TARGET, which speaks HTTP/1.1. It prints "ready" once it accepts
// connections.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	target, err := url.Parse(os.Args[4])
	check(err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	listener, err := net.Listen("tcp", os.Args[1])
	check(err)
	fmt.Println("ready")
	check((&http.Server{Handler: proxy}).ServeTLS(listener, os.Args[2], os.Args[3]))
}
