package bench

import (
	"encoding/json"
	"time"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// Spec says what to run. Zero fields take the defaults that
// [Spec.WithDefaults] documents.
//
//	gemm      C = A·B        C M×N, A M×K, B K×N
//	syrk      C = A·Aᵀ       C N×N, A N×K
//	trsm      B = L⁻¹·B      B M×N, L M×M lower triangular
//	cholesky  A = L·Lᵀ       A N×N
//	lu        A = P·L·U      A M×N
//	qr        A = Q·R        A M×N
//	solve     A·X = B        A N×N, B N×NRHS
//	lstsq     min ‖B−A·X‖    A M×N, B M×NRHS
type Spec struct {
	Op      string // one of Ops
	Type    string // "f64" (default) or "f32"
	M, N, K int    // shape; M and K default to N where the op has them
	NRHS    int    // right-hand sides of solve and lstsq; default 1
	NB      int    // tile size; 0: automatic
	Workers int    // 0: one per core
	Sched   dispatch.Kind
	// ByPriority makes Sched, the zero value, mean dispatch.Priority also with Devices: see la.Options.
	ByPriority bool
	Only       []string       // versions that may run; empty: all
	Exclude    []string       // versions that must not run
	Fixed      []versions.Pin // versions of single ops
	Profile    *versions.Profile
	Target     versions.Target // declares the workers; see la.Options
	Resources  []exec.Resource // declares workers of several kinds, instead of Target
	Devices    string          // accelerators beside the workers: see la.OpenAccelerators
	// Runtime, if not nil, executes the tasks instead of the engine's own workers. The fields about workers are
	// then ignored.
	Runtime exec.Runtime
	// Distributed makes the matrices on the Runtime's nodes, where the operation works on them in place. gemm,
	// cholesky, lu and qr take square random matrices. Or each node reads its tiles of A from Input, a .npy
	// file. The nodes write the result to Output, unless it is empty. Speeds returns the known speeds of the
	// nodes that compute, in the order of owners; it is called again once these have executed tasks.
	Distributed bool
	Output      string
	Speeds      func() []float64
	// Nodes, if not nil, returns what each node of a cluster has done so far, the driver first. Idle says that
	// this node computes only what no other node can.
	Nodes func() []Node
	Idle  bool
	// DevicesOnly keeps workers from executing ops that have versions for the devices.
	DevicesOnly bool

	Pivot       la.Pivoting    // of lu
	OnBreakdown la.OnBreakdown // of lu
	Tree        la.Tree        // of qr, like the two fields below
	Domain      int            // tiles of a domain; 0: automatic
	IB          int            // columns of a block reflector; 0: automatic
	Variant     la.QRVariant
	Method      Method // of solve
	Mixed       bool   // of solve: factor in float32, refine in float64

	// Checkpoint, if it has a Dir, is where factorizations of cholesky, lu and qr save their state, and from
	// where they resume. Repeat then defaults to 1 and Warmup to none.
	Checkpoint la.Checkpoint

	Input  string             // matrix file to take for A (trsm: L) instead of a generated one
	Warn   func(file.Warning) // if not nil, is called with warnings about an Input that could be read
	Matrix matgen.Kind        // kind of generated matrix; Random stands for the op's default
	Seed   uint64

	Repeat int // timed runs; 0: 3
	// Warmup is the number of runs before the timed ones; 0: one, negative: none. If there are several versions
	// to choose from, more runs follow, at most 16, until each version of each op could be explored.
	Warmup int
	Verify bool
	NoPeak bool // do not measure the FMA peak, which takes 0.3 s

	// blank leaves the elements unset, since nothing reads them. rows, if not 0, is the number of rows of the
	// grid of nodes.
	blank bool
	rows  int

	// Progress, if not nil, is called with the progress of all runs and the verification. Calls do not overlap.
	Progress func(done, total int)
	// Stage, if not nil, is called when a part of the work begins. Within, if not nil, is called with the number
	// of finished tasks of the current call: see la.Options.Progress.
	Stage  func(Stage)
	Within func(done, total int)
	// Trace, if not nil, is emptied before the timed runs and records their tasks.
	Trace *trace.Recorder
	// Recorded, if not nil, is called after each timed run with its recording and its time. The trace is emptied
	// before the next run.
	Recorded func(r *trace.Recording, took time.Duration)
}

// Result is the outcome of a Spec: one line of labench's --json.
type Result struct {
	origin.Origin
	Op            string         `json:"op"`
	Type          string         `json:"type"`
	M             int            `json:"m"`
	N             int            `json:"n"`
	K             int            `json:"k"` // 0 if the op has none
	NB            int            `json:"nb"`
	Workers       int            `json:"workers"`
	Sched         string         `json:"sched"`
	Devices       []string       `json:"devices,omitempty"` // accelerators
	Versions      map[string]int `json:"versions"`          // "gemm/openblas" → calls in the timed runs
	Seconds       []float64      `json:"seconds"`           // of the timed runs, in order
	SecondsBest   float64        `json:"seconds_best"`
	SecondsMedian float64        `json:"seconds_median"`
	GFLOPSBest    float64        `json:"gflops_best"`
	GFLOPSMedian  float64        `json:"gflops_median"`
	PeakGFLOPS    float64        `json:"peak_gflops"`
	PeakFraction  float64        `json:"peak_fraction"`
	// PeakDisturbed says that other programs or the hypervisor used the cores in every measurement of the peak:
	// it may be too low.
	PeakDisturbed bool `json:"peak_disturbed,omitempty"`
	// Load is the load of other programs during the timed runs, nil if unknown. Spread is by what part the
	// longest run exceeds the shortest. Disturbed says that by one of the two the times are unreliable.
	Load      *quiet.Load `json:"load,omitempty"`
	Spread    float64     `json:"spread"`
	Disturbed bool        `json:"disturbed"`
	// Residual is the scaled residual; it must be below Limit. It is NaN (in JSON null) if it was not computed
	// or is not a number.
	Residual Number `json:"residual"`
	// Passed says that the result is right. Without verification it says that the runs ended without an error.
	Passed bool `json:"passed"`

	Pivoting string `json:"pivoting,omitempty"` // of lu: the pivoting that was used in the end
	// Growth is the growth of elements by pivoting: of lu, and of solve by LU if the result did not pass.
	Growth Number `json:"growth,omitempty"`

	// Resumed is the number of panels that an earlier run with the same Checkpoint had factored.
	Resumed int `json:"resumed_panels,omitempty"`

	// Of qr: the number of operations on which the rate is based, and the number performed.
	Flops     float64 `json:"flops,omitempty"`
	Performed float64 `json:"flops_performed,omitempty"`
	// Checks are the residuals if there are several. Residual is then the worst.
	Checks []Check `json:"checks,omitempty"`

	// Of solve and lstsq. Condition is set if la warned: a lower bound of the condition number, so large that no
	// digit of the solution is reliable.
	NRHS       int         `json:"nrhs,omitempty"`
	Method     string      `json:"method,omitempty"`
	Refinement *Refinement `json:"refinement,omitempty"` // if mixed
	Condition  float64     `json:"condition,omitempty"`

	Direct  bool            `json:"-"` // one kernel computed everything, without tasks
	Limit   Number          `json:"-"` // Residual must be below it
	Formula string          `json:"-"` // what Residual is, in words
	Failure string          `json:"-"` // what is wrong if the result did not pass
	Times   []time.Duration `json:"-"` // of the timed runs, in order
	// Summary summarizes the timed runs. If they were Recorded, all fields but Usage are those of the last run.
	Summary trace.Summary `json:"-"`
	// Nodes is what each node of a cluster did in the timed runs, and Cluster what they did together.
	Nodes   []Node   `json:"nodes,omitempty"`
	Cluster *Cluster `json:"cluster,omitempty"`
	// Kinds is what ran on each kind of worker, if Spec.Resources declares several.
	Kinds []Kind `json:"kinds,omitempty"`
}

// Kind is the workers of one kind of processor and what ran on them.
type Kind struct {
	Processor string         `json:"processor"`
	Workers   int            `json:"workers"`
	Calls     map[string]int `json:"calls"` // by op and version, such as "gemm/f64/avx512"
}

// Number is a number that JSON may not be able to hold.
type Number float64

// MarshalJSON writes NaN and infinities as null.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// Finite reports whether x is neither NaN nor infinite.
func (x Number) Finite() bool { return x-x == 0 }

// Types returns the element types.
func Types() []string { return []string{"f64", "f32"} }

// DefaultN is the default order of a problem.
const DefaultN = 4096

// WithDefaults returns s with defaults in its zero fields: type f64; N 4096; M and K as N, where the op has
// them; random matrices, or diagonally dominant ones (matgen.SPD) where the op needs them; and 3 timed runs
// after one warm-up. Fields that stay zero are decided by the run: NB by la, Workers by the machine and, with
// an Input, the shape by the file.
func (s Spec) WithDefaults() Spec {
	if s.Type == "" {
		s.Type = "f64"
	}
	if o := find(s.Op); o != nil {
		if s.Input == "" {
			s = o.fill(s)
		}
		if s.NRHS == 0 && o.Has("nrhs") {
			s.NRHS = 1
		}
		if s.Matrix == matgen.Random {
			s.Matrix = o.kind
			if s.Method == ByCholesky {
				s.Matrix = matgen.SPD
			}
		}
	}
	if s.Repeat == 0 {
		s.Repeat = 3
	}
	if s.Warmup == 0 {
		s.Warmup = 1
	}
	return s
}
