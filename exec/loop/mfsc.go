package loop

import "math"

// mfsc is MFSC, fixed-size chunks of ⌈t·ln 2 / ln t⌉ items where t = ⌈N/P⌉: about as many
// chunks as FAC2 has, all of one size.
//
// Reference: Kruskal and Weiss, "Allocating independent subtasks on parallel processors"
// (1985), whose size needs the spread of the items' times; the size here, which does
// without, is that of LB4OMP (Korndörfer et al., 2022).
func mfsc(s Shape, _, _ int) uint64 {
	t := ceil(u(s.Items), u(s.Workers))
	if t <= 2 { // ln 1 is 0
		return t
	}
	x := float64(t)
	return uint64(math.Ceil(x * math.Ln2 / math.Log(x)))
}
