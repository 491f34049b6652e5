package traffic

import (
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

// TestLeast compares with all that can be done, for small programs.
func TestLeast(t *testing.T) {
	const both = versions.Reads | versions.Writes
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const values, places = 6, 3
		var calls [][]Operand
		final := [values]bool{} // only read from now on
		finals := rnd.IntN(2) == 0
		for range 14 {
			var ops []Operand
			for _, v := range rnd.Perm(values)[:1+rnd.IntN(places)] {
				use := []versions.Use{versions.Reads, both, versions.Writes}[rnd.IntN(3)]
				if finals {
					if use == versions.Writes {
						use = both
					}
					if final[v] = final[v] || use == versions.Reads; final[v] {
						use = versions.Reads
					}
				}
				ops = append(ops, Operand{v, use})
			}
			calls = append(calls, ops)
		}
		in, out := Least(calls, places)
		want := cheapest(calls, values, places)
		if in+out > want || finals && in+out != want {
			t.Fatalf("%d in, %d out; %d in all are possible (only read after the last write: %v)\n%v", in, out, want, finals, calls)
		}
	}
}

// cheapest returns the fewest copies, by going through all states of a device:
// two bits for each value, on the device and dirty.
func cheapest(calls [][]Operand, values, places int) int {
	states := map[int]int{0: 0}
	for _, ops := range calls {
		next := map[int]int{}
		for s, cost := range states {
			base := cost
			fixed, loads := 0, 0
			for _, o := range ops {
				v := o.Value.(int)
				bit := 1 << (2 * v)
				if s&bit == 0 && o.Use&versions.Reads != 0 {
					loads++
				}
				d := s & (bit << 1)
				if o.Use&versions.Writes != 0 {
					d = bit << 1
				}
				fixed |= bit | d
			}
			// Of the others any part may be kept.
			others := 0
			for v := range values {
				bit := 1 << (2 * v)
				if s&bit != 0 && fixed&bit == 0 {
					others |= bit
				}
			}
			for keep := others; ; keep = (keep - 1) & others {
				n, stores, state := len(ops), 0, fixed
				for v := range values {
					bit := 1 << (2 * v)
					switch {
					case keep&bit != 0:
						n++
						state |= bit | s&(bit<<1)
					case others&bit != 0 && s&(bit<<1) != 0:
						stores++
					}
				}
				if n <= places {
					c := base + loads + stores
					if old, ok := next[state]; !ok || c < old {
						next[state] = c
					}
				}
				if keep == 0 {
					break
				}
			}
		}
		states = next
	}
	best := -1
	for s, cost := range states {
		for v := range values {
			if s>>(2*v)&3 == 3 {
				cost++
			}
		}
		if best < 0 || cost < best {
			best = cost
		}
	}
	return best
}
