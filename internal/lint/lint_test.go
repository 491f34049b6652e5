package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// loaded returns the files of this module, which are read once for all tests.
var loaded = sync.OnceValues(func() (*Module, error) { return Load(os.DirFS(filepath.Join("..", ".."))) })

// here returns this module.
func here(t *testing.T) *Module {
	t.Helper()
	m, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestModule holds this module to the rules.
func TestModule(t *testing.T) {
	m := here(t)
	if len(m.Packages) < 3 {
		t.Fatalf("found %d packages: this is not the module", len(m.Packages))
	}
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			for _, f := range r.Check(m) {
				t.Error(f)
			}
		})
	}
	for _, f := range Long(m, 600) {
		t.Logf("advice: %v", f)
	}
}

// TestTable checks that the table has no circles: direction is what it is
// for.
func TestTable(t *testing.T) {
	rules := table()
	seen := make(map[string]bool)
	for _, e := range rules {
		if seen[e.pkg] {
			t.Errorf("%s has two lines", e.pkg)
		}
		seen[e.pkg] = true
		for _, p := range below(rules, e.pkg) {
			if p == e.pkg {
				t.Errorf("%s may import itself in the end", e.pkg)
			}
			if p != "..." && find(rules, p) == nil {
				t.Errorf("%s may import %s, which has no line", e.pkg, p)
			}
		}
	}
}

// TestTableIsUsed checks that the table promises nothing that is not there: each
// line has its package, and what it allows is imported by a file that is no test.
func TestTableIsUsed(t *testing.T) {
	m := here(t)
	for _, e := range table() {
		var imported []string
		there := false
		for _, p := range m.Packages {
			if !matches(e.pkg, p.Path) {
				continue
			}
			there = true
			for _, f := range p.Library() {
				imported = append(imported, f.Imports()...)
			}
		}
		if !there {
			t.Errorf("there is no package %s", e.pkg)
		}
		if strings.HasSuffix(e.pkg, "...") {
			continue // programs share what they may import
		}
		for _, p := range e.tessera {
			if !anyMatches(imported, modulePath+"/"+p) {
				t.Errorf("%s may import %s, and does not", e.pkg, p)
			}
		}
		for _, p := range e.third {
			if !slices.ContainsFunc(imported, func(i string) bool { return matches(p, i) }) {
				t.Errorf("%s may import %s, and does not", e.pkg, p)
			}
		}
	}
}

func check(t *testing.T, rule string, files map[string]string) []Finding {
	t.Helper()
	root := fstest.MapFS{}
	for name, src := range files {
		root[name] = &fstest.MapFile{Data: []byte(src)}
	}
	m, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		if r.Name == rule {
			return r.Check(m)
		}
	}
	t.Fatalf("there is no rule %s", rule)
	return nil
}

