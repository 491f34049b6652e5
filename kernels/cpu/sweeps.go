package cpu

// ChaseSteps returns the largest number of reflectors in a sweep of a chase.
func ChaseSteps(n, b int) int { return max(n-2, 0)/b + 1 }

// Sweeps is the reflectors of a chase, of [Tridiagonal.Sb2st] or of one side of [Bidiagonal.Tb2bd]: H(s,u) = I − tau(s,u)·v(s,u)·v(s,u)ᵀ. v(s,u) has its
// elements, of which the first is 1, in rows s+1+u·b to s+(u+1)·b, and they are these columns of row s of V, whose rows are
// Stride elements apart. tau(s,u) is element s·ChaseSteps(n,b)+u of Tau.
type Sweeps[T Element] struct {
	V      []T
	Stride int
	Tau    []T
}

// NewSweeps returns sweeps in the first [SweepsSize] elements of memory.
func NewSweeps[T Element](n, b int, memory []T) Sweeps[T] {
	taus := n * ChaseSteps(n, b)
	return Sweeps[T]{V: memory[taus:SweepsSize(n, b)], Stride: n, Tau: memory[:taus]}
}

// SweepsSize returns the number of elements of memory for the reflectors of order n and b superdiagonals.
func SweepsSize(n, b int) int { return n * (ChaseSteps(n, b) + n) }
