package main

import (
	"bytes"
	"image/png"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// papers runs a command line in this process.
func papers(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), &cli.App{Out: &stdout, Err: &stderr, Cores: 64}, args)
	return code, stdout.String(), stderr.String()
}

// narrow checks that no line is wider than 80 columns and that none is coloured.
func narrow(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > report.Columns || strings.ContainsRune(line, '\x1b') {
			t.Errorf("%s: %d columns: %q", what, n, line)
		}
	}
}

func checkPicture(t *testing.T, file string) {
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

// TestWrong: what is wrong with a command line is said, and the exit code shows it.
func TestWrong(t *testing.T) {
	for line, want := range map[string]string{
		"nope":                              "known: eager, figures",
		"lop":                               "Did you mean loop?",
		"eager --bogus":                     "See papers eager --help.",
		"eager -turns 2":                    "Did you mean --turns?",
		"eager extra":                       "takes flags only",
		"nested --unit x":                   "--unit: \"x\" is not allowed",
		"nested --app nope":                 "unknown study",
		"figures pycompss-15 --out main.go": "mkdir main.go",
		"loop svm --kernel x":               `--kernel: "x" is not allowed; want rbf, linear`,
		"loop compnents":                    "Did you mean components?",
		"nested --nodes 0":                  "want at least 1",
		"eager --parts 0":                   "want at least 1",
		"qr --nb 0":                         "want at least 1",
	} {
		if code, _, errs := papers(t, strings.Fields(line)...); code == cli.ExitPassed || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
			t.Errorf("%s: exit code %d: %s", line, code, errs)
		}
	}
}
