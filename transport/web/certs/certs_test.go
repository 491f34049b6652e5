package certs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport/web/certs"
)

// TestCerts: an authority is made once, nodes are added to it later, and each reads what it
// needs. Keys are for their owner only.
func TestCerts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	for _, name := range []string{"left", "right.example.org"} {
		a, made, err := certs.Open(dir)
		if err != nil || made != (name == "left") {
			t.Fatalf("made %v, error %v", made, err)
		}
		own := filepath.Join(dir, name)
		if err := a.Node(own, name, time.Hour); err != nil {
			t.Fatal(err)
		}
		if c, got, err := certs.Read(own); err != nil || got != name || len(c.Certificates) != 1 || c.RootCAs == nil {
			t.Errorf("read %q, error %v", got, err)
		}
		if err := a.Node(own, name, time.Hour); !errors.Is(err, fs.ErrExist) {
			t.Errorf("written over: %v", err)
		}
	}
	for _, key := range []string{"ca.key", "left/node.key"} {
		if s, err := os.Stat(filepath.Join(dir, key)); err != nil || s.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, error %v", key, s, err)
		}
	}
}

// TestBad: what is wrong is found when it is read, and said.
func TestBad(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *certs.Authority {
		a, _, err := certs.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ours, theirs := open("ours"), open("theirs")
	node := func(a *certs.Authority, name string, valid time.Duration) string {
		path := filepath.Join(dir, name)
		if err := a.Node(path, name, valid); err != nil {
			t.Fatal(err)
		}
		return path
	}
	take := func(to, from, file string) {
		text, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := node(ours, "old", time.Nanosecond)
	key, signed := node(ours, "key", time.Hour), node(ours, "signed", time.Hour)
	take(key, signed, "node.key")
	take(signed, filepath.Join(dir, "theirs"), "ca.crt")
	empty := node(theirs, "empty", time.Hour)
	if err := os.WriteFile(filepath.Join(empty, "ca.crt"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		old: "valid from", key: "private key does not match", signed: "has not signed it", empty: "no certificate in it", filepath.Join(dir, "none"): "no such file",
	} {
		_, _, err := certs.Read(path)
		var e *certs.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
	for _, name := range []string{"", "a/b", "..", "-a", "a b", strings.Repeat("a", 201)} {
		var e *certs.Error
		if err := ours.Node(filepath.Join(dir, "x"), name, time.Hour); !errors.As(err, &e) {
			t.Errorf("a node %q: %v", name, err)
		}
	}
	if err := ours.Node(filepath.Join(dir, "x"), "x", 0); err == nil {
		t.Error("a certificate that is never valid was made")
	}
	if exists, _ := os.Stat(filepath.Join(dir, "x")); exists != nil {
		t.Error("a directory was left behind")
	}
	os.Remove(filepath.Join(dir, "ours", "ca.key"))
	var e *certs.Error
	if _, _, err := certs.Open(filepath.Join(dir, "ours")); !errors.As(err, &e) {
		t.Errorf("an authority without its key: %v", err)
	}
}
