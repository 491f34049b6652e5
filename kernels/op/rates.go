package op

import (
	"math/bits"
	"sync"
	"time"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
)

// Rates is the speed of workers.
type Rates struct {
	All, One float64 // operations a second in products of tiles, by all workers and by one alone
	Memory   float64 // elements a second that all workers read
}

// ReferenceRates returns the rates of two cores of a Zen 5, with a bandwidth of 38 GB/s. With them the choice between one
// stage and two depends on neither machine nor workers.
func ReferenceRates[T kernels.Element]() Rates {
	return scalar.Pick[T](Rates{All: 360e9, One: 180e9, Memory: 9.5e9}, Rates{All: 180e9, One: 90e9, Memory: 4.75e9})
}

// ReductionChoice holds the times that ops "syevd" and "gesdd" foresaw for one stage and for two. It is zero if the way
// was fixed, or if the matrix was so small that one stage is always taken.
type ReductionChoice struct {
	One, Two time.Duration
	Rates    Rates // at which the times are foreseen
	Measured bool  // the rates are those of the workers, not ReferenceRates
}

// MeasuredRates is rates that calls have measured, one for each type and each power of two of the number of columns. The zero
// value is ready to use, by several goroutines at once.
type MeasuredRates struct {
	mu sync.Mutex
	of map[measuredKey]Rates
}

// measuredKey is what measured rates are for.
type measuredKey struct {
	typ  scalar.Type
	bits int // of the number of columns
}

// get returns the rates for matrices of n columns, which it measures by measure if it has none. Two calls may measure at
// once; both then have the rates of the first that ends.
func (m *MeasuredRates) get(typ scalar.Type, n int, measure func() Rates) Rates {
	key := measuredKey{typ, bits.Len(uint(n))}
	m.mu.Lock()
	r, ok := m.of[key]
	m.mu.Unlock()
	if ok {
		return r
	}
	r = measure()
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok := m.of[key]; ok {
		return first
	}
	if m.of == nil {
		m.of = map[measuredKey]Rates{}
	}
	m.of[key] = r
	return r
}
