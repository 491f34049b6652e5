package figures

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec/sim"
)

// nowhere is a runtime in virtual time, to count tasks.
func nowhere(t *testing.T) *sim.Runtime {
	t.Helper()
	rt, err := sim.New(sim.Options{Machine: &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 1, Rate: 1}}, Nodes: []sim.Nodes{{Kind: "x", Count: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// TestPrograms: the programs have as many tasks as the paper's, and do the work that it says.
func TestPrograms(t *testing.T) {
	const m = 8
	cubes := float64(m * m * m)
	for _, c := range []struct {
		name   string
		submit func(p *program)
		tasks  int
		flops  float64 // in cubes of the side of a block
	}{
		{"matmul", func(p *program) { p.matmul(p.matrix("A", m), p.matrix("B", m), p.matrix("C", m)) }, m * m * m, 2 * cubes},
		{"cholesky", func(p *program) { p.cholesky(p.matrix("A", m)) }, m + m*(m-1)/2 + m*(m-1)*(m+1)/6, m/3. + m*(m-1)/2 + m*(m-1)*(m+1)/3},
		// Table 2, but for what factoring blocks takes: see qr.
		{"qr", func(p *program) { p.qr(p.matrix("R", m), p.matrix("Q", m), false) }, m + m*m + m*(m-1)/2 + m*(m-1)/2 + m*m*(m-1)/2 + m*(2*m*m-3*m+1)/6,
			8./3*m + 2*(m*m+m*(m-1)/2) + 38./3*m*(m-1)/2 + 8*(m*m*(m-1)/2+m*(2*m*m-3*m+1)/6)},
		{"lu", func(p *program) { p.lu(p.matrix("A", 32), p.matrix("L", 32), p.matrix("U", 32), p.matrix("P", 32)) }, 33264, 0},
	} {
		p := newProgram(1)
		p.begin(context.Background(), nowhere(t))
		c.submit(p)
		if p.err != nil || p.tasks != c.tasks || c.flops > 0 && (p.flops < c.flops-1e-6 || p.flops > c.flops+1e-6) {
			t.Errorf("%s: %d tasks of %g flops, want %d and %g: %v", c.name, p.tasks, p.flops, c.tasks, c.flops, p.err)
		}
	}
}

// TestMake: figures have points and say what the papers do; all of them can be made in the long run.
func TestMake(t *testing.T) {
	quick := map[string]bool{"pycompss-15": true, "daphne-10": true}
	for _, f := range All() {
		if testing.Short() && !quick[f.Name] {
			continue
		}
		r, err := f.Make(context.Background())
		if err != nil {
			t.Error(err)
			continue
		}
		var b bytes.Buffer
		if err := r.WriteCSV(&b); err != nil || strings.Count(b.String(), "simulated") < 2 {
			t.Errorf("%s: %v\n%s", f.Name, err, &b)
		}
		if len(r.Claims) == 0 || len(r.Notes) == 0 {
			t.Errorf("%s: %d claims and %d notes", f.Name, len(r.Claims), len(r.Notes))
		}
		for _, s := range r.Chart.Series {
			for _, p := range s.Points {
				if !(p.Y > 0) {
					t.Errorf("%s, %s: %g at %g", f.Name, s.Name, p.Y, p.X)
				}
			}
		}
	}
}
