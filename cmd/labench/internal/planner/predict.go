package planner

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/trace"
)

// Prediction is the time of a run in virtual time.
type Prediction struct {
	Op      string  `json:"op"`
	Type    string  `json:"type"`
	M       int     `json:"m"`
	N       int     `json:"n"`
	K       int     `json:"k"`
	NB      int     `json:"nb"`
	Values  bool    `json:"values,omitempty"` // of eigen: no vectors
	Sched   string  `json:"sched"`
	Count   int     `json:"nodes_computing"`
	Rows    int     `json:"grid_rows,omitempty"` // of the grid of nodes
	Workers int     `json:"workers"`             // total number on the nodes that compute
	Flops   float64 `json:"flops"`
	GFLOPS  float64 `json:"gflops"`
	Memory  int64   `json:"bytes_node"` // of the node with the most
	sim.Prediction
	// Path is the length of the critical path in seconds, with the tasks' actual times, and Steps the number of
	// its tasks. They are 0 without Options.Record.
	Path      float64          `json:"seconds_path,omitempty"`
	Steps     int              `json:"path_tasks,omitempty"`
	Whole     float64          `json:"seconds_without_losses,omitempty"` // if nodes are to be lost
	Recording *trace.Recording `json:"-"`                                // nil without Options.Record
}

// Sum is what all computing nodes did together.
func (x *Prediction) Sum() sim.Tally {
	p := x.Prediction
	p.Nodes = p.Nodes[len(p.Nodes)-x.Count:]
	return p.Sum()
}

// virtual is the common part of [sim.Runtime] and [sim.Cluster].
type virtual interface {
	bench.Rehearsal
	Prediction() *sim.Prediction
	Recording() *trace.Recording
}

// GridError says that the nodes cannot form a grid with that number of rows.
type GridError struct {
	Op          string
	Rows, Nodes int
}

func (e *GridError) Error() string {
	if byColumns(e.Op) {
		return fmt.Sprintf("the grid has %d rows of nodes: %s keeps each column of tiles on one node", e.Rows, e.Op)
	}
	return fmt.Sprintf("%d rows do not divide %d nodes", e.Rows, e.Nodes)
}

// byColumns reports whether op keeps each column of tiles on one node.
func byColumns(op string) bool { return op == "lu" || op == "qr" || op == "eigen" }

// Predictable returns the operations of [Predict] on one node and on several. The others depend on the elements.
func Predictable() []string { return []string{"gemm", "syrk", "cholesky", "lu", "qr"} }

// Distributable returns the operations of [Predict] whose matrices may be distributed.
func Distributable() []string { return []string{"gemm", "cholesky", "lu", "qr", "eigen"} }

// Predict predicts the time of a run of p on a machine that need not exist, by a rehearsal: see [bench.Rehearse]. If
// nodes are to be lost, it also predicts the run without losses.
func Predict(ctx context.Context, p bench.Problem, rows int, opt sim.Options) (Prediction, error) {
	s := bench.Spec{Problem: p, Remote: bench.Remote{Distributed: p.Op == "eigen"}}
	if err := cmp.Or(s.Validate(), opt.Machine.Validate()); err != nil {
		return Prediction{}, err
	}
	p = s.WithDefaults().Problem
	opt.Context, opt.Setup = ctx, true // the matrices are made before
	x, err := predict(ctx, p, rows, opt)
	if err != nil || len(opt.Machine.Failures) == 0 {
		return x, err
	}
	m := *opt.Machine
	m.Failures = nil
	opt.Machine, opt.Record = &m, false
	whole, err := predict(ctx, p, rows, opt)
	x.Whole = whole.Seconds
	return x, err
}

func predict(ctx context.Context, p bench.Problem, rows int, opt sim.Options) (x Prediction, err error) {
	var rt virtual
	var speeds []float64
	if p.Op == "eigen" {
		opt.Machine = withDecomposition(opt.Machine, p.Type)
	}
	if opt.Machine.Count() > 1 || p.Op == "eigen" { // on one node, too, its matrix is distributed
		if speeds, err = rates(opt.Machine, p.Type); err != nil {
			return x, err
		}
		if n := len(speeds); rows > 0 && (n%rows > 0 || rows > 1 && byColumns(p.Op)) {
			return x, &GridError{p.Op, rows, n}
		}
		rt, err = sim.NewCluster(opt)
	} else {
		rt, err = sim.New(opt)
	}
	if err != nil {
		return x, err
	}
	r, err := bench.Rehearse(ctx, p, rt, speeds, rows)
	if err != nil {
		return x, err
	}
	x = Prediction{Op: r.Op, Type: r.Type, M: r.M, N: r.N, K: r.K, NB: r.NB, Values: p.Values, Rows: r.Rows, Flops: r.Flops, Workers: workersOf(opt.Machine), Prediction: *rt.Prediction()}
	switch policy := opt.Nodes.Policy; {
	case speeds == nil:
		x.Count, x.Sched, x.Memory = 1, opt.Policy.String(), r.Bytes
	case opt.Nodes.Owner:
		x.Count, x.Sched = len(speeds), "owner"
	case policy == dispatch.Priority && !opt.Nodes.ByPriority: // the default of cluster.Options
		x.Count, x.Sched = len(speeds), dispatch.Locality.String()
	default:
		x.Count, x.Sched = len(speeds), policy.String()
	}
	if speeds != nil {
		x.Memory = x.Sum().Peak
	}
	x.GFLOPS = x.Flops / x.Seconds / 1e9
	if opt.Record {
		x.Recording = rt.Recording()
		path := x.Recording.CriticalPath()
		x.Path, x.Steps = path.Length.Seconds(), len(path.Tasks)
	}
	return x, nil
}
