package gpucheck

import (
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/cuda"
)

// Report is the result of a check. Its slices are only appended to, so a copy does not change.
type Report struct {
	Machine   string    `json:"machine"`
	Build     string    `json:"build"`
	Began     time.Time `json:"began"`
	Seconds   float64   `json:"seconds"`
	Budget    float64   `json:"budget_seconds"`
	Device    Device    `json:"device"`
	Simulated bool      `json:"simulated"` // speeds do not apply to any real device
	Small     bool      `json:"small"`     // small sizes only

	Copies  []Copies  `json:"copies"`
	Latency *Latency  `json:"latency,omitempty"`
	Tiles   []Tile    `json:"tiles"`
	Again   []Again   `json:"again"`
	Whole   []Whole   `json:"whole"`
	Skipped []Skipped `json:"skipped"`
	Errors  []Failure `json:"errors"`
	// Point is the point that was running when the report was made; empty at the end.
	Point string `json:"point,omitempty"`
}

// Device describes the device.
type Device struct {
	Name   string   `json:"name"` // "cuda0"
	Model  string   `json:"model"`
	Memory int64    `json:"memory"` // bytes
	Notes  []string `json:"notes"`
}

// NewDevice describes a device. Its name is word and its number.
func NewDevice(word string, info cuda.Info) Device {
	return Device{fmt.Sprintf("%s%d", word, info.Ordinal), info.Name, info.Memory, append([]string{}, info.Notes...)}
}

// String describes the device.
func (d Device) String() string {
	return fmt.Sprintf("%s: %s, %s", d.Name, d.Model, report.Bytes(float64(d.Memory)))
}

// Long describes the device with all notes.
func (d Device) Long() string {
	return strings.Join(append([]string{d.String()}, d.Notes...), ", ")
}

// Copies are bandwidths in GB/s.
type Copies struct {
	Memory string  `json:"memory"` // "pinned", "pageable", "device"
	Bytes  int64   `json:"bytes"`  // of a copy
	In     float64 `json:"in"`     // within the device for "device"
	Out    float64 `json:"out"`
	Both   float64 `json:"both"` // of both directions together
}

// Latency is the time of the smallest operations, in microseconds.
type Latency struct {
	Copy float64 `json:"copy_us"` // 8 bytes in, including the wait
	Gemm float64 `json:"gemm_us"` // a 1×1 product, including the wait
	Tile float64 `json:"tile_us"` // the same on a 1×1 tile, through the accelerator
}

// Tile is the speed of a version on resident tiles of nb×nb, and of the library's routine on the same device,
// measured in turns.
type Tile struct {
	Op      string  `json:"op"`
	Type    string  `json:"type"`
	NB      int     `json:"nb"`
	GFLOPS  float64 `json:"gflops"`
	Library float64 `json:"library_gflops,omitempty"` // 0: there is no such routine
	Ratio   float64 `json:"ratio,omitempty"`
	// Apart is the distance of the result from the CPU's: ‖X − Y‖ / (ε·‖Y‖) in the Frobenius norm. It is 0 if it
	// was not computed.
	Apart float64 `json:"apart,omitempty"`
}

// Again is a factorization in f64 and the second of two solutions with it, on the device. Its factor
// has stayed there.
type Again struct {
	Op   string `json:"op"` // "cholesky", "lu", "qr"
	N    int    `json:"n"`
	NRHS int    `json:"nrhs"`

	Factorize float64 `json:"factorize_seconds"`
	Solve     float64 `json:"solve_seconds"` // the faster one
	Copied    int64   `json:"copied"`        // bytes to the device for the second solution
}

// Whole is a product or a factorization of whole matrices.
type Whole struct {
	Op   string `json:"op"` // "gemm", "cholesky", "lu", "qr"
	Type string `json:"type"`
	N    int    `json:"n"`

	// From and to host memory, including the conversion to tiles; 0 if not measured.
	CPU  Speed `json:"cpu"`
	GPU  Speed `json:"gpu"`
	Both Speed `json:"both"`
	// Library is the library's routine on a resident matrix, Resident our versions on resident tiles. 0 if not
	// measured.
	Library  float64 `json:"library_gflops,omitempty"`
	Resident float64 `json:"resident_gflops,omitempty"`
	// Residual is the larger scaled residual of the results of GPU and Both. Verified says that it was computed.
	Verified bool    `json:"verified"`
	Residual float64 `json:"residual"`
}

// Speed is the best of several runs.
type Speed struct {
	NB      int     `json:"nb,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	GFLOPS  float64 `json:"gflops,omitempty"`
}

// Skipped is a point that was not measured.
type Skipped struct {
	Point string `json:"point"`
	Why   string `json:"why"`
}

// Failure is a point that failed.
type Failure struct {
	Point string `json:"point"`
	Error string `json:"error"`
}

// Wrong describes the errors in words. It returns "" if there are none. Skipped points are no errors.
func (r *Report) Wrong() string {
	switch {
	case r.Point != "":
		return fmt.Sprintf("%s did not end in time", r.Point)
	case len(r.Errors) == 1:
		return fmt.Sprintf("1 point failed, %s: %s", r.Errors[0].Point, r.Errors[0].Error)
	case len(r.Errors) > 0:
		return fmt.Sprintf("%d points failed, the first one %s: %s", len(r.Errors), r.Errors[0].Point, r.Errors[0].Error)
	}
	return ""
}
