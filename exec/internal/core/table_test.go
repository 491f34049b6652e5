package core

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestTable: a table is a map, whatever is put and removed.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x table[uint64]
	want := map[uint64]uint64{}
	for range 50_000 {
		key := 1 + rng.Uint64N(300)
		if rng.IntN(2) == 0 {
			key = between(int(key%20), int(key/20))
		}
		if rng.IntN(3) == 0 {
			x.remove(key)
			delete(want, key)
		} else {
			x.put(key, &key)
			want[key] = key
		}
		k := 1 + rng.Uint64N(300)
		if v := x.Of(k); (v != nil) != (want[k] != 0) || v != nil && *v != k {
			t.Fatalf("%d has %v, want %d", k, v, want[k])
		}
	}
	x.remove(0)
	got := map[uint64]uint64{}
	for v := range x.all() {
		got[*v] = *v
	}
	if !maps.Equal(got, want) || x.N != len(want) || x.Of(0) != nil {
		t.Errorf("%d values, %d are counted, want %d", len(got), x.N, len(want))
	}
}
