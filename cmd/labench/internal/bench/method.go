package bench

import (
	"fmt"

	"github.com/tessera-la/tessera/la"
)

// Method is how a system is solved.
type Method uint8

// The methods.
const (
	Auto       Method = iota // by la.Solve, which examines the matrix
	ByCholesky               // by la.Cholesky
	ByLU                     // by la.LU
	ByQR                     // by la.QR
)

// Methods returns all methods.
func Methods() []Method { return []Method{Auto, ByCholesky, ByLU, ByQR} }

func (m Method) String() string {
	names := [...]string{"auto", "cholesky", "lu", "qr"}
	if int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// ParseMethod returns the method called name.
func ParseMethod(name string) (Method, error) {
	for _, m := range Methods() {
		if m.String() == name {
			return m, nil
		}
	}
	return 0, fmt.Errorf("unknown method %q", name)
}

// Refinement describes a solution in mixed precision.
type Refinement struct {
	Iterations int    `json:"iterations"`
	Fallback   string `json:"fallback,omitempty"` // why everything was done in float64, if it was
}

func refinement(r la.Refinement) *Refinement {
	told := &Refinement{Iterations: r.Iterations}
	if r.Fallback != la.NoFallback {
		told.Fallback = r.Fallback.String()
	}
	return told
}

// Says describes the refinement in words.
func (r *Refinement) Says() string {
	rounds := fmt.Sprintf("%d refinements", r.Iterations)
	if r.Iterations == 1 {
		rounds = "1 refinement"
	}
	if r.Fallback != "" {
		return fmt.Sprintf("tried in f32 (%s, %s), and then all in f64", r.Fallback, rounds)
	}
	return "factored in f32, " + rounds + " in f64"
}
