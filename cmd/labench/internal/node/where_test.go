package node

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
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
		Node: []Member{{"10.0.0.1:7400", "a", 2, 8, 16 << 30, 400, ""}, {"node2.example.org:7400", "b", 1.5, 0, 0, 0, "a"}}}
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
		f, parent := Flags{Name: c.name, listen: c.listen, Peers: []string{path}}, ""
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
