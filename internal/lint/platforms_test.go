package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestPlatforms holds every package and its tests to compile for machines that
// are not here. It only checks their types, from source: to compile them for
// so many platforms would take ten times as long. Linux on amd64 without C and on
// s390x have no file that none of these has, and no smaller int.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of all packages for other platforms: run by make test-long")
	}
	src := &sources{fset: token.NewFileSet()}
	for _, platform := range []string{"linux/arm64", "darwin/arm64", "windows/amd64", "linux/386", "freebsd/amd64", "illumos/amd64", "js/wasm"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			for _, err := range buildErrors(t, src, filepath.Join("..", ".."), platform) {
				t.Error(err)
			}
		})
	}
}

// TestBuildErrors feeds the check what does not compile on one platform, in
// each kind of file.
func TestBuildErrors(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module m\n\ngo 1.26\n",
		"a/a.go":              "package a\n\nfunc F() int { return g() }\n",
		"a/g_linux.go":        "package a\n\nfunc g() int { return 1 << 40 }\n",
		"a/g_other.go":        "//go:build !linux\n\npackage a\n\nfunc g() string { return \"\" }\n",
		"a/a_test.go":         "package a\n\nvar _ = h()\n",
		"a/h_linux_test.go":   "package a\n\nfunc h() int { return 0 }\n",
		"a/x_test.go":         "package a_test\n\nimport \"m/a\"\n\nvar _ string = a.F()\n",
		"b/b.go":              "package b\n\nimport \"m/a\"\n\nvar V = a.F()\n\nfunc h()\n",
		"b/h_amd64.s":         "",
		"c/only_windows.go":   "package c\n\nimport \"syscall\"\n\nvar _ = syscall.Kill\n",
		"testdata/nothing.go": "package nothing",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	src := &sources{fset: token.NewFileSet()}
	for platform, want := range map[string][]string{
		"linux/amd64":   {"x_test.go:5"},
		"linux/386":     {"g_linux.go:3", "x_test.go:5", "b.go:7"},
		"windows/amd64": {"a.go:3", "a_test.go:3", "x_test.go:5", "only_windows.go:5"},
	} {
		found := buildErrors(t, src, root, platform)
		for _, at := range want {
			if !slices.ContainsFunc(found, func(err error) bool { return strings.Contains(err.Error(), at) }) {
				t.Errorf("%s: no error in %s among %v", platform, at, found)
			}
		}
		if len(found) != len(want) {
			t.Errorf("%s: found %d errors of %d: %v", platform, len(found), len(want), found)
		}
	}
}

// listed is what go list tells of a package, or of a variant of it that a test
// is built with.
type listed struct {
	ImportPath string
	ForTest    string // the package for whose test this variant is
	Dir        string
	GoFiles    []string
	SFiles     []string
	ImportMap  map[string]string // packages behind the paths in the source
	Standard   bool
	Module     *struct {
		GoVersion string
		Main      bool
	}
}

// ours reports whether the package is of the module that is checked.
func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// known reports whether what stands in p's functions has been checked: Go's own
// packages by those who release them, and variants, which another package's test
// needs for their imports alone, as the package itself.
func (p *listed) known() bool {
	return p.Standard || p.ForTest != "" &&
		!slices.ContainsFunc(p.GoFiles, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// listPackages returns what the module in dir, its tests included, is built of
// for a platform, each package after those that it imports.
func listPackages(t *testing.T, dir, goos, goarch string) []*listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test",
		"-json=ImportPath,ForTest,Dir,GoFiles,SFiles,ImportMap,Standard,Module", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var packages []*listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// sources parses each file once for all platforms.
type sources struct {
	fset  *token.FileSet
	files sync.Map // func() (*ast.File, error) by name
}

// parse returns a file, without the bodies of functions if it is known to
// compile.
func (s *sources) parse(name string, known bool) (*ast.File, error) {
	parse, _ := s.files.LoadOrStore(name, sync.OnceValues(func() (*ast.File, error) {
		f, err := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		if f != nil && known {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					d.Body = &ast.BlockStmt{}
				}
			}
		}
		return f, err
	}))
	return parse.(func() (*ast.File, error))()
}

// importer has the packages that a package imports, by the paths in its source.
type importer struct {
	names map[string]string
	done  map[string]*types.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}

// buildErrors returns why packages of the module in dir, or tests of it, do not
// compile for a platform.
func buildErrors(t *testing.T, src *sources, dir, platform string) []error {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	var found []error
	seen := make(map[string]bool)
	report := func(err error) {
		if !seen[err.Error()] { // a package and its variant for tests
			seen[err.Error()] = true
			found = append(found, err)
		}
	}
	done := make(map[string]*types.Package)
	for _, p := range listPackages(t, dir, goos, goarch) {
		if p.ours() {
			_, _ = os.ReadDir(p.Dir) // go test then knows of new files that change the result
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			if !filepath.IsAbs(name) { // in the cache is the main function of a test
				name = filepath.Join(p.Dir, name)
			}
			f, err := src.parse(name, p.Standard)
			if err != nil {
				report(err)
				continue
			}
			files = append(files, f)
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body == nil && p.ours() && len(p.SFiles) == 0 {
					report(fmt.Errorf("%v: %s has no body, and the package no assembly", src.fset.Position(d.Pos()), d.Name.Name))
				}
			}
		}
		config := types.Config{
			Importer:         importer{p.ImportMap, done},
			Sizes:            types.SizesFor("gc", goarch),
			IgnoreFuncBodies: p.known(),
			Error:            report,
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, src.fset, files, nil)
	}
	return found
}
