package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFailed: .ci/failed, whose words are in the last line of make test, names what failed in the
// output of go test, and says nothing where nothing did.
func TestFailed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("make and awk are not for Windows")
	}
	named := func(log string) string {
		out, err := exec.CommandContext(t.Context(), "awk", "-f", filepath.Join("..", "..", ".ci", "failed"), log).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	const want = "exec (TestA, TestB), la (TestC still running, TestD/one still running), la/csr (does not compile), versions (TestP), kernels, transport (cannot be built)"
	if got := named(filepath.Join("testdata", "failed.txt")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	passed := filepath.Join(t.TempDir(), "passed.txt")
	if err := os.WriteFile(passed, []byte("ok  \tgithub.com/tessera-la/tessera/exec\t1.1s\n?   \tgithub.com/tessera-la/tessera/cmd\t[no test files]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := named(passed); got != "" {
		t.Errorf("%q has failed, of what passed", got)
	}
}

// TestMakeTimeouts: Go ends tests after ten minutes, which they may take on a busy machine. So each
// call of go test in the Makefile that runs tests says how long they may take.
func TestMakeTimeouts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	runs := regexp.MustCompile(`\$\(GO\) test\b`)
	only := regexp.MustCompile(`-timeout | -c | -bench `)
	for i, line := range strings.Split(string(text), "\n") {
		if runs.MatchString(line) && !only.MatchString(line) {
			t.Errorf("Makefile:%d: tests without a limit of their own: %s", i+1, strings.TrimSpace(line))
		}
	}
}

// TestMakeVariables: make takes a variable that nothing defines for an empty one. So each that the Makefile uses is
// defined there, or the user or make gives it.
func TestMakeVariables(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	given := []string{"CURDIR", "MAKE", "MAKEFILE_LIST", "FROM", "LOSSES", "PACKAGES", "SEEDS"}
	for _, use := range regexp.MustCompile(`\$\(([A-Z_]+)\)`).FindAllStringSubmatch(string(text), -1) {
		name := use[1]
		defined := regexp.MustCompile(`(?m)(^|[ :])` + name + ` *[:?]?=|^define ` + name + `$`)
		if !defined.Match(text) && !slices.Contains(given, name) {
			t.Errorf("the Makefile uses %s, which nothing defines", name)
		}
	}
}
