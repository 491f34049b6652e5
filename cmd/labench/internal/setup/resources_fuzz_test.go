package setup

import (
	"testing"
)

// FuzzResources: a resources file is read or refused.
func FuzzResources(f *testing.F) {
	f.Add("[[workers]]\ncount = 2\nprocessor = \"KNL\"\nfeatures = [\"avx512f\"]\nunits = 4\nmemory = 1_000")
	f.Add("[[workers]]\ncont = 2")
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := parseResources(text); err == nil && len(all) == 0 {
			t.Fatal("no workers, and no error")
		}
	})
}
