package blocked_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/versions"
)

// goVersions returns a table in which every op has version "go" only, so that two
// algorithms compute the same bits.
func goVersions() *kernels.Table {
	table := builtin.NewTable()
	for _, op := range table.All() {
		op.Versions = slices.DeleteFunc(op.Versions, func(v versions.Version) bool { return v.Name != "go" })
	}
	return table
}

func testPotrfPanels[T blocked.Element](t *testing.T, rt *exec.Local) {
	ops := kernels.For[T](goVersions())
	factor := func(f func(p *blocked.Program[T]) error) error {
		job := rt.NewJob(t.Context())
		return errors.Join(f(blocked.NewProgram(job, ops)), job.Wait())
	}
	for _, kind := range factorKinds {
		for _, nb := range []int{1, 3, 7} {
			for _, n := range []int{0, 1, nb, nb + 1, 2*nb - 1, 4*nb + 2} {
				want := generated[T](t, matgen.Spec{Kind: matgen.SPDCond, N: n}, triangleOf(kind))
				eager, lazy := copyOf(want), copyOf(want)
				if err := errors.Join(
					factor(func(p *blocked.Program[T]) error { return p.Potrf(viewKind(want, kind, nb)) }),
					factor(func(p *blocked.Program[T]) error {
						return p.PotrfPanels(viewKind(eager, kind, nb), blocked.PanelOptions{})
					}),
					factor(func(p *blocked.Program[T]) error {
						return p.PotrfPanels(viewKind(lazy, kind, nb), blocked.PanelOptions{Lazy: true})
					}),
				); err != nil {
					t.Fatal(err)
				}
				for _, got := range []blocked.General[T]{eager, lazy} {
					if !slices.EqualFunc(got.Data, want.Data, same[T]) {
						t.Fatalf("%v, n %d, nb %d: not the factor of Potrf", kind, n, nb)
					}
				}
			}
		}
	}
}

// TestPotrfPanels: bit by bit the factor of Potrf, and nothing else is touched.
func TestPotrfPanels(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true, Window: 5}} {
		rt := startLocal(t, opt)
		testPotrfPanels[float64](t, rt)
		testPotrfPanels[float32](t, rt)
	}
	rt := startLocal(t, exec.Options{Workers: 1})
	compute(t, rt, func(p *blocked.Program[float64]) error {
		if v := recovered(func() { p.PotrfPanels(blocked.New[float64](blocked.Full, 3, 4, 2), blocked.PanelOptions{}) }); v != blocked.ErrShape {
			t.Errorf("panic %v", v)
		}
		return nil
	})
}

// TestPotrfPanelsMinor lets every minor fail.
func TestPotrfPanelsMinor(t *testing.T) {
	rt := startLocal(t, exec.Options{Workers: 3, Float: true})
	const n, nb = 11, 3
	for _, kind := range factorKinds {
		for minor := 1; minor <= n; minor++ {
			g := generated[float64](t, matgen.Spec{Kind: matgen.Indefinite, N: n, Minor: minor}, triangleOf(kind))
			_, err := compute(t, rt, func(p *blocked.Program[float64]) error {
				return p.PotrfPanels(viewKind(g, kind, nb), blocked.PanelOptions{})
			})
			var npd *kernels.NotPositiveDefiniteError
			if !errors.As(err, &npd) || npd.Minor != minor {
				t.Errorf("%v: %v, want minor %d", kind, err, minor)
			}
		}
	}
}

// TestPotrfPanelsHandOn: an update runs before the panel that it needs a tile of
// has ended, unless all is handed on at the end.
func TestPotrfPanelsHandOn(t *testing.T) {
	const n, nb = 16, 4
	for _, lazy := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		updated := make(chan bool, 100)
		table := goVersions()
		ops := kernels.For[float64](table)
		syrk, panel := ops.Syrk.Version("go").Run, ops.Potrfp.Version("go").Run
		table.Add(ops.Syrk, versions.Version{Name: "watched", Run: func(c *versions.Call) error {
			defer func() { updated <- true }()
			return syrk(c)
		}})
		early := 0
		table.Add(ops.Potrfp, versions.Version{Name: "watched", Run: func(c *versions.Call) error {
			err := panel(c) // all is done and handed on, or not; but the task has not ended
			if err != nil || len(c.Args) < n/nb {
				return err
			}
			if lazy {
				early = len(updated)
				return nil
			}
			for range len(c.Args) - 1 { // each tile lets a syrk run
				select {
				case <-updated:
					early++
				case <-ctx.Done():
				}
			}
			return nil
		}})
		rt := startLocal(t, exec.Options{Workers: 2, Float: true})
		a := blocked.New[float64](blocked.SymLower, n, n, nb)
		a.CopyFrom(spd(n), blocked.CopyOptions{})
		job := rt.NewJob(ctx)
		if err := errors.Join(blocked.NewProgram(job, ops).PotrfPanels(a, blocked.PanelOptions{Lazy: lazy}), job.Wait()); err != nil {
			t.Fatal(err)
		}
		if want := n/nb - 1; lazy && early != 0 || !lazy && early != want {
			t.Errorf("lazy %v: %d updates before the end of the first panel", lazy, early)
		}
	}
}

// BenchmarkPotrfPanels compares, in turns, Potrf, panels that hand on their tiles
// at the end, and panels as they are: the best time of the first, and the best of
// the two others as parts of it.
func BenchmarkPotrfPanels(b *testing.B) {
	for _, size := range [][2]int{{512, 64}, {1024, 64}, {1024, 128}, {2048, 128}, {2048, 256}, {4096, 256}} {
		n, nb := size[0], size[1]
		b.Run(fmt.Sprintf("n=%d/nb=%d", n, nb), func(b *testing.B) {
			g := spd(n)
			a := blocked.New[float64](blocked.SymUpper, n, n, nb)
			rt := startLocal(b, exec.Options{})
			ops := kernels.For[float64](builtin.NewTable())
			best := [3]time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
			for b.Loop() {
				for way := range best {
					a.CopyFrom(g, blocked.CopyOptions{})
					start := time.Now()
					job := rt.NewJob(b.Context())
					p := blocked.NewProgram(job, ops)
					var err error
					if way == 0 {
						err = p.Potrf(a)
					} else {
						err = p.PotrfPanels(a, blocked.PanelOptions{Lazy: way == 1})
					}
					if err := errors.Join(err, job.Wait()); err != nil {
						b.Fatal(err)
					}
					best[way] = min(best[way], time.Since(start))
				}
			}
			b.ReportMetric(best[0].Seconds()*1000, "ms-tiles")
			b.ReportMetric(float64(best[1])/float64(best[0]), "lazy")
			b.ReportMetric(float64(best[2])/float64(best[0]), "eager")
		})
	}
}
