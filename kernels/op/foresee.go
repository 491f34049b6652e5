package op

import (
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

// bandWidth returns the number of superdiagonals of the band in two stages, a multiple of the columns of a micro-kernel. A
// narrow band is chased faster, and vectors of a wide one are transformed faster: from manyVectors on that is more, at any
// order, as both grow with n². The reduction to a band by reflectors from both sides is slower with 32 than with 48.
func (d Decomposition) bandWidth() int {
	const manyVectors = 600
	switch {
	case d.Vectors >= manyVectors:
		return 64
	case d.Singular:
		return 48
	}
	return 32
}

// The parts of the rate of products of tiles that the stages have: between what two cores of a Zen 5 (2026-11-29) and of a Zen
// 4 (2026-12-01) had at orders 1000 to 3000. Bulges, and dqds, have the rate of one worker: a second core gained little, and
// more were not tried.
const (
	vectorsShare  = 0.9  // rank-2 updates of the reduction in one stage
	bandShare     = 0.65 // of all workers: reduction to a band
	chaseShare    = 0.35 // of one worker
	mergeShare    = 0.9  // products of divide and conquer
	backShare     = 0.75 // transformation back, by blocks of reflectors
	bandBackShare = 0.9  // that of the chase, whose blocks are counted with their zeros
	secular       = 900  // operations of divide and conquer for each pair of a value and a pole
	roots         = 20.0 // operations that ops "stedc", without vectors, and "laed4" count for each pair; the latter has half of them
	quotients     = 1800 // operations for each pair of singular values, without vectors: one worker has them all
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
		chase := (4 + 2*sides) * float64(d.bandWidth()) * square
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
			stage("vectors of the band", band, band/(bandBackShare*rates.All))
		}
		stage("back-transformation", back, back/(backShare*rates.All))
	case d.Singular:
		stage("values", 0, quotients*square/rates.One)
	default:
		stage("values", 0, secular*square/rates.All)
	}
	return stages
}

// TiledStages returns, for the ops by which a symmetric matrix in tiles is decomposed, the units of their work, as they count
// it, that a worker does in the time of an operation of a product: what [Decomposition.Foresee] says of the stages that
// they are parts of. Copies have 0.
func TiledStages() map[string]float64 {
	return map[string]float64{
		"sy2sbqr": bandShare, "sy2sbmm": bandShare, "sb2st": chaseShare,
		"laed0": mergeShare, "laed3": mergeShare, "laed4": 2 * roots / secular, "stedc": roots / secular,
		"ormsb2st": bandBackShare, "ormsy2sb": backShare,
		"recut": 0,
	}
}

// Time returns the sum of the times.
func (s Stages) Time() (sum time.Duration) {
	for _, stage := range s {
		sum += stage.Time
	}
	return sum
}

// wayFor returns OneStage or TwoStages for the decomposition d of the m×n matrix A, of which upper says that only the upper
// triangle is stored, unless r is one of them. It tells the caller why in account, which may be nil.
func wayFor[T kernels.Element](r Reduction, d Decomposition, account *Account, routines cpu.Routines[T], crew cpu.Crew[T], a *kernels.Tile[T], upper bool) Reduction {
	var c ReductionChoice
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
	if c.Two < c.One {
		return TwoStages
	}
	return OneStage
}
