package versions

import "math"

// classBits is the width of a size class in bits of work: a class spans a
// factor of four, for an operation of nb³ work a factor of 1.6 in nb. Wider
// classes would hide that one version overtakes another; narrower ones would
// spend more runs on exploring.
const classBits = 2

// sizes is the number of classes by size, and NumClasses that of all: thin calls
// have classes of their own, which follow the others.
const (
	sizes      = 32
	NumClasses = 2 * sizes
)

// ClassOf returns the size class of a call with the given work: class c
// holds the calls with
//
//	4^c ≤ work < 4^(c+1).
//
// Work below one, and work that is not a number, counts as one; the last
// class holds all that is larger.
func ClassOf(work float64) int {
	if !(work >= 1) {
		return 0
	}
	// The biased exponent is floor(log2(work)) + 1023; the sign bit is 0.
	exp := int(math.Float64bits(work)>>52) - 1023
	return min(exp/classBits, sizes-1)
}

// unitsOf returns work as a number that times can be divided by.
func unitsOf(work float64) float64 {
	if !(work >= 1) {
		return 1
	}
	return min(work, 1<<(classBits*sizes-1))
}

// classOf returns the class of a call with the given work.
func classOf(op *Op, call *Call, work float64) int {
	if op.Thin != nil && call != nil && op.Thin(call) {
		return sizes + ClassOf(work)
	}
	return ClassOf(work)
}

// workOf returns the work of a call, one unit if the op does not define it.
func workOf(op *Op, call *Call) float64 {
	if op.Work == nil {
		return 1
	}
	return unitsOf(op.Work(call))
}
