package certs_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport/web/certs"
)

// all returns what there is below a directory, empty if that is not there.
func all(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return paths
}

// TestCheckName: names that a certificate, a path and a line of a log can carry, and others.
func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "7", "node-1", "node1.example.org", "Laptop", strings.Repeat("a", 63), strings.Repeat("a.", 99) + "aa", "console", "lpt", "ca"} {
		if err := certs.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "a..b", ".a", "a.", "-a", "a-", "a.-b", "a-.b", "a b", " a", "a ", "a/b", `a\b`, "a:b", "a,b", "a_b", "*.a", "ä", "a\n", "\na", "a\x00", "a\x1b[2J", "a\r", "a\u202eb", "a\xff",
		strings.Repeat("a", 64), strings.Repeat("a.", 100) + "a", "ca.crt", "CA.key", "nul", "CON", "aux.x", "com1", "10.0.0.1", "127.0.0.1",
	} {
		var e *certs.Error
		if err := certs.CheckName(name); !errors.As(err, &e) {
			t.Errorf("%q: %v", name, err)
		} else if strings.ContainsAny(err.Error(), "\n\r\x00\x1b") || len(err.Error()) > 500 {
			t.Errorf("%q: the error has it as it is: %q", name, err)
		}
	}
}

// TestInit: all of what is asked for is made, or nothing is, and then it can be asked for again.
func TestInit(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "new", "cluster")
	nothing := func(why string) {
		t.Helper()
		if got := all(t, top); len(got) != 1 {
			t.Errorf("%s: there is %v", why, got)
		}
	}
	for _, nodes := range [][]string{{"a", "b\n"}, {"a", "A"}, {"a", "ca.crt"}} {
		if _, err := certs.Init(dir, nodes, time.Hour); err == nil {
			t.Errorf("%q were made", nodes)
		}
		nothing(strings.Join(nodes, " "))
	}
	if _, err := certs.Init(dir, []string{"a"}, 0); err == nil {
		t.Error("it is never valid")
	}
	nothing("never valid")
	// What fails at the second node: a file has the place of its directory.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := certs.Init(dir, []string{"a", "b"}, time.Hour); err == nil {
		t.Error("a node has a file as its directory")
	}
	if got := all(t, dir); !slices.Equal(got, []string{dir, filepath.Join(dir, "b")}) {
		t.Errorf("there is %v", got)
	}
	if err := os.Remove(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	for _, nodes := range [][]string{{"a", "b"}, {"c"}} {
		if made, err := certs.Init(dir, nodes, time.Hour); err != nil || made != (nodes[0] == "a") {
			t.Errorf("%v: made %v, error %v", nodes, made, err)
		}
	}
	// One that is there stays, and what was new beside it goes.
	before := all(t, dir)
	if _, err := certs.Init(dir, []string{"d", "a"}, time.Hour); !errors.Is(err, os.ErrExist) {
		t.Errorf("a again: %v", err)
	}
	if got := all(t, dir); !slices.Equal(got, before) || len(got) != 3+3*4 {
		t.Errorf("there is %v, and was %v", got, before)
	}
}

// TestExposed: keys that others can read are told.
func TestExposed(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // permissions do not tell
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	if _, err := certs.Init(dir, []string{"a"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for path, key := range map[string]string{dir: "ca.key", filepath.Join(dir, "a"): "node.key"} {
		if got := certs.Exposed(path); got != nil {
			t.Errorf("%v", got)
		}
		key = filepath.Join(path, key)
		for _, mode := range []os.FileMode{0o640, 0o604} {
			if err := os.Chmod(key, mode); err != nil {
				t.Fatal(err)
			}
			if got := certs.Exposed(path); !slices.Equal(got, []string{key}) {
				t.Errorf("%v: %v", mode, got)
			}
		}
	}
}
