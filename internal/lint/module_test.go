package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// modulePath is the path of the module that is checked.
const modulePath = "github.com/tessera-la/tessera"

// File is a parsed Go file, or an assembly file, which has no AST.
type File struct {
	Path string // from the module's root, with slashes
	Src  []byte
	AST  *ast.File
}

// Name returns the last element of the file's path.
func (f *File) Name() string { return path.Base(f.Path) }

// Test reports whether the file is built for tests only.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Generated reports whether the file carries the header of generated code.
func (f *File) Generated() bool { return f.AST != nil && ast.IsGenerated(f.AST) }

// Imports returns the paths that the file imports.
func (f *File) Imports() []string {
	var paths []string
	if f.AST != nil {
		for _, s := range f.AST.Imports {
			paths = append(paths, strings.Trim(s.Path.Value, "`\""))
		}
	}
	return paths
}

// Package is the files of one directory, those of the external test package
// included.
type Package struct {
	Path  string // from the module's root, "." for the root itself
	Files []*File
}

// Main reports whether the package is a program.
func (p *Package) Main() bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool { return f.AST != nil && f.AST.Name.Name == "main" })
}

// Library returns the Go files that are not tests.
func (p *Package) Library() []*File {
	var files []*File
	for _, f := range p.Files {
		if f.AST != nil && !f.Test() {
			files = append(files, f)
		}
	}
	return files
}

// Module is all packages of a module, in the order of their paths.
type Module struct {
	Fset     *token.FileSet
	Packages []*Package
}

// Load parses the module whose root is root. Directories that go build does
// not see, and modules within the module, are left out.
func Load(root fs.FS) (*Module, error) {
	m := &Module{Fset: token.NewFileSet()}
	byDir := make(map[string]*Package)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := d.Name()
			if name != "." {
				if base[0] == '.' || base[0] == '_' || base == "testdata" {
					return fs.SkipDir
				}
				if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
					return fs.SkipDir
				}
			}
			return nil
		}
		ext := path.Ext(name)
		if ext != ".go" && ext != ".s" {
			return nil
		}
		f, err := load(m.Fset, root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Path: dir}
			m.Packages = append(m.Packages, byDir[dir])
		}
		byDir[dir].Files = append(byDir[dir].Files, f)
		return nil
	})
	slices.SortFunc(m.Packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return m, err
}

func load(fset *token.FileSet, root fs.FS, name string) (*File, error) {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	f := &File{Path: name, Src: src}
	if path.Ext(name) == ".go" {
		if f.AST, err = parser.ParseFile(fset, name, src, parser.ParseComments); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Finding is one offence against a rule.
type Finding struct {
	Pos  string // file, or file:line, or package
	Text string // what is wrong and what to do about it
}

func (f Finding) String() string { return f.Pos + ": " + f.Text }

// Rule is one rule of the house.
type Rule struct {
	Name  string
	Check func(*Module) []Finding
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"Imports", imports},
		{"C", cImports},
		{"Twins", twins},
		{"Files", fileNames},
		{"Docs", docs},
		{"Init", inits},
		{"Variables", variables},
		{"Elements", elements},
		{"Leftovers", leftovers},
		{"Actors", actors},
		{"Format", formatted},
	}
}

// at returns a finding at a position.
func (m *Module) at(pos token.Pos, format string, args ...any) Finding {
	p := m.Fset.Position(pos)
	return Finding{Pos: fmt.Sprintf("%s:%d", p.Filename, p.Line), Text: fmt.Sprintf(format, args...)}
}
