package chol

import "testing"

// TestPotrfPriority checks that every task of a factorization is more urgent
// than those that wait for it.
func TestPotrfPriority(t *testing.T) {
	for mt := range 14 {
		p := potrfPriority(mt)
		before := func(what string, first, then int64) {
			t.Helper()
			if first <= then {
				t.Errorf("mt %d: %s: %d is not above %d", mt, what, first, then)
			}
		}
		for k := range mt {
			for m := k + 1; m < mt; m++ {
				before("potrf, trsm", p.potrf(k), p.trsm(k, m))
				before("trsm, syrk", p.trsm(k, m), p.syrk(k, m))
				if m == k+1 {
					before("syrk, potrf", p.syrk(k, m), p.potrf(m))
				} else {
					before("syrk, syrk", p.syrk(k, m), p.syrk(k+1, m))
				}
				for n := k + 1; n < m; n++ {
					before("trsm of the row, gemm", p.trsm(k, m), p.gemm(k, m, n))
					before("trsm of the column, gemm", p.trsm(k, n), p.gemm(k, m, n))
					if n == k+1 {
						before("gemm, trsm", p.gemm(k, m, n), p.trsm(n, m))
					} else {
						before("gemm, gemm", p.gemm(k, m, n), p.gemm(k+1, m, n))
					}
				}
			}
		}
		if mt > 0 && (p.potrf(0) < 0 || p.potrf(mt-1) != 1) {
			t.Errorf("mt %d: priorities run from %d to %d", mt, p.potrf(0), p.potrf(mt-1))
		}
	}
	// A million tiles in a row do not overflow.
	if p := potrfPriority(1 << 20); p.potrf(0) != 1<<60 || p.trsm(0, 1) <= 0 || p.gemm(0, 1<<19, 1) <= 0 {
		t.Error("overflow")
	}
}

// TestPotrfLoads checks that lines of tiles are read from the first to the last,
// and before what waits for them only is most urgent.
func TestPotrfLoads(t *testing.T) {
	for mt := 1; mt < 14; mt++ {
		p, load := potrfPriority(mt), PotrfLoads(mt)
		before := func(what string, first, then int64) {
			t.Helper()
			if first <= then {
				t.Errorf("mt %d: %s: %d is not above %d", mt, what, first, then)
			}
		}
		before("load, potrf", load(0), p.potrf(0))
		for i := 1; i < mt; i++ {
			before("load, next load", load(i-1), load(i))
			before("trsm, load of what it updates", p.trsm(0, i), load(i))
			before("load, syrk", load(i), p.syrk(0, i))
			for m := i + 1; m < mt; m++ {
				before("load, gemm", load(i), p.gemm(0, m, i))
			}
		}
	}
}
