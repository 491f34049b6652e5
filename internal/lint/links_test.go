package lint

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// TestLinks checks the documents: every relative link leads to a file of this module and,
// if it names one, to a heading of it; and every document that code names is there.
func TestLinks(t *testing.T) {
	found, checked, err := deadLinks(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("%d links: this is not the module", checked)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// TestDeadLinks feeds deadLinks some offenders.
func TestDeadLinks(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	found, checked, err := deadLinks(fstest.MapFS{
		"README.md":    file("[a](docs/a.md#two-words) [b](docs/b.md) [web](https://example.org)\n```\n[code](c.md)\n```\n"),
		"docs/a.md":    file("# Two `words`\n[up](../README.md) [dir](..) [here](#two-words) [no](#three)\n```\n# three\n```\n"),
		"main.go":      file("// See docs/a.md, and docs/d.md.\n"),
		".ci/run":      file("echo docs/a.md\n"),
		"x/testdata/y": file("docs/e.md\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Finding{
		{"README.md", "there is no docs/b.md"},
		{"docs/a.md", "docs/a.md has no heading #three"},
		{"main.go", "there is no docs/d.md"},
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if want := 9; checked != want {
		t.Errorf("checked %d links, want %d", checked, want)
	}
}

// deadLinks returns the links that lead nowhere, in the order of the files, and the number
// of links that it has looked at: relative ones of documents (*.md), and documents that Go
// files, the Makefile and .ci name by their path from the root.
func deadLinks(root fs.FS) (found []Finding, checked int, err error) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	scheme := regexp.MustCompile(`^[a-z]+:`)
	named := regexp.MustCompile(`\bdocs/[\w/-]+\.md\b`)
	anchors := make(map[string][]string)
	check := func(from, to, anchor string) {
		checked++
		if _, err := fs.Stat(root, to); err != nil {
			found = append(found, Finding{from, "there is no " + to})
			return
		}
		if anchor == "" {
			return
		}
		if _, ok := anchors[to]; !ok {
			src, _ := fs.ReadFile(root, to)
			anchors[to] = headings(string(src))
		}
		if !slices.Contains(anchors[to], anchor) {
			found = append(found, Finding{from, fmt.Sprintf("%s has no heading #%s", to, anchor)})
		}
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case path.Ext(name) == ".md":
			src, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			for _, m := range link.FindAllStringSubmatch(prose(string(src)), -1) {
				if scheme.MatchString(m[1]) {
					continue
				}
				to, anchor, _ := strings.Cut(m[1], "#")
				if to == "" {
					to = path.Base(name)
				}
				check(name, path.Join(path.Dir(name), to), anchor)
			}
		case path.Ext(name) == ".go" || name == "Makefile" || strings.HasPrefix(name, ".ci/"):
			if name == "internal/lint/links_test.go" {
				return nil
			}
			src, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			if !bytes.Contains(src, []byte("docs/")) {
				return nil
			}
			for _, to := range named.FindAllString(string(src), -1) {
				check(name, to, "")
			}
		}
		return nil
	})
	return found, checked, err
}

// prose returns a document without its blocks of code.
func prose(doc string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code {
			b.WriteString(line)
		}
	}
	return b.String()
}

// headings returns the anchors of a document's headings, as GitHub makes them: letters,
// digits, hyphens and underscores, in lower case, with hyphens for spaces.
func headings(doc string) []string {
	var anchors []string
	for line := range strings.Lines(prose(doc)) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		anchors = append(anchors, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return anchors
}
