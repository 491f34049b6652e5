package lu

import "testing"

// TestGetrfPriority checks that every task of a factorization is more urgent
// than those that wait for it, and the columns that are needed first before the
// others.
func TestGetrfPriority(t *testing.T) {
	for mt := 1; mt < 12; mt++ {
		for nt := 1; nt < 12; nt++ {
			steps := min(mt, nt)
			p := getrfPriority{int64(mt), int64(nt), int64(steps)}
			before := func(what string, first, then int64) {
				t.Helper()
				if first <= then {
					t.Errorf("%d×%d: %s: %d is not above %d", mt, nt, what, first, then)
				}
			}
			for k := range steps {
				before("panel, the end", p.panel(k), 0)
				for j := k + 1; j < nt; j++ {
					before("panel, update", p.panel(k), p.update(k, j))
					before("gemm, the end", p.update(k, j)-2, 0)
					if j == k+1 && j < steps {
						before("gemm, panel", p.update(k, j)-2, p.panel(j))
					} else if k+1 < steps {
						before("gemm, update", p.update(k, j)-2, p.update(k+1, j))
					}
					if j+1 < nt && j < steps {
						before("column, next column", p.update(k, j)-2, p.update(k, j+1))
					}
				}
			}
		}
	}
	// A million tiles in a row do not overflow.
	if p := (getrfPriority{1 << 20, 1 << 20, 1 << 20}); p.panel(0) <= 0 || p.update(0, 1) <= 0 {
		t.Error("overflow")
	}
}
