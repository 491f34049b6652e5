package op

import (
	"math/bits"
	"sync"
	"time"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Decomposition is what the stages of ops "syevd" and "gesdd" depend on, for [Decomposition.Foresee].
type Decomposition struct {
	Rows, Cols int  // of the matrix that is reduced; as many columns as rows unless Singular is set
	Singular   bool // the decomposition is that of "gesdd"
	Vectors    int  // how many are wanted, of each side
}

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

// The parts of the rate of products of tiles that the stages have: means of what two cores of a Zen 5 had at orders 1000 to
// 3000 (2026-11-29). Bulges, and dqds, have the rate of one worker: a second core gained little, and more were not tried.
const (
	vectorsShare = 0.9  // rank-2 updates of the reduction in one stage
	bandShare    = 0.6  // of all workers: reduction to a band
	chaseShare   = 0.3  // of one worker
	mergeShare   = 0.9  // products of divide and conquer
	backShare    = 0.65 // transformation back, by blocks of reflectors
	secular      = 900  // operations of divide and conquer for each pair of a value and a pole
	quotients    = 1800 // operations for each pair of singular values, without vectors: one worker has them all
)

// twoStagesLeast is the least order for two stages, unless they are asked for: smaller matrices are in caches, which are
// faster than memory.
const twoStagesLeast = 400

// Foresee returns the stages of d, OneStage or TwoStages, with the times that they take at such rates. The meetings of
// workers, one for each column in one stage, are not counted.
func (d Decomposition) Foresee(way Reduction, rates Rates) (stages Stages) {
	stage := func(name string, flops, seconds float64) {
		stages = append(stages, Stage{name, time.Duration(seconds * float64(time.Second)), flops})
	}
	m, n, k := float64(d.Rows), float64(d.Cols), float64(d.Vectors)
	square, sides := n*n, 1.0 // on which reflectors and vectors are
	reduction, back := 4.0/3*n*square, 2*square*k
	if d.Singular {
		sides = 2
		reduction, back = 4*square*(m-n/3), (2*square+2*n*(2*m-n))*k
	}
	if way == TwoStages {
		chase := (4 + 2*sides) * bandWidth * square
		stage("reduction to band", reduction, reduction/(bandShare*rates.All))
		stage("bulge chasing", chase, chase/(chaseShare*rates.One))
	} else {
		// The matrix, or its stored triangle, is read for each column.
		stage("reduction", reduction, reduction/8/rates.Memory+reduction/2/(vectorsShare*rates.All))
	}
	switch {
	case k > 0:
		products := sides * 4 / 3 * n * square
		stage("divide and conquer", products, sides*(square*(n/3+k)/(mergeShare*rates.All)+secular*square/rates.All))
		if way == TwoStages {
			band := sides * 4 * square * k
			stage("vectors of the band", band, band/(backShare*rates.All))
		}
		stage("back-transformation", back, back/(backShare*rates.All))
	case d.Singular:
		stage("values", 0, quotients*square/rates.One)
	default:
		stage("values", 0, secular*square/rates.All)
	}
	return stages
}

// Time returns the sum of the times.
func (s Stages) Time() (sum time.Duration) {
	for _, stage := range s {
		sum += stage.Time
	}
	return sum
}

// Choice is why ops "syevd" and "gesdd" reduced a matrix in one stage or in two: the times that they foresaw. It is zero if the
// way was fixed, or if the matrix was so small that one stage is always taken.
type Choice struct {
	One, Two time.Duration
	Rates    Rates // at which the times are foreseen
	Measured bool  // the rates are those of the workers, not ReferenceRates
}

// way returns OneStage or TwoStages. Two stages need more memory, so they must be faster by a tenth.
func (c *Choice) way() Reduction {
	if 10*c.Two <= 9*c.One && c.Two > 0 {
		return TwoStages
	}
	return OneStage
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

// wayFor returns OneStage or TwoStages for the decomposition d of the m×n matrix A, of which upper says that only the upper
// triangle is stored, unless r is one of them. It tells the caller why in account, which may be nil.
func wayFor[T kernels.Element](r Reduction, d Decomposition, account *Account, routines cpu.Routines[T], crew cpu.Crew[T], a *kernels.Tile[T], upper bool) Reduction {
	var c Choice
	if account != nil {
		defer func() { account.Choice = c }()
	}
	if r != FasterReduction || d.Cols < twoStagesLeast {
		return max(r, OneStage)
	}
	c.Rates = ReferenceRates[T]()
	if account != nil && account.Rates != nil {
		c.Measured = true
		c.Rates = account.Rates.get(scalar.Of[T](), d.Cols, func() (r Rates) {
			r.All, r.One, r.Memory = cpu.NewTridiagonal(routines, crew).Rates(a.Rows, a.Cols, a.Data, a.Stride, upper)
			return r
		})
	}
	c.One, c.Two = d.Foresee(OneStage, c.Rates).Time(), d.Foresee(TwoStages, c.Rates).Time()
	return c.way()
}
