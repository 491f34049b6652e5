package bench

import (
	"time"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// Problem says what to compute.
//
//	gemm      C = A·B        C M×N, A M×K, B K×N
//	syrk      C = A·Aᵀ       C N×N, A N×K
//	trsm      B = L⁻¹·B      B M×N, L M×M lower triangular
//	cholesky  A = L·Lᵀ       A N×N
//	lu        A = P·L·U      A M×N
//	qr        A = Q·R        A M×N
//	solve     A·X = B        A N×N, B N×NRHS
//	lstsq     min ‖B−A·X‖    A M×N, B M×NRHS
//	eigen     A = V·Λ·Vᵀ     A N×N
//	svd       A = U·Σ·Vᵀ     A M×N
type Problem struct {
	Op      string // one of Ops
	Type    string // "f64" (default) or "f32"
	M, N, K int    // shape; M and K default to N where the op has them
	NRHS    int    // right-hand sides of solve and lstsq; default 1
	NB      int    // tile size; 0: automatic

	Pivot       la.Pivoting    // of lu
	OnBreakdown la.OnBreakdown // of lu
	Tree        qr.Tree        // of qr, like the two fields below
	Domain      int            // tiles of a domain; 0: automatic
	IB          int            // columns of a block reflector; 0: automatic
	Method      Method         // of solve
	Mixed       bool           // of solve: factor in float32, refine in float64
	Values      bool           // of eigen and svd: no vectors
	General     bool           // of eigen: A need not be symmetric
	Reduction   la.Reduction   // of eigen, if A is symmetric and there is no B, and of svd
	B           matgen.Kind    // of eigen: A·x = λ·B·x with a definite matrix of that kind; Random stands for none

	Matrix matgen.Kind // kind of generated matrix; Random stands for the op's default
	Seed   uint64
}

// Local says what computes on this machine.
type Local struct {
	Workers int // 0: one per core
	Sched   dispatch.Kind
	// ByPriority makes Sched, the zero value, mean dispatch.Priority also with Devices: see la.Options.
	ByPriority bool
	Only       []string       // versions that may run; empty: all
	Exclude    []string       // versions that must not run
	Fixed      []versions.Pin // versions of single ops
	Profile    *versions.Profile
	Table      *kernels.Table  // operations and versions; nil: those of this build
	Target     versions.Target // declares the workers; see la.Options
	Resources  []exec.Resource // declares workers of several kinds, instead of Target
	Devices    string          // accelerators beside the workers: see engine.OpenAccelerators
	// DevicesOnly keeps workers from executing ops that have versions for the devices.
	DevicesOnly bool
}

// Remote says what computes on other nodes. Its zero value is nothing.
type Remote struct {
	// Runtime, if not nil, executes the tasks instead of the engine's own workers. Most of [Local] is then ignored.
	Runtime exec.Runtime
	// Distributed makes the matrices on the Runtime's nodes, where the operation works on them in place. gemm,
	// cholesky, lu and qr take square random matrices. Or each node reads its tiles of A from Input, a .npy
	// file. The nodes write the result to Output, unless it is empty. Speeds returns the known speeds of the
	// nodes that compute, in the order of owners; it is called again once these have executed tasks.
	// Owner says that tasks on them go to the owners of tiles, and not by a policy.
	Distributed bool
	Owner       bool
	Output      string
	Speeds      func() []float64
	// Nodes, if not nil, returns what each node of a cluster has done so far, the driver first. Idle says that
	// this node computes only what no other node can.
	Nodes func() []Node
	Idle  bool
}

// Watch says who learns of the runs while they last. Each field may be nil.
type Watch struct {
	// Progress is called with the progress of all runs and the verification. Calls do not overlap.
	Progress func(done, total int)
	// Stage is called when a part of the work begins. Within is called with the number of finished tasks of the
	// current call: see la.Options.Progress.
	Stage  func(Stage)
	Within func(done, total int)
	// Trace is emptied before the timed runs and records their tasks.
	Trace *trace.Recorder
	// Recorded is called after each timed run with its recording and its time. The trace is emptied before the
	// next run.
	Recorded func(r *trace.Recording, took time.Duration)
}

// Spec says what [Run] measures. Zero fields take the defaults that [Spec.WithDefaults] documents.
type Spec struct {
	Problem
	Local
	Remote
	Watch

	Input string             // matrix file to take for A (trsm: L) instead of a generated one
	Warn  func(file.Warning) // if not nil, is called with warnings about an Input that could be read

	// Checkpoint, if it has a Dir, is where factorizations of cholesky, lu and qr save their state, and from
	// where they resume. Repeat then defaults to 1 and Warmup to none.
	Checkpoint la.Checkpoint

	Repeat int // timed runs; 0: 3
	// Warmup is the number of runs before the timed ones; 0: one, negative: none. If there are several versions
	// to choose from, more runs follow, at most 16, until each version of each op could be explored.
	Warmup int
	Verify bool
	NoPeak bool // do not measure the FMA peak, which takes 0.3 s
}

// Stage is a part of what a Spec does.
type Stage struct {
	Name  string  // "preparation", "warm-up", "measuring the peak", "timed", "check"
	Run   int     // number among the runs of that name, from 1; 0 if it is no run
	Runs  int     // 0 if unknown
	Flops float64 // of the run
}

// Types returns the element types.
func Types() []string { return []string{"f64", "f32"} }

// Chosen returns the options of the operation that are not at their defaults.
func (p Problem) Chosen() (words []string) {
	if p.Pivot != la.PartialPivoting {
		words = append(words, p.Pivot.String()+" pivoting")
	}
	if p.Tree != qr.TreeAuto {
		words = append(words, p.Tree.String()+" tree")
	}
	if p.Method != Auto {
		words = append(words, "by "+p.Method.String())
	}
	if p.General {
		words = append(words, "general")
	}
	if p.Reduction != la.FasterReduction {
		words = append(words, p.Reduction.String())
	}
	if p.B != matgen.Random {
		words = append(words, "B "+p.B.String())
	}
	if p.Values {
		words = append(words, "values only")
	}
	return words
}

// qrOptions returns la's options of a QR factorization.
func (p Problem) qrOptions() la.QROptions {
	return la.QROptions{Tree: p.Tree, Domain: p.Domain, InnerBlock: p.IB}
}

// floats returns the dimensions of p as float64, since their products may overflow an int.
func (p Problem) floats() (m, n, k float64) { return float64(p.M), float64(p.N), float64(p.K) }

// again reports whether the right-hand sides of a system are needed again after it was solved.
func (s Spec) again() bool { return s.Repeat > 1 || s.Warmup > 0 || s.Verify }
