package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layered are the packages in which arrows between files run one way: no file uses,
// by way of others or not, a file that uses it.
func layered() []string {
	return []string{"exec/dispatch", "exec/monitor", "kernels"}
}

// TestArrows holds layered packages to that.
func TestArrows(t *testing.T) {
	for _, dir := range layered() {
		for _, ring := range rings(t, filepath.Join("../..", dir)) {
			t.Errorf("%s: these files use one another: %s", dir, strings.Join(ring, " "))
		}
	}
}

// TestRings: two files of a ring of three by way of a method, and one that stands apart.
func TestRings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package p\ntype A struct{ b B }\nfunc (A) up() {}",
		"b.go": "package p\ntype B struct{ c C }",
		"c.go": "package p\ntype C struct{}\nfunc (C) f(x interface{ up() }) { x.up() }",
		"d.go": "package p\nfunc d() { var a A; _ = a; for A := range 3 { _ = A } }",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := rings(t, dir); len(got) != 1 || !slices.Equal(got[0], []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("rings %v", got)
	}
}

// rings returns the sets of files of the package in dir that use one another. A file
// uses another one if it names what that one declares for the package, or calls a
// method that is declared there only and that no field of the package is called like.
func rings(t *testing.T, dir string) (all [][]string) {
	uses := arrows(t, dir)
	reach := map[string]map[string]bool{}
	for f := range uses {
		seen, todo := map[string]bool{}, []string{f}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for next := range uses[at] {
				if !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
		reach[f] = seen
	}
	done := map[string]bool{}
	for _, f := range slices.Sorted(maps.Keys(uses)) {
		if done[f] || !reach[f][f] {
			continue
		}
		var ring []string
		for _, g := range slices.Sorted(maps.Keys(uses)) {
			if reach[f][g] && reach[g][f] {
				done[g] = true
				ring = append(ring, g)
			}
		}
		all = append(all, ring)
	}
	return all
}

// twin is the names of files that stand in for others in some builds.
var twin = regexp.MustCompile(`_(other|noasm|none)\.go$`)

// arrows returns, for each file of the package in dir, the others that it uses.
func arrows(t *testing.T, dir string) map[string]map[string]bool {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	of, methods, fields := map[string]string{}, map[string][]string{}, map[string]bool{}
	for _, name := range names {
		if twin.MatchString(name) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		files[base] = f
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[d.Name.Name] = append(methods[d.Name.Name], base)
				} else {
					of[d.Name.Name] = base
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						of[s.Name.Name] = base
					case *ast.ValueSpec:
						for _, n := range s.Names {
							of[n.Name] = base
						}
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, n := range field.Names {
						fields[n.Name] = true
					}
				}
			}
			return true
		})
	}
	uses := map[string]map[string]bool{}
	for name, f := range files {
		to := map[string]bool{}
		for _, x := range f.Unresolved { // what the file itself does not declare
			to[of[x.Name]] = true
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && !fields[s.Sel.Name] {
				if at := methods[s.Sel.Name]; len(at) == 1 {
					to[at[0]] = true
				}
			}
			return true
		})
		delete(to, "")
		delete(to, name)
		uses[name] = to
	}
	return uses
}
