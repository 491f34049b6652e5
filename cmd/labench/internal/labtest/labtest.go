package labtest

import (
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tessera-la/tessera/internal/report"
	"go.uber.org/goleak"
)

// Stays returns the goroutines of fasthttp that may outlive a client or server for a while.
func Stays() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	}
}

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// Golden compares got with testdata/name.golden.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -rewrite takes it over:\n%s", path, diff)
	}
}

// Narrow checks that no line of text is wider than 80 columns or coloured.
func Narrow(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if n := utf8.RuneCountInString(line); n > report.Columns {
			t.Errorf("%s: %d columns: %s", what, n, line)
		}
		if strings.ContainsRune(line, '\x1b') {
			t.Errorf("%s: coloured: %q", what, line)
		}
	}
}

// CheckPicture checks that a file is a PNG picture.
func CheckPicture(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}
