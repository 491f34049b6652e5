package supernodal

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la/csr/internal/order"
)

// system returns a matrix that dominates its diagonal, and its graph, from the edges of the graph.
func system(n int, edges [][2]int) (*Matrix, *order.Graph) {
	rows := make([][]int, n)
	for i := range rows {
		rows[i] = []int{i}
	}
	for _, e := range edges {
		rows[e[0]], rows[e[1]] = append(rows[e[0]], e[1]), append(rows[e[1]], e[0])
	}
	m, g := &Matrix{Ptr: []int{0}}, &order.Graph{Ptr: []int{0}}
	for i, r := range rows {
		slices.Sort(r)
		r = slices.Compact(r)
		for _, j := range r {
			v := float64(len(r)) + 0.5
			if i != j {
				v = -1 / float64(1+(i+j)%7)
				g.Adj = append(g.Adj, int32(j))
			}
			m.Cols, m.Data = append(m.Cols, j), append(m.Data, v)
		}
		m.Ptr, g.Ptr = append(m.Ptr, len(m.Cols)), append(g.Ptr, len(g.Adj))
	}
	return m, g
}

// patterns returns edges of matrices of all kinds, by their names.
func patterns() map[string][][2]int {
	rnd := rand.New(rand.NewPCG(1, 2))
	all := map[string][][2]int{"none": nil, "diagonal": {{299, 299}}}
	for i := range 400 {
		all["path"] = append(all["path"], [2]int{i, i + 1})
		all["arrow"] = append(all["arrow"], [2]int{0, i + 1})
		if i%5 < 3 {
			all["forest"] = append(all["forest"], [2]int{i, i + 1})
		}
	}
	for i := range 2500 {
		if i%50 < 49 {
			all["grid"] = append(all["grid"], [2]int{i, i + 1})
		}
		all["grid"] = append(all["grid"], [2]int{i, min(i+50, 2499)})
		all["random"] = append(all["random"], [2]int{rnd.IntN(1500), rnd.IntN(1500)})
	}
	// Fronts that contribute more than one band.
	for i := range 700 {
		for j := range i {
			all["bands"] = append(all["bands"], [2]int{i, j})
		}
		for j := range 20 {
			all["bands"] = append(all["bands"], [2]int{i, 700 + j}, [2]int{i, 720 + j})
		}
	}
	return all
}

