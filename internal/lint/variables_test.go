package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// variables checks that nothing mutable stands at package level. A variable
// there may be an error, or unexported and never written: not assigned to,
// not through an index, field or pointer, not passed by address, not cleared.
// The types of sync and sync/atomic are state by their nature; sync.Pool and
// sync.OnceValue are not, since nobody can tell what is in the one, and the
// other is a constant that takes its time.
func variables(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		declared := make(map[string]*ast.Ident)
		for _, f := range p.Library() {
			for _, d := range f.AST.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					for i, name := range v.Names {
						if name.Name == "_" {
							continue
						}
						declared[name.Name] = name
						if text := state(v, i); text != "" {
							found = append(found, m.at(name.Pos(), "%s is a package-level %s: no mutable state outside a struct", name.Name, text))
						} else if name.IsExported() && !strings.HasPrefix(name.Name, "Err") {
							found = append(found, m.at(name.Pos(), "%s can be set by any importer: make it a constant or a function", name.Name))
						}
					}
				}
			}
		}
		if len(declared) > 0 {
			found = append(found, written(m, p, declared)...)
		}
	}
	return found
}

// state returns the type of variable i of v as written, if it is one of sync
// or sync/atomic, a channel, or made by new or make.
func state(v *ast.ValueSpec, i int) string {
	if text := stateType(v.Type); text != "" {
		return text
	}
	if i >= len(v.Values) {
		return ""
	}
	switch x := v.Values[i].(type) {
	case *ast.CompositeLit:
		return stateType(x.Type)
	case *ast.UnaryExpr:
		if c, ok := x.X.(*ast.CompositeLit); ok {
			return stateType(c.Type)
		}
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.Ident); ok && (f.Name == "make" || f.Name == "new") && len(x.Args) > 0 {
			if _, ok := x.Args[0].(*ast.ChanType); ok {
				return "channel"
			}
			return stateType(x.Args[0])
		}
	}
	return ""
}

func stateType(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.ChanType:
		return "channel"
	case *ast.IndexExpr:
		return stateType(t.X)
	case *ast.StarExpr:
		return stateType(t.X)
	case *ast.ArrayType:
		return stateType(t.Elt)
	case *ast.SelectorExpr:
		if pkg, ok := t.X.(*ast.Ident); ok && (pkg.Name == "sync" && t.Sel.Name != "Pool" || pkg.Name == "atomic") {
			return pkg.Name + "." + t.Sel.Name
		}
	}
	return ""
}

// written finds the writes to package-level variables. Names are resolved by
// the type checker, with nothing known of imported packages: that is enough
// to tell a package-level variable from a local one of the same name, and a
// method on a pointer from one on a value where the type is of this package.
func written(m *Module, p *Package, declared map[string]*ast.Ident) []Finding {
	var files []*ast.File
	for _, f := range p.Library() {
		files = append(files, f.AST)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object), Selections: make(map[*ast.SelectorExpr]*types.Selection)}
	conf := types.Config{
		Importer:         nothing{},
		FakeImportC:      true,
		IgnoreFuncBodies: false,
		Error:            func(error) {}, // twins declare names twice, and imports are unknown
	}
	// The error is one of those that Error has been told.
	pkg, _ := conf.Check(p.Path, m.Fset, files, info)

	// root returns the package-level variable that an expression reaches
	// into, or nil.
	var root func(e ast.Expr) *ast.Ident
	root = func(e ast.Expr) *ast.Ident {
		switch e := e.(type) {
		case *ast.Ident:
			v, ok := info.Uses[e].(*types.Var)
			if ok && v.Parent() == pkg.Scope() && declared[e.Name] != nil {
				return e
			}
		case *ast.IndexExpr:
			return root(e.X)
		case *ast.SliceExpr:
			return root(e.X)
		case *ast.SelectorExpr:
			return root(e.X)
		case *ast.StarExpr:
			return root(e.X)
		case *ast.ParenExpr:
			return root(e.X)
		}
		return nil
	}
	var found []Finding
	flag := func(e ast.Expr, how string) {
		if id := root(e); id != nil {
			found = append(found, m.at(id.Pos(), "package-level %s is %s: no mutable state outside a struct", id.Name, how))
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						flag(e, "assigned to")
					}
				}
			case *ast.IncDecStmt:
				flag(n.X, "assigned to")
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					flag(n.Key, "assigned to")
					flag(n.Value, "assigned to")
				}
			case *ast.SendStmt:
				flag(n.Chan, "sent to")
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					flag(n.X, "taken by address")
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
					switch f.Name {
					case "clear", "delete", "copy":
						flag(n.Args[0], "written by "+f.Name)
					}
				}
			case *ast.SelectorExpr:
				s := info.Selections[n]
				if s == nil || s.Kind() != types.MethodVal {
					break
				}
				fn, ok := s.Obj().(*types.Func)
				if !ok {
					break
				}
				if _, ptr := fn.Signature().Recv().Type().(*types.Pointer); ptr {
					flag(n.X, "taken by address for method "+fn.Name())
				}
			}
			return true
		})
	}
	return found
}

// nothing imports every package as an empty one.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	p := types.NewPackage(path, name)
	p.MarkComplete()
	return p, nil
}
