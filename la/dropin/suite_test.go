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

// suite is one of gonum's suites.
type suite struct {
	name string
	// large says that the suite has matrices of which the smallest tiles are a
	// hundred thousand: with -short it is run with larger ones only.
	large bool
	run   func(t *testing.T, b dropin.BLAS, l dropin.LAPACK)
}

// The routines keep gonum's contract, by gonum's own suites.
func TestSuites(t *testing.T) {
	suites := []suite{
		{"Dgemm", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.TestDgemm(t, b) }},
		{"Dsyrk", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DsyrkTest(t, b) }},
		{"Dsyr2k", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.Dsyr2kTest(t, b) }},
		{"Dsymm", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DsymmTest(t, b) }},
		{"Dtrmm", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DtrmmTest(t, b) }},
		{"Dtrsm", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DtrsmTest(t, b) }},
		{"Dgemv", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DgemvTest(t, b) }},
		{"Dsymv", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DsymvTest(t, b) }},
		{"Dtrsv", false, func(t *testing.T, b dropin.BLAS, _ dropin.LAPACK) { testblas.DtrsvTest(t, b) }},
		{"Dlange", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DlangeTest(t, l) }},
		{"Dlansy", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DlansyTest(t, l) }},
		{"Dlantr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DlantrTest(t, l) }},
		{"Dpotrf", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpotrfTest(t, l) }},
		{"Dpotrs", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpotrsTest(t, l) }},
		{"Dpotri", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpotriTest(t, l) }},
		{"Dpocon", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpoconTest(t, l) }},
		{"Dpstrf", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpstrfTest(t, l) }},
		{"Dpbtrf", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpbtrfTest(t, l) }},
		{"Dpbtrs", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpbtrsTest(t, l) }},
		{"Dpbcon", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DpbconTest(t, l) }},
		{"Dgetrf", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgetrfTest(t, l) }},
		{"Dgetrs", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgetrsTest(t, l) }},
		{"Dgetri", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgetriTest(t, l) }},
		{"Dgecon", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgeconTest(t, l) }},
		{"Dgeqrf", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgeqrfTest(t, l) }},
		{"Dgeqp3", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.Dgeqp3Test(t, l) }},
		{"Dorgqr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DorgqrTest(t, l) }},
		{"Dormqr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DormqrTest(t, l) }},
		{"Dgelqf", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgelqfTest(t, l) }},
		{"Dorglq", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DorglqTest(t, l) }},
		{"Dormlq", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DormlqTest(t, l) }},
		{"Dgels", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgelsTest(t, l) }},
		{"Dsyev", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DsyevTest(t, l) }},
		{"Dgesvd", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgesvdTest(t, l, 1e-13) }},
		{"Dgeev", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgeevTest(t, l) }},
		{"Dtrtri", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DtrtriTest(t, l) }},
		{"Dtrtrs", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DtrtrsTest(t, l) }},
		{"Dtrcon", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DtrconTest(t, l) }},
	}
	for _, nb := range []int{7, 64, 0} {
		// The race detector sees tasks in tiles of 7×7 alone, and nothing where a call is one kernel.
		if nb != 7 && raceEnabled {
			continue
		}
		name, small := fmt.Sprint("nb=", nb), -1
		opt := la.Options{Workers: 2, Float: true, Static: true, NB: nb}
		switch nb {
		case 0:
			name, small = "nb=auto", 0
		case 7:
			opt.Direct = -1
		}
		t.Run(name, func(t *testing.T) {
			e, err := la.NewEngine(opt)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			o := dropin.Options{Engine: e, Small: small}
			b, l := dropin.NewBLAS(o), dropin.NewLAPACK(o)
			for _, s := range suites {
				if s.large && opt.Direct < 0 && (testing.Short() || raceEnabled) {
					continue
				}
				// The others have all their tasks in tiles of 7×7, and most of what they have is gonum's own with nb = 0.
				if !s.large && nb != 7 && testing.Short() {
					continue
				}
				// Tiles of 64×64 have all of Dgesvd, and TestDgesvdJobs has every job with nb = 0.
				if s.name == "Dgesvd" && nb == 0 && testing.Short() {
					continue
				}
				t.Run(s.name, func(t *testing.T) { s.run(t, b, l) })
			}
		})
	}
}

// The parts of eigenvalue problems keep gonum's contract, too. They have no tiles, but apply reflectors in tiles.
func TestPartSuites(t *testing.T) {
	l := dropin.NewLAPACK(dropin.Options{Small: -1})
	for _, s := range []suite{
		{"Dgehrd", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgehrdTest(t, l) }},
		{"Dormhr", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DormhrTest(t, l) }},
		{"Dorghr", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DorghrTest(t, l) }},
		{"Dhseqr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DhseqrTest(t, l) }},
		{"Dtrevc3", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.Dtrevc3Test(t, l) }},
		{"Dsytrd", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DsytrdTest(t, l) }},
		{"Dorgtr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DorgtrTest(t, l) }},
		{"Dsteqr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DsteqrTest(t, l) }},
		{"Dlasr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DlasrTest(t, l) }},
		{"Dbdsqr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DbdsqrTest(t, l) }},
		{"Dgebrd", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DgebrdTest(t, l) }},
		{"Dorgbr", false, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DorgbrTest(t, l) }},
		{"Dormbr", true, func(t *testing.T, _ dropin.BLAS, l dropin.LAPACK) { testlapack.DormbrTest(t, l) }},
	} {
		if s.large && (testing.Short() || raceEnabled) { // thousands of small matrices
			continue
		}
		t.Run(s.name, func(t *testing.T) { s.run(t, dropin.BLAS{}, l) })
	}
}