// factorize computes f by several goroutines, each with a crew of two, or by one.
func factorize(t *testing.T, f *Factor[float64], m *Matrix, together bool) error {
	f.Begin(m, 1)
	var crew cpu.Crew[float64]
	if together {
		crew = func(parts, work int, do func(part, parts int, work []float64)) {
			var wg sync.WaitGroup
			for half := range 2 {
				wg.Go(func() {
					for i := half; i < parts; i += 2 {
						do(i, parts, make([]float64, work))
					}
				})
			}
			wg.Wait()
		}
	}
	done := make([]chan struct{}, len(f.Parts))
	for p := range done {
		done[p] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for p := range f.Parts {
		compute := func() {
			for _, c := range f.Parts[p].Reads {
				<-done[c]
			}
			if err := f.Compute(t.Context(), f.NewWorkspace(), p, 2, crew); err != nil {
				t.Error(err)
			}
			close(done[p])
		}
		if !together {
			compute()
			continue
		}
		wg.Go(compute)
	}
	wg.Wait()
	return f.End()
}

// TestDivision: the factor, and the error, do not depend on the division, nor on which goroutine computes which part.
func TestDivision(t *testing.T) {
	for name, edges := range patterns() {
		n := 0
		for _, e := range edges {
			n = max(n, e[0]+1, e[1]+1)
		}
		m, g := system(n, edges)
		a := Analyze(g, Count(g, order.AMD(g)))
		whole := a.Divide(math.Inf(1))
		if len(whole.Parts) > 1 || whole.Arena != [2]int64{} {
			t.Errorf("%s: %d parts, arenas %v", name, len(whole.Parts), whole.Arena)
		}
		f := NewFactor[float64](a, whole, cpu.Caches{})
		if err := factorize(t, f, m, false); err != nil {
			t.Fatal(name, err)
		}
		want := slices.Clone(f.Panels)
		bad := &Matrix{m.Ptr, m.Cols, slices.Clone(m.Data)}
		for i := range n {
			for e := bad.Ptr[i]; e < bad.Ptr[i+1]; e++ {
				if bad.Cols[e] == i && i%97 == 5 {
					bad.Data[e] = -1
				}
			}
		}
		wrong := factorize(t, f, bad, false)
		for _, grain := range []float64{0, 10, 300, 1e4, 1e6} {
			d := a.Divide(grain)
			sum, seen := 0.0, 0
			for p, part := range d.Parts {
				sum += part.Work
				seen += len(part.Supernodes)
				if !slices.IsSorted(part.Supernodes) || len(part.Reads) > 0 && int(slices.Max(part.Reads)) >= p {
					t.Fatalf("%s, grain %g: part %d is %+v", name, grain, p, part)
				}
			}
			if seen != a.Supernodes() || math.Abs(sum-a.Flops) > 1e-9*a.Flops {
				t.Errorf("%s, grain %g: %d supernodes and work %g in parts, want %d and %g", name, grain, seen, sum, a.Supernodes(), a.Flops)
			}
			f.Divide(d)
			for _, together := range []bool{false, true} {
				if err := factorize(t, f, m, together); err != nil || !slices.Equal(f.Panels, want) {
					t.Errorf("%s, grain %g, together %v: another factor, %v", name, grain, together, err)
				}
				if err := factorize(t, f, bad, together); (err == nil) != (wrong == nil) || err != nil && *err.(*NotPositiveDefiniteError) != *wrong.(*NotPositiveDefiniteError) {
					t.Errorf("%s, grain %g, together %v: %v, want %v", name, grain, together, err, wrong)
				}
			}
		}
	}
}

// TestSolution: the solution has a small residual for any parts, and for the same parts the bits do not depend on which
// goroutine computes which.
func TestSolution(t *testing.T) {
	for name, edges := range patterns() {
		n := 0
		for _, e := range edges {
			n = max(n, e[0]+1, e[1]+1)
		}
		m, g := system(n, edges)
		a := Analyze(g, Count(g, order.AMD(g)))
		f := NewFactor[float64](a, a.Divide(math.Inf(1)), cpu.Caches{})
		if err := factorize(t, f, m, false); err != nil {
			t.Fatal(name, err)
		}
		for _, grain := range []float64{1, 100, 3000, math.Inf(1)} {
			f.Solving, _, _ = a.partition(a.Work, grain)
			for _, nrhs := range []int{1, 3} {
				rnd := rand.New(rand.NewPCG(3, 4))
				b := make([]float64, n*nrhs)
				for k := range b {
					b[k] = rnd.NormFloat64()
				}
				x := slices.Clone(b)
				s := f.NewSolution(x, nrhs)
				d := s.NewDesk()
				for p := range f.Solving {
					s.Forward(p, d)
				}
				for p := len(f.Solving) - 1; p >= 0; p-- {
					s.Backward(p, d)
				}
				for i := range n {
					for j := range nrhs {
						r, scale := b[int(a.Inverse[i])*nrhs+j], 0.0
						for e := m.Ptr[i]; e < m.Ptr[i+1]; e++ {
							v := m.Data[e] * x[int(a.Inverse[m.Cols[e]])*nrhs+j]
							r, scale = r-v, scale+math.Abs(v)
						}
						if !(math.Abs(r) <= 1e-13*(1+scale)) {
							t.Fatalf("%s, grain %g: residual %g in row %d", name, grain, r, i)
						}
					}
				}
				if y := slices.Clone(b); !slices.Equal(together(f, y, nrhs), x) {
					t.Errorf("%s, grain %g, %d right-hand sides: another solution by goroutines", name, grain, nrhs)
				}
			}
		}
	}
}

// together computes the solution with a goroutine for each part, all at once, and returns x.
func together(f *Factor[float64], x []float64, nrhs int) []float64 {
	s := f.NewSolution(x, nrhs)
	forward, backward := make([]chan struct{}, len(f.Solving)), make([]chan struct{}, len(f.Solving))
	for p := range f.Solving {
		forward[p], backward[p] = make(chan struct{}), make(chan struct{})
	}
	var wg sync.WaitGroup
	for k, p := range f.Solving {
		wg.Go(func() {
			for _, c := range p.Reads {
				<-forward[c]
			}
			d := s.NewDesk()
			s.Forward(k, d)
			close(forward[k])
			if p.Into >= 0 {
				<-backward[p.Into]
			}
			s.Backward(k, d)
			close(backward[k])
		})
	}
	wg.Wait()
	return x
}

// TestParts: no part of a grid has much more work than was asked for, unless it is one front.
func TestParts(t *testing.T) {
	_, g := system(2500, patterns()["grid"])
	a := Analyze(g, Count(g, order.AMD(g)))
	for _, share := range []float64{4, 16, 64} {
		grain := a.Flops / share
		d := a.Divide(grain)
		if n := float64(len(d.Parts)); n < share/4 || n > 2*share+1 {
			t.Errorf("%g parts for shares of 1/%g", n, share)
		}
		for p, part := range d.Parts {
			if part.Work > 3*grain && len(part.Supernodes) > 1 {
				t.Errorf("part %d has work %g in %d fronts, asked for %g", p, part.Work, len(part.Supernodes), grain)
			}
		}
	}
}

// TestBands: the rows of a contribution in bands do not overlap and fill the triangle.
func TestBands(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 1024, 1300} {
		c := contribution[float64]{data: make([]float64, bandedSize(n)), n: n}
		next := 0.0
		for i := range n {
			for j := range c.row(i) {
				next++
				c.row(i)[j] = next
			}
		}
		p := contribution[float64]{data: make([]float64, packedSize(n)), n: n, packed: true}
		c.pack(p.data)
		for k, v := range p.data {
			if v != float64(k+1) {
				t.Fatalf("order %d: element %d is %v", n, k, v)
			}
		}
		for i := range n {
			if !slices.Equal(c.row(i), p.row(i)) {
				t.Fatalf("order %d: row %d differs", n, i)
			}
		}
	}
}
