package dropin_test

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas/testblas"
	"gonum.org/v1/gonum/lapack/testlapack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachSize runs f with routines whose tiles are forced to sizes that do not
// divide anything, and with those that choose by themselves.
func eachSize(t *testing.T, f func(t *testing.T, opt dropin.Options)) {
	for _, nb := range []int{3, 7, 64, 0} {
		name := fmt.Sprint("nb=", nb)
		opt := la.Options{Workers: 2, Float: true, Static: true, NB: nb}
		small := -1
		switch nb {
		case 0:
			name, small = "nb=auto", 0
		case 64:
		default:
			opt.Direct = -1
		}
		t.Run(name, func(t *testing.T) {
			e, err := la.NewEngine(opt)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			f(t, dropin.Options{Engine: e, Small: small})
		})
	}
}

// The routines of BLAS keep gonum's contract, by gonum's own suites.
func TestBLASSuites(t *testing.T) {
	eachSize(t, func(t *testing.T, opt dropin.Options) {
		b := dropin.NewBLAS(opt)
		t.Run("Dgemm", func(t *testing.T) { testblas.TestDgemm(t, b) })
		t.Run("Dsyrk", func(t *testing.T) { testblas.DsyrkTest(t, b) })
		t.Run("Dsyr2k", func(t *testing.T) { testblas.Dsyr2kTest(t, b) })
		t.Run("Dsymm", func(t *testing.T) { testblas.DsymmTest(t, b) })
		t.Run("Dtrmm", func(t *testing.T) { testblas.DtrmmTest(t, b) })
		t.Run("Dtrsm", func(t *testing.T) { testblas.DtrsmTest(t, b) })
		t.Run("Dtrsv", func(t *testing.T) { testblas.DtrsvTest(t, b) })
		t.Run("Dgemv", func(t *testing.T) { testblas.DgemvTest(t, b) })
	})
}

// The routines of LAPACK keep gonum's contract, by gonum's own suites.
func TestLAPACKSuites(t *testing.T) {
	eachSize(t, func(t *testing.T, opt dropin.Options) {
		l := dropin.NewLAPACK(opt)
		t.Run("Dlange", func(t *testing.T) { testlapack.DlangeTest(t, l) })
		t.Run("Dlansy", func(t *testing.T) { testlapack.DlansyTest(t, l) })
		t.Run("Dlantr", func(t *testing.T) { testlapack.DlantrTest(t, l) })
		t.Run("Dpocon", func(t *testing.T) { testlapack.DpoconTest(t, l) })
		t.Run("Dgecon", func(t *testing.T) { testlapack.DgeconTest(t, l) })
		t.Run("Dtrcon", func(t *testing.T) { testlapack.DtrconTest(t, l) })
		t.Run("Dgetrf", func(t *testing.T) { testlapack.DgetrfTest(t, l) })
		t.Run("Dgetrs", func(t *testing.T) { testlapack.DgetrsTest(t, l) })
		t.Run("Dgetri", func(t *testing.T) { testlapack.DgetriTest(t, l) })
		t.Run("Dpotrs", func(t *testing.T) { testlapack.DpotrsTest(t, l) })
		t.Run("Dpotri", func(t *testing.T) { testlapack.DpotriTest(t, l) })
		t.Run("Dtrtri", func(t *testing.T) { testlapack.DtrtriTest(t, l) })
		t.Run("Dtrtrs", func(t *testing.T) { testlapack.DtrtrsTest(t, l) })
		t.Run("Dgeqrf", func(t *testing.T) { testlapack.DgeqrfTest(t, l) })
		t.Run("Dorgqr", func(t *testing.T) { testlapack.DorgqrTest(t, l) })
		t.Run("Dormqr", func(t *testing.T) { testlapack.DormqrTest(t, l) })
		t.Run("Dgelqf", func(t *testing.T) { testlapack.DgelqfTest(t, l) })
		t.Run("Dorglq", func(t *testing.T) { testlapack.DorglqTest(t, l) })
		t.Run("Dormlq", func(t *testing.T) { testlapack.DormlqTest(t, l) })
		t.Run("Dgels", func(t *testing.T) { testlapack.DgelsTest(t, l) })
		t.Run("Dpotrf", func(t *testing.T) { testlapack.DpotrfTest(t, l) })
	})
}
