package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/printer"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// architectures returns the suffixes of files that hold code for one
// architecture.
func architectures() []string { return []string{"amd64", "arm64"} }

// arch splits the name of a file "stem_arch.go" or ".s".
func arch(name string) (stem, arch string, ok bool) {
	base := strings.TrimSuffix(name, path.Ext(name))
	for _, a := range architectures() {
		if stem, ok := strings.CutSuffix(base, "_"+a); ok {
			return stem, a, true
		}
	}
	return "", "", false
}

// tableTwin is the twin of all files of an instruction set: without them its table is empty.
const tableTwin = "table_noasm.go"

// twins checks that a file for one architecture has a portable twin, that in
// every build exactly one of them is there, and that what both declare is
// declared alike.
func twins(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		files := make(map[string]*File)
		for _, f := range p.Files {
			files[f.Name()] = f
		}
		for _, f := range p.Files {
			stem, _, ok := arch(f.Name())
			if !ok || f.Test() {
				continue
			}
			portable := files[stem+"_noasm.go"]
			if portable == nil {
				portable = files[tableTwin]
			}
			if portable == nil {
				found = append(found, Finding{f.Path, "has no portable twin " + stem + "_noasm.go"})
				continue
			}
			found = append(found, exclusive(f, portable)...)
			if f.AST == nil {
				if files[strings.TrimSuffix(f.Name(), ".s")+".go"] == nil {
					found = append(found, Finding{f.Path, "has no Go file of the same name that declares its functions"})
				}
				continue
			}
			found = append(found, alike(m, f, portable)...)
		}
	}
	return found
}

// exclusive checks that exactly one of f, which is for one architecture, and
// its portable twin is built, with and without noasm.
func exclusive(f, portable *File) []Finding {
	_, own, _ := arch(f.Name())
	var found []Finding
	for _, target := range []string{"amd64", "arm64", "386"} {
		for _, noasm := range []bool{false, true} {
			has := func(tag string) bool {
				return tag == target || tag == "noasm" && noasm || tag == "linux" || tag == "unix" || tag == "gc"
			}
			// The suffix of the name is part of its constraint.
			special := target == own && built(f, has)
			if own != target && !noasm && slices.Contains(architectures(), target) {
				continue // there may be another twin for it
			}
			if special == built(portable, has) {
				which := "neither it nor"
				if special {
					which = "both it and"
				}
				tags := ""
				if noasm {
					tags = " with tag noasm"
				}
				found = append(found, Finding{f.Path, fmt.Sprintf("%s %s is built on %s%s", which, portable.Name(), target, tags)})
			}
		}
	}
	return found
}

// alike checks that functions declared in both files have the same signature
// and comment, and that all of the portable twin's are in f.
func alike(m *Module, f, portable *File) []Finding {
	var found []Finding
	own := functions(f)
	for name, b := range functions(portable) {
		a, ok := own[name]
		if !ok {
			if b.Name.IsExported() {
				found = append(found, m.at(b.Pos(), "%s is not declared in its twin %s", name, f.Name()))
			}
			continue
		}
		if source(m, a.Type) != source(m, b.Type) {
			found = append(found, m.at(b.Pos(), "the signature of %s differs from that in %s", name, f.Name()))
		}
		if a.Doc.Text() != b.Doc.Text() {
			found = append(found, m.at(b.Pos(), "the comment on %s differs from that in %s", name, f.Name()))
		}
	}
	return found
}

func functions(f *File) map[string]*ast.FuncDecl {
	all := make(map[string]*ast.FuncDecl)
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
			all[fn.Name.Name] = fn
		}
	}
	return all
}

// source returns the Go source of a node.
func source(m *Module, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, m.Fset, node); err != nil {
		return err.Error()
	}
	return b.String()
}

// fileNames checks that no file or directory is a place for everything.
func fileNames(m *Module) []Finding {
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc"}
	var found []Finding
	for _, p := range m.Packages {
		if slices.Contains(vague, path.Base(p.Path)) {
			found = append(found, Finding{p.Path, "name the package after what it does"})
		}
		for _, f := range p.Files {
			stem, _, _ := strings.Cut(strings.TrimSuffix(f.Name(), path.Ext(f.Path)), "_")
			if slices.Contains(vague, stem) {
				found = append(found, Finding{f.Path, "name the file after what it holds"})
			}
		}
	}
	return found
}

