package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArrows: files of a package use one another one way only.
func TestArrows(t *testing.T) {
	m, err := Load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Packages {
		for _, ring := range rings(t, filepath.Join("../..", p.Path)) {
			t.Errorf("%s: these files use one another: %s", p.Path, strings.Join(ring, " "))
		}
	}
}

// TestRings: a ring of three, a file that stands apart, and one that calls the method of
// another by way of an interface.
func TestRings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package p\ntype A struct{ b B }\nfunc (A) up() {}",
		"b.go": "package p\ntype B struct{ c C }",
		"c.go": "package p\ntype C struct{ x interface{ in() A } }\nfunc (c C) f() { c.x.in().up() }",
		"d.go": "package p\nfunc d() { var a A; _ = a; for A := range 3 { _ = A } }",
		"e.go": "package p\ntype E interface{ hi() }\nfunc e(x E) { x.hi() }",
		"f.go": "package p\ntype F struct{ E }\nfunc (F) hi() {}",
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
// uses another one if it names what that one declares for the package, or a method of
// a type that is declared there; a method of an interface is nobody's.
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

// arrows returns, for each file of the package in dir, the others that it uses. What
// other packages declare is not looked at, so expressions may have no type: they use
// nothing here.
func arrows(t *testing.T, dir string) map[string]map[string]bool {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set, files, uses := token.NewFileSet(), []*ast.File(nil), map[string]map[string]bool{}
	for _, name := range names {
		if twin.MatchString(name) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		uses[filepath.Base(name)] = map[string]bool{}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Error: func(error) {}, Importer: nothing{}}
	pkg, _ := conf.Check(dir, set, files, &info)
	file := func(p token.Pos) string { return filepath.Base(set.Position(p).Filename) }
	for id, o := range info.Uses {
		f, isFunc := o.(*types.Func)
		method := isFunc && f.Signature().Recv() != nil && !types.IsInterface(f.Signature().Recv().Type())
		if o.Pkg() == pkg && (o.Parent() == pkg.Scope() || method) && file(id.Pos()) != file(o.Pos()) {
			uses[file(id.Pos())][file(o.Pos())] = true
		}
	}
	return uses
}
