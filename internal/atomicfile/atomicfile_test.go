package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/atomicfile"
)

// holds checks that a folder has these files, with these contents.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("the folder has %v, want %v", entries, want)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, error %v, want %q", name, got, err, text)
		}
	}
}

func says(text string) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	}
}

// TestWrite: a file is new, is replaced and keeps its permissions, or stays as it is; a link stays a
// link. Nothing else is left.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := atomicfile.Write(path, 0o600, says("one")); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Write(path, 0o600, says("two")); err != nil {
		t.Fatal(err)
	}
	if s, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && s.Mode().Perm() != 0o640 {
		t.Errorf("%v, error %v", s, err)
	}
	broken := errors.New("no space left on device")
	err := atomicfile.Write(path, 0o600, func(f *os.File) error { return errors.Join(says("half")(f), broken) })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	holds(t, dir, map[string]string{"a": "two"})
	if err := os.Symlink("a", filepath.Join(dir, "link")); err == nil {
		if err := atomicfile.Write(filepath.Join(dir, "link"), 0o600, says("three")); err != nil {
			t.Fatal(err)
		}
		if s, err := os.Lstat(filepath.Join(dir, "link")); err != nil || s.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link is %v, error %v", s, err)
		}
		holds(t, dir, map[string]string{"a": "three", "link": "three"})
	}
	if err := atomicfile.Write(dir, 0o600, says("x")); err == nil {
		t.Error("a folder was replaced")
	}
	if err := atomicfile.Write(filepath.Join(dir, "none", "a"), 0o600, says("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 250))
	if err := atomicfile.Write(long, 0o600, says("x")); err != nil {
		t.Errorf("a long name: %v", err)
	}
}

// TestCommit: of files that belong together all are as before, or none is. What takes a name last
// fails here, as a folder has it by then.
func TestCommit(t *testing.T) {
	dir := t.TempDir()
	create := func(name string) *atomicfile.File {
		f, err := atomicfile.Create(filepath.Join(dir, name), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := says(name)(f.File); err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := create("a"), create("b")
	if err := b.Close(); err != nil { // as if the device had failed
		t.Fatal(err)
	}
	if err := atomicfile.Commit(a, b); err == nil {
		t.Error("a file that cannot be flushed is no error")
	}
	holds(t, dir, nil)
	a, b = create("a"), create("b")
	if err := atomicfile.Commit(a, b); err != nil {
		t.Error(err)
	}
	a.Discard() // does nothing any more
	holds(t, dir, map[string]string{"a": "a", "b": "b"})
	for _, name := range []string{"c.tmp", "c.123.tmp", "c.0123456g.tmp", "cc.01234567.tmp"} { // somebody else's
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := create("c")
	if got := atomicfile.Unfinished(filepath.Join(dir, "c")); len(got) != 1 || got[0] != c.Name() {
		t.Errorf("unfinished: %v, want %s", got, c.Name())
	}
	c.Discard()
	if got := atomicfile.Unfinished(filepath.Join(dir, "c")); len(got) != 0 {
		t.Errorf("unfinished after the end: %v", got)
	}
}
