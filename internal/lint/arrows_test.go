package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestArrows: files of a package use one another one way only.
func TestArrows(t *testing.T) {
	m := here(t)
	for _, p := range m.Packages {
		for _, ring := range rings(m, p) {
			t.Errorf("%s: these files use one another: %s", p.Path, strings.Join(ring, " "))
		}
	}
}

// TestRings: a ring of three, a file that stands apart, and one that calls the method of
// another by way of an interface.
func TestRings(t *testing.T) {
	root := fstest.MapFS{}
	for name, text := range map[string]string{
		"a.go": "package p\ntype A struct{ b B }\nfunc (A) up() {}",
		"b.go": "package p\ntype B struct{ c C }",
		"c.go": "package p\ntype C struct{ x interface{ in() A } }\nfunc (c C) f() { c.x.in().up() }",
		"d.go": "package p\nfunc d() { var a A; _ = a; for A := range 3 { _ = A } }",
		"e.go": "package p\ntype E interface{ hi() }\nfunc e(x E) { x.hi() }",
		"f.go": "package p\ntype F struct{ E }\nfunc (F) hi() {}",
	} {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := rings(m, m.Packages[0]); len(got) != 1 || !slices.Equal(got[0], []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("rings %v", got)
	}
}

// rings returns the sets of files of a package that use one another. A file
// uses another one if it names what that one declares for the package, or a method of
// a type that is declared there; a method of an interface is nobody's.
func rings(m *Module, p *Package) (all [][]string) {
	uses := arrows(m, p)
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

// arrows returns, for each file of the package, the others that it uses. What
// other packages declare is not looked at, so expressions may have no type: they use
// nothing here.
func arrows(m *Module, p *Package) map[string]map[string]bool {
	files, uses := []*ast.File(nil), map[string]map[string]bool{}
	for _, f := range p.Library() {
		if twin.MatchString(f.Path) {
			continue
		}
		files = append(files, f.AST)
		uses[filepath.Base(f.Path)] = map[string]bool{}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Error: func(error) {}, Importer: nothing{}}
	pkg, _ := conf.Check(p.Path, m.Fset, files, &info)
	file := func(p token.Pos) string { return filepath.Base(m.Fset.Position(p).Filename) }
	for id, o := range info.Uses {
		f, isFunc := o.(*types.Func)
		method := isFunc && f.Signature().Recv() != nil && !types.IsInterface(f.Signature().Recv().Type())
		if o.Pkg() == pkg && (o.Parent() == pkg.Scope() || method) && file(id.Pos()) != file(o.Pos()) {
			uses[file(id.Pos())][file(o.Pos())] = true
		}
	}
	return uses
}
