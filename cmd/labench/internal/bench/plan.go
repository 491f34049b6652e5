package bench

import (
	"context"
	"math"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la"
)

// Planned is what a run of a distributed operation needs.
type Planned struct {
	plan.Counts
	NB, P, Q int     // tile size, and grid of nodes
	Tiles    []int   // of all matrices, by node
	Bytes    int64   // of the tiles
	Flops    float64 // as LAPACK counts them
}

// Plan counts what one run of s, a distributed operation, needs on nodes of some speeds,
// without executing anything. opt.Nodes is the number of these.
func Plan(ctx context.Context, s Spec, speeds []float64, opt plan.Options) (Planned, error) {
	if err := s.Validate(); err != nil {
		return Planned{}, err
	}
	s = s.WithDefaults()
	if s.Type == "f32" {
		return planned[float32](ctx, s, speeds, opt)
	}
	return planned[float64](ctx, s, speeds, opt)
}

func planned[T la.Element](ctx context.Context, s Spec, speeds []float64, opt plan.Options) (x Planned, err error) {
	s.Input, s.Output, s.Checkpoint = "", "", la.Checkpoint{}
	opt.Nodes = len(speeds)
	r := plan.New(opt)
	if t := float64(s.N) / float64(max(s.NB, 1)); s.NB > 0 && t*t > float64(r.Most()) {
		return x, &plan.TooManyError{Most: r.Most()}
	}
	s.Runtime = r
	e, err := la.NewEngine(s.options())
	if err != nil {
		return x, err
	}
	defer e.Close()
	p := &distributed[T]{ctx: ctx, s: s, speeds: speeds}
	defer p.close()
	once, err := p.on(e)
	if err != nil {
		return x, err
	}
	if p.reset(); p.err != nil {
		return x, p.err
	}
	r.Reset()
	if err := once(ctx); err != nil {
		return x, err
	}
	x.Counts, x.NB, x.P, x.Flops = r.Counts(), p.a.NB(), p.rows(), p.flops()
	x.Q, x.Tiles = len(speeds)/x.P, make([]int, len(speeds))
	for _, a := range []*blocked.Matrix[T]{p.a, p.b, p.c} {
		if a == nil {
			continue
		}
		for i, j := range a.StoredTiles() {
			x.Tiles[a.Owner(i, j)]++
			x.Bytes += int64(a.Tile(i, j).Bytes())
		}
	}
	return x, nil
}

// count counts what one run of p has needed by the layout of its matrices.
func (p *distributed[T]) count(ctx context.Context, opt plan.Options) (plan.Counts, error) {
	s := p.s
	s.NB = p.a.NB()
	x, err := planned[T](ctx, s, p.speeds, opt)
	return x.Counts, err
}

// TaskFlops returns the floating-point operations, to leading order, of a task of the
// algorithms of gemm, cholesky, lu and qr, by the shapes of its operands: see package kernels.
// Those of others, which are of lower order, are 0.
func TaskFlops(op string, operands []graph.Operand) float64 {
	tile := func(k int) (m, n float64) {
		if k >= len(operands) {
			return 0, 0
		}
		switch t := operands[k].Datum.Value.(type) {
		case *kernels.Tile[float64]:
			return float64(t.Rows), float64(t.Cols)
		case *kernels.Tile[float32]:
			return float64(t.Rows), float64(t.Cols)
		}
		return 0, 0
	}
	m, n := tile(0)
	switch name, _, _ := strings.Cut(op, "/"); name {
	case "gemm": // m×k, k×n and m×n
		k, l := tile(1)
		r, c := tile(2)
		return 2 * math.Sqrt(m*n*k*l*r*c)
	case "syrk":
		order, _ := tile(1)
		return m * n * order
	case "trsm":
		r, c := tile(1)
		return m * r * c
	case "potrf":
		return n * n * n / 3
	case "getrf": // a column of tiles
		for k := 1; k < len(operands); k++ {
			r, _ := tile(k)
			m += r
		}
		return n * n * (m - n/3)
	case "geqrt":
		return blocked.QRFlops(int(m), int(n))
	case "tsqrt", "ttqrt": // a triangle, and a tile or a triangle
		m, n = tile(1)
		if name == "ttqrt" {
			return 2 * n * n * n / 3
		}
		return 2 * m * n * n
	case "unmqr":
		_, cols := tile(2)
		k := min(m, n)
		return cols * (4*m*k - 2*k*k)
	case "tsmqr", "ttmqr":
		_, cols := tile(2)
		if name == "ttmqr" {
			return 2 * m * n * cols
		}
		return 4 * m * n * cols
	}
	return 0
}
