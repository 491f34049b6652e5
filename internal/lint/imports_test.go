package lint

import (
	"fmt"
	"go/build/constraint"
	"strings"
)

// imports checks the direction of imports against the table.
func imports(m *Module) []Finding {
	var found []Finding
	rules := table()
	for _, p := range m.Packages {
		e := find(rules, p.Path)
		if e == nil {
			found = append(found, Finding{p.Path, "this package has no line in the import table: " +
				"add one to table() in internal/lint/table_test.go that says what it may import, " +
				"and put it into the diagram of docs/internals/architecture.md"})
			continue
		}
		tests := testEntry()
		tests.tessera = append(append(tests.tessera, p.Path), below(rules, p.Path)...)
		for _, f := range p.Files {
			for _, path := range f.Imports() {
				own, ok := strings.CutPrefix(path, modulePath+"/")
				switch {
				case !ok && standard(path):
				case ok && anyMatches(e.tessera, own):
				case !ok && anyMatches(e.third, path):
				case f.Test() && ok && anyMatches(tests.tessera, own):
				case f.Test() && !ok && anyMatches(tests.third, path):
				case ok:
					found = append(found, Finding{f.Path, fmt.Sprintf("package %s may not import %s; it may import %s",
						p.Path, own, list(e.tessera))})
				default:
					found = append(found, Finding{f.Path, fmt.Sprintf("package %s may not import %s; of other modules it may import %s",
						p.Path, path, list(e.third))})
				}
			}
		}
	}
	return found
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// standard reports whether path is of the standard library: the first element
// of any other has a dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// cImports checks that a build without tags needs no C: files that use it, or
// a module that does, are behind one of the tags that bring C in.
func cImports(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			for _, path := range f.Imports() {
				if path != "C" && !matches("gonum.org/v1/netlib/...", path) && !matches("gorgonia.org/cu/...", path) {
					continue
				}
				if built(f, func(tag string) bool { return !optional(tag) }) {
					found = append(found, Finding{f.Path, fmt.Sprintf(
						"imports %q in a build without tags: put it behind openblas, mkl, cuda or mpi", path)})
				}
			}
		}
	}
	return found
}

// optional reports whether tag is set by the user only.
func optional(tag string) bool {
	switch tag {
	case "openblas", "mkl", "cuda", "mpi", "noasm", "invariants", "race", "ignore":
		return true
	}
	return false
}

// built reports whether the //go:build line of f, if it has one, is true for
// the tags that has says are set.
func built(f *File, has func(tag string) bool) bool {
	for line := range strings.Lines(string(f.Src)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "#include") || strings.HasPrefix(line, "TEXT") {
			break
		}
		if constraint.IsGoBuild(line) {
			expr, err := constraint.Parse(line)
			return err != nil || expr.Eval(has)
		}
	}
	return true
}
