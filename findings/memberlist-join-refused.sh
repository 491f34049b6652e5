#!/usr/bin/env bash
# github.com/hashicorp/memberlist v0.7.0: Join counts a node as joined, with a nil error, though
# that one has refused it because its name is taken by a live node of another address. The
# two then disagree for good: the newcomer lists the first node, and that one does not list
# the newcomer under its address. An agent that reports "joined" by Join alone reports wrongly.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'END'
module finding

go 1.26

require (
	github.com/hashicorp/memberlist v0.7.0
)
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/memberlist"
)

func node(name string) *memberlist.Memberlist {
	c := memberlist.DefaultLocalConfig()
	c.Name, c.BindAddr, c.BindPort, c.AdvertisePort, c.LogOutput = name, "127.0.0.1", 0, 0, io.Discard
	m, err := memberlist.Create(c)
	if err != nil {
		panic(err)
	}
	return m
}

func main() {
	seed, first, second := node("seed"), node("twin"), node("twin")
	at := []string{seed.LocalNode().Address()}
	n, err := first.Join(at)
	fmt.Println("the first twin joins:", n, err)
	n, err = second.Join(at)
	fmt.Println("the second twin, at another port, joins:", n, err)
	time.Sleep(time.Second)
	same := func(m *memberlist.Memberlist) (known bool) {
		for _, x := range seed.Members() {
			known = known || x.Name == "twin" && x.Port == m.LocalNode().Port
		}
		return known
	}
	fmt.Println("the seed knows the first:", same(first), "the second:", same(second))
}
END
cat >expected <<'END'
the first twin joins: 1 <nil>
the second twin, at another port, joins: 1 <nil>
the seed knows the first: true the second: false
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
