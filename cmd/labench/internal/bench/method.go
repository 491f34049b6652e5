package bench

import (
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/internal/words"
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

var methods = words.Of[Method]{"auto", "cholesky", "lu", "qr"}

// Methods returns all methods.
func Methods() []Method { return methods.All() }

func (m Method) String() string { return methods.Name(m) }

// ParseMethod returns the method called name.
func ParseMethod(name string) (Method, error) {
	if i := slices.Index(methods, name); i >= 0 {
		return Method(i), nil
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
