package lint

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// weight is the modules that a program compiles which imports a package, without tags. See
// docs/adr/0019-one-module.md.
func weight() map[string][]string {
	light := []string{"github.com/klauspost/cpuid/v2", "golang.org/x/sys", "gonum.org/v1/gonum"}
	return map[string][]string{"la": light, "la/dropin": light, "la/krylov": light, "la/csr": {
		"github.com/james-bowman/sparse", "github.com/klauspost/cpuid/v2", "golang.org/x/sys", "gonum.org/v1/gonum",
	}}
}

// TestWeight: packages that programs import bring no other modules than these, by way of others
// or not.
func TestWeight(t *testing.T) {
	m := here(t)
	for pkg, want := range weight() {
		got, seen, todo := map[string]bool{}, map[string]bool{}, []string{pkg}
		for len(todo) > 0 {
			path := todo[0]
			todo = todo[1:]
			if seen[path] {
				continue
			}
			seen[path] = true
			for _, p := range m.Packages {
				if p.Path != path {
					continue
				}
				for _, f := range p.Library() {
					if !built(f, func(tag string) bool { return !optional(tag) }) {
						continue
					}
					for _, i := range f.Imports() {
						if inside, ok := strings.CutPrefix(i, modulePath+"/"); ok {
							todo = append(todo, inside)
						} else if host, _, _ := strings.Cut(i, "/"); strings.Contains(host, ".") {
							got[moduleOf(i)] = true
						}
					}
				}
			}
		}
		if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, want) {
			t.Errorf("a program that imports %s compiles packages of %v, want %v", pkg, have, want)
		}
	}
}

// moduleOf returns the module of a package of others: its host, owner and name, and /v2 if it has that.
func moduleOf(path string) string {
	parts := strings.Split(path, "/")
	n := min(len(parts), 3)
	if len(parts) > n && strings.HasPrefix(parts[n], "v") && len(parts[n]) == 2 {
		n++
	}
	return strings.Join(parts[:n], "/")
}
