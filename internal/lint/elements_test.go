package lint

import (
	"go/ast"
	"go/token"
)

// elements checks that generic code asks for its element type only in package internal/scalar, where the
// compiler refuses a type for which there is no answer. Otherwise it would be told by its size, where
// complex64 looks like float64, or by a type switch, which does nothing for a type without a case.
func elements(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		if p.Path == "internal/scalar" {
			continue
		}
		for _, f := range p.Library() {
			for _, d := range f.AST.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil || !generic(fn) {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.TypeSwitchStmt:
						for _, c := range n.Body.List {
							for _, t := range c.(*ast.CaseClause).List {
								if namesElement(t) {
									found = append(found, m.at(t.Pos(), "a type switch on an element type: use scalar.Pick"))
								}
							}
						}
					case *ast.BinaryExpr:
						if compares(n.Op) && (sizeOf(n.X) && literal(n.Y) || sizeOf(n.Y) && literal(n.X)) {
							found = append(found, m.at(n.Pos(), "an element type is told by its size: use scalar.Pick"))
						}
					case *ast.SwitchStmt:
						if n.Tag != nil && sizeOf(n.Tag) {
							found = append(found, m.at(n.Pos(), "an element type is told by its size: use scalar.Pick"))
						}
					}
					return true
				})
			}
		}
	}
	return found
}

// generic reports whether fn or the type of its receiver has type parameters.
func generic(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return fn.Type.TypeParams != nil
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch t.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}

// namesElement reports whether t is an element type, or made of one.
func namesElement(t ast.Expr) (names bool) {
	ast.Inspect(t, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (id.Name == "float32" || id.Name == "float64") {
			names = true
		}
		return true
	})
	return names
}

func compares(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

// sizeOf reports whether x is a call of unsafe.Sizeof, converted or not.
func sizeOf(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Sizeof" {
		return true
	}
	return len(call.Args) == 1 && sizeOf(call.Args[0])
}

func literal(x ast.Expr) bool {
	_, ok := ast.Unparen(x).(*ast.BasicLit)
	return ok
}
