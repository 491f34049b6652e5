// Package bench makes the problems that labench runs, runs them through la,
// times them and judges the results by their residuals.
package bench

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/exec/sched"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/versions"
)

// Spec says what to run. Zero fields take the defaults that
// [Spec.WithDefaults] documents.
type Spec struct {
	Op      string // "gemm", "syrk", "trsm" or "cholesky"
	Type    string // "f64" (default) or "f32"
	M, N, K int    // shape; M and K default to N
	NB      int    // tile size; 0: automatic
	Workers int    // 0: one per core
	Sched   sched.Kind
	Only    []string       // versions that may run; empty: all
	Exclude []string       // versions that may not
	Fixed   []versions.Pin // versions of single ops
	Profile *versions.Profile

	Input  string      // matrix file to factor instead of a generated one
	Matrix matgen.Kind // kind of generated matrix
	Seed   uint64

	Repeat int // timed runs
	Warmup int // runs before them, at least one where versions are explored
	Verify bool

	Progress func(done, total int)
	Trace    *trace.Recorder
}

// Result is the outcome of a Spec: one line of labench's --json.
type Result struct {
	Op            string         `json:"op"`
	Type          string         `json:"type"`
	M             int            `json:"m"`
	N             int            `json:"n"`
	K             int            `json:"k"`
	NB            int            `json:"nb"`
	Workers       int            `json:"workers"`
	Sched         string         `json:"sched"`
	Versions      map[string]int `json:"versions"` // "gemm/openblas" → calls in the timed runs
	SecondsBest   float64        `json:"seconds_best"`
	SecondsMedian float64        `json:"seconds_median"`
	GFLOPSBest    float64        `json:"gflops_best"`
	GFLOPSMedian  float64        `json:"gflops_median"`
	PeakGFLOPS    float64        `json:"peak_gflops"`
	PeakFraction  float64        `json:"peak_fraction"`
	Residual      float64        `json:"residual"`
	Passed        bool           `json:"passed"`

	Times   []time.Duration `json:"-"` // of the timed runs, in order
	Summary trace.Summary   `json:"-"` // of the timed runs
}

var _ = context.Background
