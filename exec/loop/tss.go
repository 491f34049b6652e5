package loop

// tss is TSS, trapezoid self-scheduling: f − i·δ items, from f = ⌈N/2P⌉ down to 1 in n =
// ⌈2N/(f+1)⌉ chunks, with δ = ⌊(f−1)/(n−1)⌋.
//
// Reference: Tzen and Ni, "Trapezoid self-scheduling" (1993).
func tss(s Shape, i, _ int) uint64 {
	first, step := trapezoid(s)
	return descend(first, step, u(i))
}

// trapezoid returns f and δ.
func trapezoid(s Shape) (first, step uint64) {
	first = ceil(u(s.Items), 2*u(s.Workers))
	n := ceil(2*u(s.Items), first+1)
	if n < 2 { // δ would be 0/0
		return first, 0
	}
	return first, (first - 1) / (n - 1)
}

// descend returns f − i·δ, at least 1.
func descend(first, step, i uint64) uint64 {
	if step > 0 && i > (first-1)/step {
		return 1
	}
	return first - i*step
}
