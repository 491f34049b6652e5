package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/atomicfile"
)

// TestLend: a file that is lent stays readable when it is removed, until it is called back. So it
// is where no file can have two names, too. One that is not there leaves nothing.
func TestLend(t *testing.T) {
	for how, link := range map[string]func(from, to string) error{
		"link": os.Link,
		"copy": func(string, string) error { return errors.ErrUnsupported },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "state")
		if _, _, err := atomicfile.Lend(path, ".*.lent", link); err == nil {
			t.Errorf("%s: a file that is not there was lent", how)
		}
		if err := os.WriteFile(path, []byte("content"), 0o666); err != nil {
			t.Fatal(err)
		}
		name, back, err := atomicfile.Lend(path, ".*.lent", link)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		os.Remove(path)
		if b, err := os.ReadFile(name); string(b) != "content" || err != nil || !strings.HasSuffix(name, ".lent") {
			t.Errorf("%s: %s has %q, %v", how, name, b, err)
		}
		back()
		if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
			t.Errorf("%s: %v is left, %v", how, left, err)
		}
	}
}
