package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteWhole(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "a.0123abcd.tmp"} { // the second is somebody's
		if err := os.WriteFile(name, []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("the disk is full")
	paths := []string{"a", "b"}
	err := WriteWhole(paths, func(to []io.Writer) error {
		fmt.Fprint(to[0], "half")
		return failed
	})
	text, _ := os.ReadFile("a")
	if files, _ := filepath.Glob("*"); err != failed || string(text) != "before" || len(files) != 2 {
		t.Errorf("%v, %q, %v", err, text, files)
	}
	err = WriteWhole(paths, func(to []io.Writer) error {
		fmt.Fprint(to[0], "one")
		fmt.Fprint(to[1], "two")
		return nil
	})
	a, _ := os.ReadFile("a")
	b, _ := os.ReadFile("b")
	if files, _ := filepath.Glob("*"); err != nil || string(a)+string(b) != "onetwo" || len(files) != 3 {
		t.Errorf("%v, %q, %q, %v", err, a, b, files)
	}
	if err := WriteWhole([]string{"no/such/file"}, nil); err == nil {
		t.Error("no error")
	}
}
