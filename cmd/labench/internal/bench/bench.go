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
	// ByPriority has Sched, the zero value, mean dispatch.Priority also with Devices:
	// see la.Options.
	ByPriority bool
	Only       []string       // versions that may run; empty: all
	Exclude    []string       // versions that may not
	Fixed      []versions.Pin // versions of single ops
	Profile    *versions.Profile
	Target     versions.Target // declares the workers; see la.Options
	Resources  []exec.Resource // declares workers that differ, instead
	Devices    string          // accelerators beside the workers: see la.OpenAccelerators
	// Runtime, if not nil, executes the tasks instead of workers of the engine's own;
	// what is said of these counts for nothing.
	Runtime exec.Runtime
	// Distributed has the matrices made on the Runtime's nodes, and worked on in place: of
	// gemm, cholesky, lu and qr, square and random; or A is read from Input, a .npy file, by
	// the nodes, each its tiles. So they write the result to Output, if that is not empty.
	// Speeds returns what is known of those of the nodes that compute, in the order of owners;
	// it is asked again when these have done something.
	Distributed bool
	Output      string
	Speeds      func() []float64
	// Nodes, if not nil, returns what each node of a cluster has done so far, the driver first,
	// and Idle says that this one computes only what no other one can.
	Nodes func() []Node
	Idle  bool
	// DevicesOnly keeps the workers off what the devices have versions for.
	DevicesOnly bool

	Pivot       la.Pivoting    // of lu
	OnBreakdown la.OnBreakdown // of lu
	Tree        la.Tree        // of qr, as what follows
	Domain      int            // tiles of a domain; 0: automatic
	IB          int            // columns of a block reflector; 0: automatic
	Variant     la.QRVariant
	Method      Method // of solve
	Mixed       bool   // of solve: factor in float32, refine in float64

	// Checkpoint, if it has a Dir, is where the factorizations of cholesky, lu and qr keep their
	// states, and go on from. Then Repeat is 1 and Warmup none unless they are given.
	Checkpoint la.Checkpoint

	Input  string             // matrix file to take for A (trsm: L) instead of a generated one
	Warn   func(file.Warning) // if not nil, is told what is wrong with the Input that was read all the same
	Matrix matgen.Kind        // kind of generated matrix; Random stands for the op's default
	Seed   uint64

	Repeat int // timed runs; 0: 3
	// Warmup is the number of runs before them; 0: one, negative: none. With
	// several versions to choose among there are more, at most 16, until each
	// version of an op that runs could be explored.
	Warmup int
	Verify bool
	NoPeak bool // do not measure the FMA peak, which takes 0.3 s

	// blank has no elements made: nothing reads them. rows, if not 0, is how many rows the grid
	// of nodes has.
	blank bool
	rows  int

	// Progress, if not nil, is told how much of all runs and of the
	// verification is done. The calls do not overlap.
	Progress func(done, total int)
	// Stage, if not nil, is told when a part of all this begins, and Within, if not nil, how
	// many tasks of the call under way have ended: see la.Options.Progress.
	Stage  func(Stage)
	Within func(done, total int)
	// Trace, if not nil, is emptied before the timed runs and holds their
	// tasks afterwards.
	Trace *trace.Recorder
	// Recorded, if not nil, gets what was recorded of each timed run, in order,
	// and how long the run took; the trace is emptied before the next one.
	Recorded func(r *trace.Recording, took time.Duration)
}

// Result is the outcome of a Spec: one line of labench's --json.
type Result struct {
	origin.Origin
	Op            string         `json:"op"`
	Type          string         `json:"type"`
	M             int            `json:"m"`
	N             int            `json:"n"`
	K             int            `json:"k"` // 0 where the op has none
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
	// PeakDisturbed says that other programs, or the hypervisor, had a part of the cores
	// whenever the peak was measured: it may be too low.
	PeakDisturbed bool `json:"peak_disturbed,omitempty"`
	// Load is what else went on during the timed runs, nil if that is unknown; Spread by what
	// part the longest of them exceeds the shortest; and Disturbed whether one of the two
	// says that they are not to be trusted.
	Load      *quiet.Load `json:"load,omitempty"`
	Spread    float64     `json:"spread"`
	Disturbed bool        `json:"disturbed"`
	// Residual is the scaled residual, to be held against Limit; NaN, in JSON
	// null, if it was not asked for or is not a number.
	Residual Number `json:"residual"`
	// Passed says that the result is right; without verification, that the
	// runs ended without an error.
	Passed bool `json:"passed"`

	Pivoting string `json:"pivoting,omitempty"` // of lu: what was done in the end
	// Growth is that of the elements by pivoting: of lu, and of solve by LU if the result did
	// not pass.
	Growth Number `json:"growth,omitempty"`

	// Resumed is how many panels an earlier run had done, of a run with a Checkpoint.
	Resumed int `json:"resumed_panels,omitempty"`

	// Of qr: the operations by which the rate is counted, and those that were
	// performed.
	Flops     float64 `json:"flops,omitempty"`
	Performed float64 `json:"flops_performed,omitempty"`
	// Checks is the residuals if there are several; Residual is then the worst.
	Checks []Check `json:"checks,omitempty"`

	// Of solve and lstsq. Condition is what la warned of: a lower bound of the
	// condition number, with which no digit of the solution can be relied on.
	NRHS       int         `json:"nrhs,omitempty"`
	Method     string      `json:"method,omitempty"`
	Refinement *Refinement `json:"refinement,omitempty"` // if mixed
	Condition  float64     `json:"condition,omitempty"`

	Direct  bool            `json:"-"` // one kernel did it all, without tasks
	Limit   Number          `json:"-"` // Residual must be below it
	Formula string          `json:"-"` // what Residual is, in words
	Failure string          `json:"-"` // what is wrong if the result did not pass
	Times   []time.Duration `json:"-"` // of the timed runs, in order
	// Summary is that of the timed runs; of the last one but for Usage if they
	// were Recorded.
	Summary trace.Summary `json:"-"`
	// Nodes says what each node of a cluster has done in the timed runs, and Cluster what all
	// have together.
	Nodes   []Node   `json:"nodes,omitempty"`
	Cluster *Cluster `json:"cluster,omitempty"`
	// Kinds says what ran on each kind of worker, if Spec.Resources declares several.
	Kinds []Kind `json:"kinds,omitempty"`
}

// Kind is the workers of a processor and what ran on them.
type Kind struct {
	Processor string         `json:"processor"`
	Workers   int            `json:"workers"`
	Calls     map[string]int `json:"calls"` // by op and version, as in "gemm/f64/avx512"
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

// Types returns the element types that there are.
func Types() []string { return []string{"f64", "f32"} }

// DefaultN is the order of a problem of which nothing else is said.
const DefaultN = 4096

// WithDefaults returns s with its zero fields filled in: type f64; N 4096; M
// and K as N, where the op has them; random matrices where they do, else
// diagonally dominant ones (matgen.SPD); 3 timed runs after one for warming up.
// What stays zero is decided by the run: NB by la, Workers by the machine, and
// with an Input the shape by the file.
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
