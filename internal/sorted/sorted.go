package sorted

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Map yields the keys of m, the least first, with their values.
func Map[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
