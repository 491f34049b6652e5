package cpu

// ChaseSteps returns the largest number of reflectors in a sweep of a chase.
func ChaseSteps(n, b int) int { return max(n-2, 0)/b + 1 }

// Sweeps is the reflectors of a chase, of [Tridiagonal.Sb2st] or of one side of [Bidiagonal.Tb2bd]: H(s,u) = I −
// tau(s,u)·v(s,u)·v(s,u)ᵀ. v(s,u) has its elements, of which the first is 1, in rows s+1+u·b to s+(u+1)·b, and they are
// these columns of row s of V, whose rows are Stride elements apart. tau(s,u) is element s·ChaseSteps(n,b)+u of Tau.
type Sweeps[T Element] struct {
	V      []T
	Stride int
	Tau    []T

	// Live is 0, or the number of rows of V and Tau, at least [LiveSweeps], which Sb2st then uses again for later sweeps.
	Live int
	// Done, if it is not nil, is called by Sb2st at the end of each sweep, from any unit's goroutine: with the columns
	// from s+1 on of its row of V, and its factors.
	Done func(s int, v, taus []T)
}

// LiveSweeps returns how many rows of V and Tau may be in use at a time. When a sweep begins, the one before has done
// two steps, the one before that three, and so on.
func LiveSweeps(n, b int) int { return ChaseSteps(n, b) + 1 }

// row returns the row of V and Tau that has sweep s.
func (q *Sweeps[T]) row(s int) int {
	if q.Live > 0 {
		return s % q.Live
	}
	return s
}

// NewSweeps returns sweeps in the first [SweepsSize] elements of memory.
func NewSweeps[T Element](n, b int, memory []T) Sweeps[T] {
	taus := n * ChaseSteps(n, b)
	return Sweeps[T]{V: memory[taus:SweepsSize(n, b)], Stride: n, Tau: memory[:taus]}
}

// SweepsSize returns the number of elements of memory for the reflectors of order n and b superdiagonals.
func SweepsSize(n, b int) int { return n * (ChaseSteps(n, b) + n) }
