package planner

import (
	"cmp"
	"fmt"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/la"
)

// Spectral is the predicted time of the eigenvalues of a symmetric matrix, or of the singular values of a square one, and
// unless Values is set of their vectors. These are no graphs of tiles but one task, of which all workers take parts, so the
// time is that of its stages.
type Spectral struct {
	Op        string          `json:"op"`
	Type      string          `json:"type"`
	N         int             `json:"n"`
	Values    bool            `json:"values"`
	Reduction string          `json:"reduction"`
	Workers   int             `json:"workers"`
	Stages    []SpectralStage `json:"stages"`
	Seconds   float64         `json:"seconds"`
	GFLOPS    float64         `json:"gflops"`
	Faster    bool            `json:"faster"` // than the other ways that were planned
}

// SpectralStage is a stage of the algorithm.
type SpectralStage struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	column  string  // of the table
}

// BandwidthError says that a machine file does not say how fast memory is.
type BandwidthError struct{ Kind string }

func (e *BandwidthError) Error() string {
	return fmt.Sprintf("kind %q has no bandwidth, which eigen and svd need: labench machine measures it, or add bandwidth = BYTES_A_SECOND", e.Kind)
}

// The parts of the rate of products of tiles that the stages have: means of what two cores of a Zen 5 had at orders 1000 to
// 3000 (2026-11-29). Bulges, and dqds, have the rate of one
// worker.
const (
	vectorsShare = 0.9  // rank-2 updates of the reduction in one stage
	bandShare    = 0.6  // of all workers: reduction to a band
	chaseShare   = 0.3  // of one worker: a second core gained little, and more were not tried
	mergeShare   = 0.9  // products of divide and conquer
	backShare    = 0.65 // transformation back, by blocks of 32 reflectors
	bandWidth    = 48   // superdiagonals of the band
	secular      = 900  // operations of divide and conquer for each pair of a value and a pole
	quotients    = 1800 // operations for each pair of singular values, without vectors: one worker has them all
)

// PredictSpectral predicts p, of op eigen or svd, on one node of the first kind of m, whose whole bandwidth any number of
// workers is taken to have. The reduction must be one or two stages. The meetings of workers, one for each column in one
// stage, are not counted.
func PredictSpectral(p bench.Problem, m *sim.Machine) (x Spectral, err error) {
	s := bench.Spec{Problem: p}
	if err := cmp.Or(s.Validate(), m.Validate()); err != nil {
		return x, err
	}
	one := *m // a node of the first kind
	one.Apart, one.Nodes = false, []sim.Nodes{{Kind: m.Nodes[0].Kind, Count: 1}}
	var kind *sim.Kind
	computing(&one, func(k *sim.Kind, _ int) { kind = k })
	if kind.Bandwidth == 0 {
		return x, &BandwidthError{kind.Name}
	}
	rate, err := rates(&one, p.Type) // of products by all workers
	if err != nil {
		return x, err
	}
	single := rate[0] / float64(kind.Tasks())
	all := single * float64(min(kind.Tasks(), max(kind.Sockets, 1)*kind.Cores))
	memory := kind.Bandwidth / 8 // words a second
	if p.Type == "f32" {
		memory *= 2
	}
	n := float64(p.N)
	square, cube := n*n, n*n*n
	x = Spectral{Op: p.Op, Type: p.Type, N: p.N, Values: p.Values, Reduction: p.Reduction.String(), Workers: kind.Tasks()}
	stage := func(column, name string, seconds float64) {
		x.Stages = append(x.Stages, SpectralStage{name, seconds, column})
		x.Seconds += seconds
	}
	sides := 1.0 // on which reflectors and vectors are
	flops := bench.EigenFlops(p.N, p.Values)
	if p.Op == "svd" {
		sides, flops = 2, bench.SVDFlops(p.N, p.N, p.Values)
	}
	// One stage reads the matrix, or its stored triangle, for each column.
	if p.Reduction == la.TwoStages {
		stage("reduce", "reduction to band", sides*4/3*cube/(bandShare*all))
		stage("chase", "bulge chasing", (4+2*sides)*bandWidth*square/(chaseShare*single))
	} else {
		stage("reduce", "reduction", sides*cube/6/memory+sides*2/3*cube/(vectorsShare*all))
	}
	if p.Values {
		if p.Op == "svd" {
			stage("problem", "values", quotients*square/single)
		} else {
			stage("problem", "values", secular*square/all)
		}
	} else {
		stage("problem", "divide and conquer", sides*(4.0/3*cube/(mergeShare*all)+secular*square/all))
		back := sides * 2 * cube
		if p.Reduction == la.TwoStages {
			back *= 3
		}
		stage("back", "back-transformation", back/(backShare*all))
	}
	x.GFLOPS = flops / x.Seconds / 1e9
	return x, nil
}
