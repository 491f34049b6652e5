package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme: the first screen of the README says what a gonum program gains, why not netlib, what is
// missing and how stable it is; a clone can be used; pages say what there is not, and the names of gonum
// in la.
func TestReadme(t *testing.T) {
	read := func(path ...string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "\n// ", " ") // comments of Go in one line
	}
	readme := read("README.md")
	first, _, found := strings.Cut(readme, "\n## ")
	if lines := strings.Count(first, "\n"); !found || lines > 70 {
		t.Errorf("%d lines are no first screen", lines)
	}
	for place, wants := range map[string][]string{
		first:                                   {"dropin.Install", "docs/images/libraries.svg", "with `Install`", "**Why not gonum's netlib", "`CGO_ENABLED=0`", "the same bits", "**What is missing:** LU and QR of sparse matrices", "**How stable it is:**"},
		readme:                                  {"go mod edit -require github.com/tessera-la/tessera@v0.0.0 -replace "},
		read("docs", "images", "libraries.svg"): {"gonum", "OpenBLAS", "MKL"},
		read("docs", "gonum.md"):                {"**What `la` has not:** generalized singular values", "| gonum's `mat` | `la` |", "`la.Cholesky`", "Products gain from order"},
		read("docs", "solving.md"):              {"Eigenvalues of symmetric and of general matrices"},
		read("la", "doc.go"):                    {"There are no generalized eigenproblems of matrices that are not symmetric"},
		read("CHANGELOG.md"):                    {"\n## Unreleased\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(place, want) {
				t.Errorf("%.40q does not say %q", place, want)
			}
		}
	}
}
