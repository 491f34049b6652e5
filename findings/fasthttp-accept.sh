#!/usr/bin/env bash
# github.com/valyala/fasthttp v1.74.0: Server.Serve returns at the first error of Accept that
# is not a time-out. A process that is out of descriptors for a moment (EMFILE), or a
# client that resets while it is being accepted (ECONNABORTED), ends the server; net/http
# waits and goes on. A daemon that starts Serve in a goroutine and drops its error is deaf
# from then on.
set -euo pipefail
export -n GOFLAGS
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'END'
module finding

go 1.26

require (
	github.com/valyala/fasthttp v1.74.0
)
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/valyala/fasthttp"
)

// flaky fails once as the kernel does for want of descriptors, and then works.
type flaky struct {
	failed  bool
	accepts int
}

func (f *flaky) Accept() (net.Conn, error) {
	f.accepts++
	if !f.failed {
		f.failed = true
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return nil, net.ErrClosed // the second time we want to know that it was asked
}

func (f *flaky) Close() error   { return nil }
func (f *flaky) Addr() net.Addr { return &net.TCPAddr{} }

func main() {
	f := &flaky{}
	err := (&fasthttp.Server{}).Serve(f)
	fmt.Println("fasthttp asked for", f.accepts, "connections; Serve:", err)
	g := &flaky{}
	err = http.Serve(g, nil)
	fmt.Println("net/http asked for", g.accepts, "connections; Serve:", err)
}
END
cat >expected <<'END'
fasthttp asked for 1 connections; Serve: accept tcp: accept4: too many open files
net/http asked for 2 connections; Serve: use of closed network connection
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
