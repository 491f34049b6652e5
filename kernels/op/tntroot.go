package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Tntroot is the parameter of op "tntroot", which turns the winners of the last
// game into interchanges. Row i of the panel is exchanged with row Rows[i], so that
// the winners become the first rows of the panel.
//
// Operands: *Candidates (in), *Pivots (out). If Candidates.Info is not 0, Pivots.Info
// is Candidates.Info plus Offset. Then the last game had too few independent rows,
// and the pivots must not be used for a factorization. Rows that lost before may
// still be independent.
type Tntroot struct {
	Offset int // global index of the panel's first column
}

// Validate returns an error if a field is out of range.
func (p *Tntroot) Validate() error { return check("tntroot", p) }

// tntrootOp defines op "tntroot".
func tntrootOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "tntroot", Work: tntrootWork[T], NewParams: fresh[Tntroot]},
		about: "tournament pivoting of LU: its winners become the pivots",
		run:   func(implementation[T]) func(*versions.Call) error { return tntroot[T] },
	}
}

// tntrootArgs returns the operands of op "tntroot".
func tntrootArgs[T kernels.Element](call *versions.Call) (c *kernels.Candidates[T], v *kernels.Pivots) {
	panicIf(len(call.Args) != 2, kernels.ErrArgs)
	return operand[*kernels.Candidates[T]](call, 0), operand[*kernels.Pivots](call, 1)
}

// tntrootWork returns the number of comparisons.
func tntrootWork[T kernels.Element](call *versions.Call) float64 {
	c, _ := tntrootArgs[T](call)
	return float64(len(c.Rows)) * float64(len(c.Rows))
}

// tntroot is the function of the versions of op "tntroot".
func tntroot[T kernels.Element](call *versions.Call) error {
	p := params[Tntroot](call)
	c, v := tntrootArgs[T](call)
	k := len(c.Rows)
	v.Resize(k)
	for i, r := range c.Rows {
		// Follow row r through the exchanges so far.
		for j, s := range v.Rows[:i] {
			switch r {
			case j:
				r = s
			case s:
				r = j
			}
		}
		v.Rows[i] = r
	}
	v.Info = info(p.Offset, c.Info)
	return nil
}
