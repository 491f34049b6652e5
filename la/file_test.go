package la_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// TestMatrixFiles factors what was written to files: stiffness matrices whose
// condition number passes 10¹⁰, and indefinite ones, whose minor is named.
func TestMatrixFiles(t *testing.T) {
	dir := t.TempDir()
	for engine, e := range map[string]*la.Engine{"tiles": start(t, la.Options{Workers: 2, NB: 32, Direct: -1}), "auto": nil} {
		for _, s := range []matgen.Spec{
			{Kind: matgen.Beam, N: 320}, {Kind: matgen.Poisson2D, N: 200}, {Kind: matgen.SPDGraded, N: 130},
			{Kind: matgen.Indefinite, N: 150, Minor: 97}, {Kind: matgen.Indefinite, N: 70, Minor: 33}, {Kind: matgen.Indefinite, N: 65, Minor: 65},
		} {
			a := symmetric[float64](t, s, blas.Upper, 0)
			m, _ := blocked.From[float64](a, blocked.SymLower, 50, blocked.CopyOptions{})
			for _, ext := range []string{".mtx", ".mtx.gz", ".npy"} {
				path := filepath.Join(dir, fmt.Sprintf("%v-%d%s", s.Kind, s.N, ext))
				if err := file.Write(path, m, &file.WriteOptions{Coordinate: true, Comment: "stiffness\nof something"}); err != nil {
					t.Fatal(err)
				}
				back, err := file.Read[float64](path, &file.ReadOptions{NB: 64})
				if err != nil {
					t.Fatal(err)
				}
				c := la.NewCholesky[float64](e)
				err = c.Factorize(back)
				if s.Kind == matgen.Indefinite {
					minor(t, err, s.Minor, "%s: %s", engine, path)
					continue
				}
				if err != nil {
					t.Fatalf("%s: %s: %v", engine, path, err)
				}
				small(t, choleskyResidual[float64](factor(t, c), load[float64](a, blas.NoTrans)), 30, "%s: %s", engine, path)
				if s.Kind == matgen.Beam && c.Cond() < 1e10 {
					t.Errorf("condition %g, want above 1e10", c.Cond())
				}
			}
		}
	}
}
