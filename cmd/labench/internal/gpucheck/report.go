package gpucheck

import (
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/cuda"
)

// Report is what a check has found. Its slices are only added to, so that a copy
// stays as it was.
type Report struct {
	Machine   string    `json:"machine"`
	Build     string    `json:"build"`
	Began     time.Time `json:"began"`
	Seconds   float64   `json:"seconds"`
	Budget    float64   `json:"budget_seconds"`
	Device    Device    `json:"device"`
	Simulated bool      `json:"simulated"` // speeds say nothing of any device
	Small     bool      `json:"small"`     // small sizes only

	Copies  []Copies  `json:"copies"`
	Latency *Latency  `json:"latency,omitempty"`
	Tiles   []Tile    `json:"tiles"`
	Whole   []Whole   `json:"whole"`
	Skipped []Skipped `json:"skipped"`
	Errors  []Failure `json:"errors"`
	// Point is what was under way when the report was made; empty at the end.
	Point string `json:"point,omitempty"`
}

// Device describes the device.
type Device struct {
	Name   string   `json:"name"` // "cuda0"
	Model  string   `json:"model"`
	Memory int64    `json:"memory"` // bytes
	Notes  []string `json:"notes"`
}

// NewDevice describes a device, whose name is a word and its number.
func NewDevice(word string, info cuda.Info) Device {
	return Device{fmt.Sprintf("%s%d", word, info.Ordinal), info.Name, info.Memory, append([]string{}, info.Notes...)}
}

// String returns the device in words.
func (d Device) String() string {
	return fmt.Sprintf("%s: %s, %s", d.Name, d.Model, report.Bytes(float64(d.Memory)))
}

// Long returns the device and the notes on it in words.
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

// Latency is how long the smallest things take, in microseconds.
type Latency struct {
	Copy float64 `json:"copy_us"` // 8 bytes in, and waiting for it
	Gemm float64 `json:"gemm_us"` // a product of 1×1, and waiting for it
	Tile float64 `json:"tile_us"` // the same as a tile of 1×1 by way of the accelerator
}

// Tile is the speed of a version on resident tiles of nb×nb, and of the library's
// routine on the same device, in turns.
type Tile struct {
	Op      string  `json:"op"`
	Type    string  `json:"type"`
	NB      int     `json:"nb"`
	GFLOPS  float64 `json:"gflops"`
	Library float64 `json:"library_gflops,omitempty"` // 0: there is no such routine
	Ratio   float64 `json:"ratio,omitempty"`
	// Apart is how far the result is from the CPU's: ‖X − Y‖ / (ε·‖Y‖) in the
	// Frobenius norm. 0 if it was not looked at, or nothing.
	Apart float64 `json:"apart,omitempty"`
}

// Whole is a product or a factorization of whole matrices.
type Whole struct {
	Op   string `json:"op"` // "gemm", "cholesky", "lu", "qr"
	Type string `json:"type"`
	N    int    `json:"n"`

	// From and to the host's memory, tiled on the way; 0 if not measured.
	CPU  Speed `json:"cpu"`
	GPU  Speed `json:"gpu"`
	Both Speed `json:"both"`
	// Library is the library's routine on a resident matrix, and Resident our
	// tiles, all of them resident. 0 if not measured.
	Library  float64 `json:"library_gflops,omitempty"`
	Resident float64 `json:"resident_gflops,omitempty"`
	// Residual is the scaled residual of the result of GPU and Both, the worse of
	// them, where it was looked at: Verified.
	Verified bool    `json:"verified"`
	Residual float64 `json:"residual"`
}

// Speed is the best of some runs.
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

// Wrong says in words what is wrong, and nothing if nothing is. What was skipped is not
// wrong.
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
