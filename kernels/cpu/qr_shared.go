package cpu

// Shared returns the routines of q by a crew of at most so many cores, for calls
// one after the other: strips of what a factor is applied to have nothing to do
// with each other. The results are the same, bit for bit.
func (q *QR[T]) Shared(units int, crew Crew[T]) *QR[T] {
	s := *q
	s.units, s.crew = units, crew
	return &s
}

// shareApply is [QR.apply] by the crew, if there is one and it is worth while;
// otherwise it returns false.
func (q *QR[T]) shareApply(f *reflectors[T], left, trans bool, n int, unit []T, ldu int, c []T, ldc int) bool {
	const least = 6e6 // flops of which half are worth giving away
	if q.crew == nil || 4*float64(f.m)*float64(n)*float64(f.k) < least {
		return false
	}
	const grain = 96 // whole strips of every instruction set
	step, stepU := 1, 1
	if !left {
		step, stepU = ldc, ldu
	}
	parts := min(pieces*q.units, n/grain)
	if parts < 2 {
		return false
	}
	size := roundUp((n+parts-1)/parts, grain)
	one, all := *q, *f // copies: what others get to see is on the heap, and f is not
	dim := max(f.m, size, f.k)
	q.crew((n+size-1)/size, q.Work(dim, f.k, f.tb), func(i, _ int, work []T) {
		s := one.scratch(work, dim, all.k, all.tb)
		lo := i * size
		one.applyAlone(&all, left, trans, min(size, n-lo), from(unit, lo*stepU), ldu, from(c, lo*step), ldc, &s)
	})
	return true
}
