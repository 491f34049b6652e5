package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
)

// TestNodesFile: what a file may say, and what is wrong with others, by line.
func TestNodesFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nodes.toml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
certs = "laptop"
timeout = "3s"
idle = true
link = "1GiB"
[[node]]
address = "10.0.0.1:7400"
name = "a"
speed = 2
workers = 8
memory = "16GiB"
gflops = 400
[[node]]
address = "node2.example.org:7400"
name = "b"
speed = 1.5
parent = "a"
`)
	got, err := readNodes(path)
	want := &nodesFile{Certs: filepath.Join(dir, "laptop"), Timeout: 3 * time.Second, Idle: true, Link: 1 << 30,
		Node: []nodeEntry{{"10.0.0.1:7400", "a", 2, 8, 16 << 30, 400, ""}, {"node2.example.org:7400", "b", 1.5, 0, 0, 0, "a"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, error %v", got, err)
	}
	const node = "[[node]]\naddress = \"a:1\"\n"
	for text, problem := range map[string]string{
		"":                                    "no [[node]]",
		"idle = true\n" + node + "sped = 2":   "line 4: unknown key node.sped",
		"workers = 3\n" + node:                "line 1: unknown key workers",
		node + "[extra]\nx = 1":               "line 3: unknown key extra",
		"idle = maybe":                        "line 1",
		"idle = 3":                            "idle",
		"timeout = \"-1s\"\n" + node:          "negative",
		node + "speed = 2":                    "needs the node's name",
		node + "name = \"a\"\nspeed = -2":     "more than 0",
		node + "gflops = nan":                 "more than 0",
		node + node:                           "as is [[node]] 1",
		"[[node]]\naddress = \"a\"":           "host:port",
		"[[node]]\nname = \"a\"":              "host:port",
		node + "name = \"a\"\nparent = \"b\"": "name of another [[node]]",
		node + "name = \"a\"\nparent = \"a\"": "a is below itself",
		node + "name = \"a\"\nparent = \"b\"\n[[node]]\naddress = \"b:1\"\nname = \"b\"\nparent = \"a\"": "below itself",
		node + "memory = \"lots\"":                                    "number of bytes",
		node + "name = \"a\"\nspeed = 2\n[[node]]\naddress = \"b:1\"": "1 of 2 nodes have a speed",
	} {
		write(text)
		if _, err := readNodes(path); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", text, err, problem)
		}
	}
}

// TestInFile: an agent takes from a file what it says of the node that is called so. One that is
// not in it is told, as it would be nobody's child at an address of its own.
func TestInFile(t *testing.T) {
	dir := t.TempDir()
	const head, leaf = "[[node]]\naddress = \"127.0.0.1:7401\"\nname = \"head\"\n", "[[node]]\naddress = \"127.0.0.1:7402\"\n"
	for i, c := range []struct{ text, name, listen, parent, problem string }{
		{head + leaf + "name = \"leaf\"\nparent = \"head\"", "leaf", "127.0.0.1:7402", "head", ""},
		{head + leaf + "name = \"leaf\"\nparent = \"head\"", "leav", "", "", "unknown node \"leav\". Did you mean leaf?"},
		{head, "stranger", "", "", "unknown node \"stranger\"; known: head"},
		{head, "", "", "", "known: head"},
		{head + leaf, "leaf", "", "", "unknown node"},             // no node without a name is at its address
		{head + leaf, "leaf", "127.0.0.1:7402", "", ""},           // this one is
		{leaf, "leaf", "127.0.0.1:7400", "", ""},                  // there are no names
		{leaf + "[[node]]\naddress = \"a:1\"", "", "x:1", "", ""}, // nor here
	} {
		path := filepath.Join(dir, fmt.Sprint(i, ".toml"))
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, parent := nodeFlags{name: c.name, listen: c.listen, peers: []string{path}}, ""
		err := f.inFile(&parent, func(flag string) bool { return flag == "listen" && c.parent == "" })
		switch {
		case c.problem == "" && (err != nil || parent != c.parent || f.listen != c.listen):
			t.Errorf("%d: parent %q, listens on %q, error %v", i, parent, f.listen, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%d: %v, want %q", i, err, c.problem)
		}
	}
}

// FuzzNodesFile: a file is read or refused, and what was read makes sense.
func FuzzNodesFile(f *testing.F) {
	f.Add("idle = true\n[[node]]\naddress = \"a:1\"\nname = \"x\"\nspeed = 2.5\nmemory = \"1GiB\"")
	f.Add("[[node]]\naddress = \"a:1\"\n[[node]]\nadress = 3")
	f.Add("node = 3")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseNodes(text)
		if err == nil && (len(n.Node) == 0 || n.speeds() != nil && len(n.speeds()) != len(n.Node)) {
			t.Fatalf("%+v", n)
		}
	})
}

// FuzzResources: a resources file is read or refused.
func FuzzResources(f *testing.F) {
	f.Add("[[workers]]\ncount = 2\nprocessor = \"KNL\"\nfeatures = [\"avx512f\"]\nunits = 4\nmemory = 1_000")
	f.Add("[[workers]]\ncont = 2")
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := setup.ParseResources(text); err == nil && len(all) == 0 {
			t.Fatal("no workers, and no error")
		}
	})
}

// TestLocal: agents are started for a run; they share its workers, and do its work.
func TestLocal(t *testing.T) {
	t.Setenv("TEST_LABENCH", "1")
	code, out, errs := labench(t, strings.Fields("cholesky -n 300 --nb 64 --cluster local:2 --workers 3 --node-timeout 20s --repeat 1 --warmup 0 --json")...)
	var r bench.Result
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if n := r.Nodes; len(n) != 3 || n[0].Tasks["gemm/f64"] != 0 || n[1].Workers+n[2].Workers != 3 || n[1].Tasks["gemm/f64"]+n[2].Tasks["gemm/f64"] == 0 {
		t.Errorf("nodes %+v", n)
	}
	code, out, errs = labench(t, "cluster", "status", "--cluster", "local:2", "--node-timeout", "20s")
	if code != 0 || strings.Count(out, "127.0.0.1:") != 2 || !strings.Contains(out, "labench devel") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	labtest.Narrow(t, "status", out)
	// An operation that fails once the agents are there.
	if code, _, errs = labench(t, strings.Fields("cholesky -n 300 --matrix indefinite --cluster local:2 --node-timeout 20s")...); code == 0 {
		t.Errorf("it did not fail: %s", errs)
	}
}
