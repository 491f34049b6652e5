package bench

import (
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
)

// Result is the outcome of a Spec: one line of labench's --json.
type Result struct {
	origin.Origin
	Op            string         `json:"op"`
	Type          string         `json:"type"`
	M             int            `json:"m"`
	N             int            `json:"n"`
	K             int            `json:"k"`  // 0 if the op has none
	NB            int            `json:"nb"` // 0 if the op has no tiles
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

	// Chosen is what the problem has chosen, in words: "general", "values only".
	Chosen []string `json:"chosen,omitempty"`
	// Stages are those of eigen and svd, in the last run.
	Stages []StageTime `json:"stages,omitempty"`
	// Choice is why there was one stage of reduction or two.
	Choice *ReductionChoice `json:"choice,omitempty"`

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

// ReductionChoice is the times that one stage of reduction and two were foreseen to take, and the rates by which: of
// products by all workers, and of bytes from memory.
type ReductionChoice struct {
	OneStage  float64 `json:"one_stage_seconds"`
	TwoStages float64 `json:"two_stages_seconds"`
	GFLOPS    float64 `json:"gflops"`
	Bandwidth float64 `json:"bandwidth"`
	Measured  bool    `json:"measured"` // the rates, by this run
}

// StageTime is how long a stage of an operation took. GFLOPS is 0 if its operations are not counted.
type StageTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	GFLOPS  float64 `json:"gflops,omitempty"`
}

// Kind is the workers of one kind of processor and what ran on them.
type Kind struct {
	Processor string         `json:"processor"`
	Workers   int            `json:"workers"`
	Calls     map[string]int `json:"calls"` // by op and version, such as "gemm/f64/avx512"
}