// inits checks that no package does work when it is imported.
func inits(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Library() {
			for _, d := range f.AST.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					found = append(found, m.at(fn.Pos(), "no init functions: importing a package does no work"))
				}
			}
		}
	}
	return found
}

// leftovers checks that nothing is left to do later, and that no test is
// skipped without saying why.
func leftovers(m *Module) []Finding {
	later := regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			if f.AST == nil {
				continue
			}
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					if word := later.FindString(c.Text); word != "" && p.Path != "internal/lint" {
						found = append(found, m.at(c.Pos(), "%s: do it, or write an issue", word))
					}
				}
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && f.Test() {
					if s, ok := call.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "SkipNow" || s.Sel.Name == "Skip") && len(call.Args) == 0 {
						found = append(found, m.at(call.Pos(), "say why the test is skipped"))
					}
				}
				return true
			})
		}
	}
	return found
}

// actors checks that comments name the actor: the node, the caller, the program.
func actors(m *Module) []Finding {
	nobody := regexp.MustCompile(`(?i)\bwhoever\b|\b(by|for|of|to|with|from)[\s/]+who\b`)
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			if f.AST == nil || p.Path == "internal/lint" {
				continue
			}
			for _, group := range f.AST.Comments {
				for _, words := range nobody.FindAllString(group.Text(), -1) {
					found = append(found, m.at(group.Pos(), "%q: say the actor", strings.Join(strings.Fields(words), " ")))
				}
			}
		}
	}
	return found
}

// formatted checks that gofmt has nothing to change.
func formatted(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			if f.AST == nil {
				continue
			}
			if want, err := format.Source(f.Src); err != nil || !bytes.Equal(want, f.Src) {
				found = append(found, Finding{f.Path, "run gofmt -w on it"})
			}
		}
	}
	return found
}

// Long returns the files with more than lines lines that are neither tests
// nor generated. It is advice, not a rule: such a file is asked which two
// things it is.
func Long(m *Module, lines int) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Library() {
			if n := bytes.Count(f.Src, []byte("\n")); n > lines && !f.Generated() {
				found = append(found, Finding{f.Path, fmt.Sprintf("%d lines: which two things is it?", n)})
			}
		}
	}
	return found
}

// docs checks that every package has an overview and every exported name a
// comment.
func docs(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		library := p.Library()
		if len(library) == 0 {
			continue
		}
		overview := false
		for _, f := range library {
			overview = overview || f.AST.Doc.Text() != "" && (f.Name() == "doc.go" || p.Main())
		}
		if !overview {
			found = append(found, Finding{p.Path, "has no package comment in doc.go"})
		}
		if p.Main() {
			continue
		}
		for _, f := range library {
			for _, d := range f.AST.Decls {
				found = append(found, undocumented(m, d)...)
			}
		}
	}
	return found
}

// undocumented returns the exported names of a declaration that have no
// comment. One comment on a group of constants, variables or aliases speaks
// for all.
func undocumented(m *Module, d ast.Decl) []Finding {
	var found []Finding
	check := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if !name.IsExported() {
			return
		}
		for _, doc := range docs {
			if doc.Text() != "" {
				return
			}
		}
		found = append(found, m.at(name.Pos(), "exported %s has no comment", name.Name))
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && (!ast.IsExported(receiver(d)) || wellKnown(d.Name.Name)) {
			return nil
		}
		check(d.Name, d.Doc)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				// What an alias stands for has a comment of its own.
				if d.Lparen == token.NoPos || s.Assign != token.NoPos {
					check(s.Name, s.Doc, d.Doc)
				} else {
					check(s.Name, s.Doc)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					check(name, s.Doc, s.Comment, d.Doc)
				}
			}
		}
	}
	return found
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.IndexListExpr:
			t = u.X
		case *ast.Ident:
			return u.Name
		default:
			return ""
		}
	}
}

// wellKnown reports whether a method of this name belongs to an interface of
// the standard library that says all there is to say.
func wellKnown(name string) bool {
	switch name {
	case "String", "Error", "Unwrap", "Is", "As", "Len", "Less", "Swap", "Push", "Pop",
		"Read", "Write", "Close", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText":
		return true
	}
	return false
}
