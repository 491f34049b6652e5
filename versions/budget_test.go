package versions_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/versions"
)

// simulation runs factorizations in virtual time on one worker, where a version
// takes as long as speed says.
type simulation struct {
	s     *versions.Selector
	ops   map[string]*versions.Op
	speed map[string][]float64 // per op, flop/s of its versions
}

func newSimulation(t *testing.T, names ...string) *simulation {
	m := &simulation{s: newSelector(t, versions.Config{}), ops: map[string]*versions.Op{}, speed: map[string][]float64{}}
	for _, name := range []string{"potrf", "trsm", "syrk", "gemm"} {
		m.ops[name] = opOf(name, names...)
	}
	return m
}

// cholesky factors a matrix of order n in tiles of nb×nb. It returns the time, and
// what it is with the first versions alone.
func (m *simulation) cholesky(t *testing.T, n, nb int) (took, first float64) {
	on := cpu()
	budget := &versions.Budget{Elapsed: func() float64 { return took }}
	task := func(op string, flops float64) {
		c, err := m.s.Select(m.ops[op], &versions.Call{Params: flops, Budget: budget}, on)
		if err != nil {
			t.Fatal(err)
		}
		seconds := flops / m.speed[op][c.Index]
		m.s.Record(c, seconds)
		took += seconds
		first += flops / m.speed[op][0]
	}
	size := func(i int) float64 { return float64(min(nb, n-i*nb)) }
	tiles := (n + nb - 1) / nb
	for k := range tiles {
		b := size(k)
		task("potrf", b*b*b/3)
		for i := k + 1; i < tiles; i++ {
			task("trsm", size(i)*b*b)
		}
		for i := k + 1; i < tiles; i++ {
			task("syrk", size(i)*size(i)*b)
			for j := k + 1; j < i; j++ {
				task("gemm", 2*size(i)*size(j)*b)
			}
		}
	}
	return took, first
}

// TestExploringIsNotFelt draws speeds of versions and sequences of calls, and
// checks that none takes more than a third longer than with the first versions in
// the order of preference.
func TestExploringIsNotFelt(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := newSimulation(t, "first", "second", "third", "portable")
		second, third, portable := 0.5+9.5*rnd.Float64(), 0.5+19.5*rnd.Float64(), 5+40*rnd.Float64()
		for op := range sorted.Map(m.ops) {
			f := func(ratio float64) float64 { return 80e9 / ratio * (0.8 + 0.4*rnd.Float64()) }
			m.speed[op] = []float64{f(1), f(second), f(third), f(portable)}
		}
		for call := range 40 {
			n := 100 + rnd.IntN(2400)
			took, first := m.cholesky(t, n, []int{96, 128, 192, 256}[rnd.IntN(4)])
			if took > first*4/3 {
				t.Errorf("seed %d, call %d of order %d: %.3g s, %.3g s with the first versions; ratios %.2g, %.2g, %.2g", seed, call, n, took, first, second, third, portable)
			}
		}
	}
}

// TestExploringFindsTheFastest has each version be the fastest by a tenth; it is
// found within calls of ordinary size, and what the others cost is little.
func TestExploringFindsTheFastest(t *testing.T) {
	names := []string{"a", "b", "c", "portable"}
	for fastest := range 3 {
		m := newSimulation(t, names...)
		for op := range m.ops {
			m.speed[op] = []float64{50e9, 50e9, 50e9, 3e9}
			m.speed[op][fastest] = 56e9
		}
		var took, all, lost float64
		calls := 0
		for range 20 {
			var first float64
			took, first = m.cholesky(t, 2500, 192)
			all += took
			lost += max(0, took-first)
			if calls++; took < first*50/55 {
				break
			}
		}
		for name, flops := range map[string]float64{"potrf": 192 * 192 * 192 / 3, "trsm": 192 * 192 * 192, "syrk": 192 * 192 * 192, "gemm": 2 * 192 * 192 * 192} {
			if c := choose(t, m.s, m.ops[name], flops, cpu()); c.Index != fastest {
				t.Errorf("%s: after %d calls %s runs, not %s\n%v", name, calls, c.Version.Name, names[fastest], m.s.Explain(m.ops[name], callOf(flops), cpu()))
			}
		}
		if lost > all/12 {
			t.Errorf("%s: %.3g of %.3g s lost", names[fastest], lost, all)
		}
	}
}

// TestExplainUntried checks that an explanation says what is still unknown.
func TestExplainUntried(t *testing.T) {
	op, on := opOf("gemm", "avx512", "avx2", "go"), cpu()
	s := newSelector(t, versions.Config{})
	run(t, s, op, on, 1e6, 10, map[string]float64{"avx512": 1e-9})
	elapsed := 0.04
	budget := &versions.Budget{Elapsed: func() float64 { return elapsed }}
	want := `gemm/f64 on cpu amd64, Test Processor
work 1e+06, size class 9 (from 2.62e+05 to below 1.05e+06)
  version            runs  seconds per unit, mean ± sd    expected
> avx512                9  1e-09 ± 0                      1 ms
  avx2                  0  not tried yet                  4 ms?
  go                    0  not tried yet                  16 ms?
chosen: avx512, lowest expected time
`
	if got := s.Explain(op, callOf(1e6), on).String(); got != want {
		t.Errorf("got:\n%s", got)
	}
	// A call that can spare the 3 ms tries avx2, and only one at a time.
	call := &versions.Call{Params: 1e6, Budget: budget}
	next := func(want string) versions.Choice {
		t.Helper()
		e := s.Explain(op, call, on)
		c, err := s.Select(op, call, on)
		if err != nil || c.Version.Name != want || e.Chosen != want || e.Why != c.Why {
			t.Fatalf("chose %+v, want %s\n%v", c, want, e)
		}
		return c
	}
	slow := next("avx2")
	next("avx512")
	// It takes 20 ms, and the budget has to recover before go may take 16.
	s.Record(slow, 20e-3)
	elapsed = 0.24
	next("avx512")
	elapsed = 0.5
	next("go")
}

// TestThinCalls has thin calls, which take five times as long for the same work, and
// others in turns: they must not be taken for the slowness of a version.
func TestThinCalls(t *testing.T) {
	op, on := opOf("gemm", "fast", "slow"), cpu()
	type shape struct {
		work float64
		thin bool
	}
	op.Work = func(c *versions.Call) float64 { return c.Params.(shape).work }
	op.Thin = func(c *versions.Call) bool { return c.Params.(shape).thin }
	s := newSelector(t, versions.Config{Mode: versions.Thorough})
	for i := range 100 {
		call := &versions.Call{Params: shape{1e6, i%2 == 0}}
		c, err := s.Select(op, call, on)
		if err != nil {
			t.Fatal(err)
		}
		seconds := []float64{1e-3, 2e-3}[c.Index]
		if i%2 == 0 {
			seconds *= 5
		}
		s.Record(c, seconds)
	}
	for _, thin := range []bool{false, true} {
		if e := s.Explain(op, &versions.Call{Params: shape{1e6, thin}}, on); e.Chosen != "fast" || strings.Contains(e.String(), "thin") != thin {
			t.Errorf("thin %v:\n%v", thin, e)
		}
	}
}