// TestRules feeds each rule what it must and must not find.
func TestRules(t *testing.T) {
	const variable = "package a\n\nimport \"sync\"\n\nvar x = []int{1}\n\nvar once sync.Once\n"
	for _, test := range []struct {
		rule, name string
		files      map[string]string
		want       []string // a part of each finding, in order; none if empty
	}{
		{"Imports", "allowed", map[string]string{
			"blocked/a.go":       "package blocked\nimport (\n\"fmt\"\n\"github.com/tessera-la/tessera/kernels\"\n\"gonum.org/v1/gonum/blas\"\n)",
			"blocked/a_test.go":  "package blocked\nimport (\n\"github.com/tessera-la/tessera/internal/matgen\"\n\"github.com/tessera-la/tessera/exec/dispatch\"\n\"pgregory.net/rapid\"\n)",
			"cmd/labench/a.go":   "package main\nimport (\n\"github.com/spf13/cobra\"\n\"github.com/tessera-la/tessera/la\"\n)",
			"examples/01-x/a.go": "package main\nimport \"github.com/tessera-la/tessera/internal/matgen\"",
		}, nil},
		{"Imports", "up", map[string]string{"kernels/a.go": "package kernels\nimport \"github.com/tessera-la/tessera/exec\""},
			[]string{"package kernels may not import exec; it may import kernels/tridiag, versions"}},
		{"Imports", "up in a test", map[string]string{"kernels/a_test.go": "package kernels\nimport \"github.com/tessera-la/tessera/la\""},
			[]string{"may not import la"}},
		{"Imports", "behind a tag", map[string]string{"versions/a.go": "//go:build plan9\n\npackage versions\nimport \"github.com/tessera-la/tessera/exec\""},
			[]string{"may not import exec; it may import internal/atomicfile, internal/filelock, internal/pages"}},
		{"Imports", "heavy module", map[string]string{"la/a.go": "package la\nimport \"gonum.org/v1/plot\""},
			[]string{"may not import gonum.org/v1/plot"}},
		{"Imports", "test tools in a library", map[string]string{"exec/a.go": "package exec\nimport \"go.uber.org/goleak\""},
			[]string{"of other modules it may import nothing"}},
		{"Imports", "unknown package", map[string]string{"la/sparse/a.go": "package sparse"},
			[]string{"la/sparse: this package has no line"}},

		{"C", "behind a tag", map[string]string{"a/a.go": "//go:build cgo && (openblas || mkl)\n\npackage a\nimport \"C\""}, nil},
		{"C", "without", map[string]string{
			"a/a.go": "package a\nimport \"C\"",
			"a/b.go": "//go:build cgo\n\npackage a\nimport \"gonum.org/v1/netlib/blas/netlib\"",
		}, []string{"a/a.go: imports \"C\"", "a/b.go: imports"}},

		{"Twins", "in order", map[string]string{
			"a/f_amd64.s":  "//go:build !noasm\n",
			"a/f_amd64.go": "//go:build !noasm\n\npackage a\n\n// F does.\nfunc F(n int)\n",
			"a/f_noasm.go": "//go:build !amd64 || noasm\n\npackage a\n\n// F does.\nfunc F(n int) {}\n",
		}, nil},
		{"Twins", "two architectures", map[string]string{
			"a/f_amd64.go": "//go:build !noasm\n\npackage a\n",
			"a/f_arm64.go": "//go:build !noasm\n\npackage a\n",
			"a/f_noasm.go": "//go:build !(amd64 || arm64) || noasm\n\npackage a\n",
		}, nil},
		{"Twins", "one for a table", map[string]string{
			"a/f_amd64.s":      "//go:build !noasm\n",
			"a/f_amd64.go":     "//go:build !noasm\n\npackage a\n\nfunc f(n int)\n",
			"a/table_amd64.go": "//go:build !noasm\n\npackage a\n",
			"a/table_noasm.go": "//go:build !amd64 || noasm\n\npackage a\n",
		}, nil},
		{"Twins", "none", map[string]string{"a/f_amd64.go": "package a", "a/g_arm64.s": ""},
			[]string{"no portable twin f_noasm.go", "no portable twin g_noasm.go"}},
		{"Twins", "both", map[string]string{
			"a/f_amd64.go": "package a\n",
			"a/f_noasm.go": "//go:build !amd64 || noasm\n\npackage a\n",
		}, []string{"both it and f_noasm.go is built on amd64 with tag noasm"}},
		{"Twins", "neither", map[string]string{
			"a/f_amd64.go": "//go:build !noasm\n\npackage a\n",
			"a/f_noasm.go": "//go:build !amd64\n\npackage a\n",
		}, []string{"neither it nor f_noasm.go is built on amd64 with tag noasm"}},
		{"Twins", "unlike", map[string]string{
			"a/f_amd64.go": "//go:build !noasm\n\npackage a\n\n// F does.\nfunc F(n int)\n",
			"a/f_noasm.go": "//go:build !amd64 || noasm\n\npackage a\n\n// F is.\nfunc F(m int) {}\n",
		}, []string{"signature of F", "comment on F"}},
		{"Twins", "assembly without declarations", map[string]string{
			"a/f_amd64.s":  "//go:build !noasm\n",
			"a/f_noasm.go": "//go:build !amd64 || noasm\n\npackage a\n",
		}, []string{"no Go file of the same name"}},

		{"Files", "vague", map[string]string{"a/utils.go": "package a", "a/helpers_test.go": "package a", "common/a.go": "package common", "a/utility.go": "package a"},
			[]string{"a/helpers_test.go", "a/utils.go", "common: name the package"}},

		{"Docs", "documented", map[string]string{
			"a/doc.go":      "// Package a is.\npackage a",
			"a/a.go":        "package a\n\n// T is.\ntype T struct{}\n\nfunc (T) String() string { return \"\" }\n\n// Some numbers.\nconst (\nA = 1\nB = 2\n)\n\nconst C = 3 // the third\n\ntype t int\nfunc (t) M() {}\nfunc f() {}",
			"cmd/x/main.go": "// Command x does.\npackage main\n\nfunc F() {}",
		}, nil},
		{"Docs", "not", map[string]string{
			"a/a.go":        "// Package a is, in the wrong file.\npackage a\ntype T[E any] struct{}\nfunc (*T[E]) M() {}\nfunc F() {}\nvar V int\ntype (\nU int\n)\n// A and B are.\ntype (\nA = U\nB = U\n)",
			"cmd/x/main.go": "package main",
		}, []string{"a: has no package comment", "T has", "M has", "F has", "V has", "U has", "cmd/x: has no"}},

		{"Init", "one", map[string]string{"a/a.go": "package a\nfunc init() {}", "a/a_test.go": "package a\nfunc init() {}", "a/b.go": "package a\ntype t int\nfunc (t) init() {}"},
			[]string{"a/a.go:2"}},

		{"Variables", "constants in all but name", map[string]string{
			"a/a.go": "package a\n\nimport (\n\"errors\"\n\"regexp\"\n\"sync\"\n)\n\nvar ErrX = errors.New(\"x\")\n\nvar (\nre = regexp.MustCompile(\"a\")\nnames = [...]string{\"a\"}\nmachine = sync.OnceValue(f)\npool = sync.Pool{}\n)\n\nvar _ error = (*E)(nil)\n\nfunc f() int {\nnames := []string{}\nnames[0] = \"x\"\nfor i := range names { _ = i }\nreturn len(names)\n}",
		}, nil},
		{"Variables", "written", map[string]string{
			"a/a.go": "package a\n\nvar a, b, c, d, e, f = 1, []int{1}, map[int]int{}, &t{}, t{}, 0\n\ntype t struct{ n int }\nfunc (p *t) set() { p.n = 1 }\n\nfunc g() {\na = 2\nb[0]++\ndelete(c, 1)\nd.n = 3\ne.set()\n_ = &f\n}",
		}, []string{"a is assigned", "b is assigned", "c is written by delete", "d is assigned", "e is taken by address for method set", "f is taken by address"}},
		{"Variables", "state", map[string]string{"a/a.go": variable, "a/b.go": "package a\nvar Level = 3\nvar ch = make(chan int)\nvar n = new(atomic.Int64)"},
			[]string{"once is a package-level sync.Once", "Level can be set", "ch is a package-level channel", "n is a package-level atomic.Int64"}},

		{"Elements", "asked", map[string]string{
			"a/a.go": "package a\nfunc f[T any](x T) {\nif int(unsafe.Sizeof(x)) == 4 { return }\nswitch any(x).(type) {\ncase []float64:\ncase string:\n}\nswitch unsafe.Sizeof(x) {\ncase 8:\n}\n}\nfunc (t *T[E]) g() { _ = 4 != unsafe.Sizeof(t.e) }",
		}, []string{"a/a.go:3", "a/a.go:5", "a/a.go:8", "a/a.go:12"}},
		{"Elements", "not asked", map[string]string{
			"a/a.go":               "package a\nfunc f[T any](x []T, y any) int {\nswitch y.(type) {\ncase *mat.Dense:\n}\nreturn len(x) * int(unsafe.Sizeof(x[0]))\n}\nfunc g(x any) {\nswitch x.(type) {\ncase float64:\n}\n}",
			"internal/scalar/a.go": "package scalar\nfunc f[T any](x T) {\nswitch any(x).(type) {\ncase float64:\n}\n}",
		}, nil},

		{"Leftovers", "both", map[string]string{"a/a.go": "package a\n// TO" + "DO: more\nvar s = \"TO" + "DO\"", "a/a_test.go": "package a\nfunc f(t *testing.T) {\nt.Skip()\nt.Skip(\"no GPU\")\n}"},
			[]string{"a/a.go:2", "a/a_test.go:3"}},
		{"Actors", "nobody", map[string]string{"a/a.go": "package a\n\n// A is called by\n// who needs it, whoever that is; \"who\" may be asked.\ntype A int\n"}, []string{"by who", "whoever"}},
		{"Format", "not", map[string]string{"a/a.go": "package a\nvar  x int\n", "a/b.go": "package a\n"}, []string{"a/a.go"}},
	} {
		t.Run(test.rule+"/"+test.name, func(t *testing.T) {
			found := check(t, test.rule, test.files)
			for i, f := range found {
				if i >= len(test.want) || !strings.Contains(f.String(), test.want[i]) {
					t.Errorf("found %v", f)
				}
			}
			if len(found) < len(test.want) {
				t.Errorf("found %d of %d: %v", len(found), len(test.want), test.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	src := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	m, err := Load(fstest.MapFS{
		"a.go":            src("package a"),
		".git/x.go":       src("not Go"),
		"testdata/x.go":   src("not Go"),
		"b/testdata/x.go": src("not Go"),
		"tools/go.mod":    src("module tools"),
		"tools/x.go":      src("package tools"),
		"b/long.go":       src("package b" + strings.Repeat("\n", 700)),
		"b/generated.go":  src("// Code generated by x. DO NOT EDIT.\n\npackage b" + strings.Repeat("\n", 700)),
		"b/readme.md":     src(""),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Packages) != 2 || m.Packages[0].Path != "." || m.Packages[1].Path != "b" {
		t.Errorf("packages %+v", m.Packages)
	}
	if long := Long(m, 600); len(long) != 1 || long[0].Pos != "b/long.go" {
		t.Errorf("long files %v", long)
	}
	if _, err := Load(fstest.MapFS{"a.go": src("not Go")}); err == nil {
		t.Error("no error for a file that does not parse")
	}
}
