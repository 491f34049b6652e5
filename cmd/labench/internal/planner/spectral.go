package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/kernels/op"
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
}

// BandwidthError says that a machine file does not say how fast memory is.
type BandwidthError struct{ Kind string }

func (e *BandwidthError) Error() string {
	return fmt.Sprintf("kind %q has no bandwidth, which eigen and svd need: labench machine measures it, or add bandwidth = BYTES_A_SECOND", e.Kind)
}

// PredictSpectral predicts p, of op eigen or svd, on one node of the first kind of m, whose whole bandwidth any number of
// workers is taken to have. The reduction must be one or two stages. The model is that by
// which la chooses: op.Decomposition.
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
	x = Spectral{Op: p.Op, Type: p.Type, N: p.N, Values: p.Values, Reduction: p.Reduction.String(), Workers: kind.Tasks()}
	flops := bench.EigenFlops(p.N, p.Values)
	if p.Op == "svd" {
		flops = bench.SVDFlops(p.N, p.N, p.Values)
	}
	d := op.Decomposition{Rows: p.N, Cols: p.N, Singular: p.Op == "svd"}
	if !p.Values {
		d.Vectors = p.N
	}
	for _, s := range d.Foresee(op.Reduction(p.Reduction), op.Rates{All: all, One: single, Memory: memory}) {
		x.Stages = append(x.Stages, SpectralStage{s.Name, s.Time.Seconds()})
		x.Seconds += s.Time.Seconds()
	}
	x.GFLOPS = flops / x.Seconds / 1e9
	return x, nil
}

// withDecomposition returns m with speeds for the ops of eigenvalues of a distributed matrix, where it has none: shares of the
// rate of products of tiles, as [PredictSpectral] has them for stages. Copies are as fast as memory, if that is known.
func withDecomposition(m *sim.Machine, typ string) *sim.Machine {
	x := *m
	x.Kinds = slices.Clone(m.Kinds)
	for i := range x.Kinds {
		k := &x.Kinds[i]
		one := *m
		one.Apart, one.Nodes = false, []sim.Nodes{{Kind: k.Name, Count: 1}}
		rate, err := rates(&one, typ)
		if err != nil {
			continue // of a kind that computes, its products will be missed
		}
		worker, known := rate[0]/float64(k.Tasks()), map[string]bool{}
		for _, s := range k.Speeds {
			known[s.Op] = true
		}
		k.Speeds = slices.Clone(k.Speeds)
		for name, share := range op.TiledStages() {
			of := share * worker
			if share == 0 {
				if of = worker; k.Bandwidth > 0 {
					const words = 2 // that an element is read and written with, of 8 bytes at most
					of = k.Bandwidth / 8 / words / float64(k.Tasks())
				}
			}
			if name += "/" + typ; !known[name] {
				k.Speeds = append(k.Speeds, sim.Speed{Op: name, Points: []sim.Point{{Work: of, Alone: 1, All: 1}}})
			}
		}
	}
	return &x
}
