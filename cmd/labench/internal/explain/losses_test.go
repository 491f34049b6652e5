package explain

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/report"
)

const ms = time.Millisecond

// measured is a side whose tasks ran one after the other on each worker: two
// potrf with gemm between them, so long and with such pauses that every kind of
// loss can be foreseen.
func measured(workers int, took time.Duration, peak float64, tasks ...trace.Event) side {
	r := bench.Result{Op: "cholesky", Type: "f64", M: 4096, N: 4096, NB: 512, Workers: workers, Sched: "priority", Passed: true,
		PeakGFLOPS: peak, GFLOPSBest: 22.9 / took.Seconds(), Times: []time.Duration{took, took + took/10}}
	if peak > 0 {
		r.PeakFraction = r.GFLOPSBest / peak
	}
	recording := &trace.Recording{Workers: workers, Events: tasks, Edges: []trace.Edge{{Job: 1, From: 1, To: 2}, {Job: 1, From: 1, To: 3}}}
	return side{workers, r, recording, took, recording.CriticalPath()}
}

// ran is a task that was ready from its start on.
func ran(id uint64, op string, worker, start, end int) trace.Event {
	at := func(t int) time.Duration { return time.Duration(t) * ms }
	return trace.Event{Job: 1, Task: id, Op: op, Version: "go", Worker: worker, Submitted: at(10), Ready: at(start), Start: at(start), End: at(end)}
}

// example is a measurement with 1 worker and with 2.
func example() (one, all side) {
	one = measured(1, 340*ms, 100, ran(1, "potrf/f64", 0, 20, 120), ran(2, "gemm/f64", 0, 120, 220), ran(3, "gemm/f64", 0, 220, 320))
	all = measured(2, 270*ms, 180, ran(1, "potrf/f64", 0, 20, 120), ran(2, "gemm/f64", 0, 120, 240), ran(3, "gemm/f64", 1, 125, 255))
	return one, all
}

func TestAccount(t *testing.T) {
	x := newAccount(example())
	want := map[lossKind]time.Duration{
		lossCores:   33333333,               // of the 300 ms of one worker, as 2·100/180 says …
		lossMemory:  50*ms - 33333333,       // … of 20 and 30 that the products take longer
		lossWaiting: 105 * ms,               // worker 1, for the first task
		lossNoTask:  15 * ms,                // worker 0, at the end
		lossOutside: 2*(270-235)*ms - 40*ms, // 70 of two, and 40 of one
	}
	for i, l := range x.losses {
		if l.time != want[l.kind] {
			t.Errorf("%v: %v, want %v", l.kind, l.time, want[l.kind])
		}
		if i > 0 && l.time > x.losses[i-1].time {
			t.Errorf("%v stands behind %v", l.kind, x.losses[i-1].kind)
		}
	}
	// The path is that of one worker, whose tasks took the least time: 230 ms with two.
	if x.lost() != 200*ms || x.time != 540*ms || x.path.Length != 200*ms || x.worst().op != "gemm/f64" {
		t.Errorf("lost %v of %v, path %v, worst %+v", x.lost(), x.time, x.path.Length, x.worst())
	}
}

// The losses add up to the whole, whatever was measured.
func TestAccountAddsUp(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		side := func(workers int) side {
			var tasks []trace.Event
			end := 0
			for w := range workers {
				for at, i := 10+r.IntN(9), 0; i < 1+r.IntN(9); i++ {
					begin := at + r.IntN(5)
					at = begin + 1 + r.IntN(20)
					tasks = append(tasks, ran(uint64(len(tasks)+1), []string{"a", "b", "c"}[r.IntN(3)], w, begin, at))
					tasks[len(tasks)-1].Ready -= time.Duration(r.IntN(10)) * ms
					end = max(end, at)
				}
			}
			s := measured(workers, time.Duration(end+r.IntN(9))*ms, 50*float64(workers)*(1-0.2*r.Float64()), tasks...)
			s.recording.Pauses = []trace.Pause{{Job: 1, Start: 12 * ms, End: 20 * ms}}
			return s
		}
		x := newAccount(side(1), side(1+r.IntN(4)))
		want := x.time - x.one.took
		if d := x.lost() - want; d < -time.Microsecond || d > time.Microsecond { // means are rounded
			t.Errorf("seed %d: losses of %v, want %v: %v", seed, x.lost(), want, x.losses)
		}
		labtest.Narrow(t, "explain", x.text(bench.Spec{Problem: bench.Problem{Op: "cholesky"}}.WithDefaults(), report.Paint{}))
	}
}

func TestWhyReport(t *testing.T) {
	s := bench.Spec{Problem: bench.Problem{Op: "cholesky", N: 4096, Seed: 1}}.WithDefaults()
	one, all := example()
	var text strings.Builder
	show := func(name string, one, all side) {
		text.WriteString("== " + name + "\n")
		for line := range strings.Lines(newAccount(one, all).text(s, report.Paint{})) {
			if !strings.HasPrefix(line, "machine") { // the one that the test runs on
				text.WriteString(line)
			}
		}
	}
	show("every kind", one, all)

	// Twice as fast, and with the peak unknown.
	perfect := measured(2, 170*ms, 0, ran(1, "potrf/f64", 0, 20, 70), ran(2, "gemm/f64", 0, 70, 170), ran(3, "gemm/f64", 1, 20, 120), ran(4, "potrf/f64", 1, 120, 170))
	single := measured(1, 360*ms, 0, ran(1, "potrf/f64", 0, 20, 70), ran(2, "gemm/f64", 0, 70, 180), ran(3, "gemm/f64", 0, 180, 290), ran(4, "potrf/f64", 0, 290, 340))
	show("nothing lost", single, perfect)

	// Short tasks of other kinds than with one worker, in an unsteady run.
	other := measured(2, 300*ms, 0, ran(1, "potrf/f64", 0, 20, 120), ran(2, "syrk/f64", 1, 130, 240), ran(3, "gemm/f64", 1, 240, 290))
	for i := range other.recording.Events {
		other.recording.Events[i].Ready = 15 * ms
	}
	other.recording.Edges = nil
	other.path = other.recording.CriticalPath()
	other.recording.Pauses = []trace.Pause{{Job: 1, Start: 130 * ms, End: 280 * ms}}
	other.result.Times = append(other.result.Times, 400*ms)
	show("other tasks", one, other)
	labtest.Narrow(t, "explain", text.String())
	labtest.Golden(t, "explain", text.String())
}

// TestExplainPath: the bound is that of the run whose tasks took the least time, whichever was the
// fastest.
func TestExplainPath(t *testing.T) {
	var s side
	for _, work := range []time.Duration{9 * ms, 7 * ms, 8 * ms} {
		s.note(trace.CriticalPath{Length: work / 2, Work: work})
	}
	if s.path.Work != 7*ms {
		t.Errorf("the path is of %v", s.path.Work)
	}
	one, all := example()
	all.path = trace.CriticalPath{Length: 250 * ms, Work: 900 * ms} // others ran
	if x := newAccount(one, all); x.path.Bound() != 1.5 {
		t.Errorf("the bound is %v, want that of one worker", x.path.Bound())
	}
	one.recording.Events = append(one.recording.Events, ran(4, "syrk/f64", 0, 320, 321)) // other tasks than with two
	if x := newAccount(one, all); x.path.Work != 900*ms {
		t.Errorf("the path is of %v, though the tasks are others", x.path.Work)
	}
}

// TestExplainTiles: whatever is lost, larger and smaller tiles are not both advised, and what lessens
// more is.
func TestExplainTiles(t *testing.T) {
	larger, smaller := regexp.MustCompile(`(?i)larger tiles`), regexp.MustCompile(`(?i)smaller (tiles|ones)`)
	one, all := example()
	both := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		x := newAccount(one, all)
		for i := range x.ops {
			x.ops[i].busy[1] = time.Duration(r.IntN(2)+1) * 40 * time.Microsecond * time.Duration(x.ops[i].calls[1])
		}
		x.time = time.Second
		y := &NodesAccount{result: bench.Result{Times: []time.Duration{ms}, Cluster: &bench.Cluster{Path: r.Float64() * 1e-3}}, took: ms, busiest: &bench.Node{Name: "a", Workers: 1}}
		x.losses, y.losses, y.time = nil, nil, time.Second
		for k := lossKind(0); k < lossKinds; k++ {
			x.losses = append(x.losses, loss{k, time.Duration(r.IntN(200)) * ms})
		}
		for _, k := range []lossKind{lossOperands, lossUneven, lossIdle} {
			y.losses = append(y.losses, loss{k, time.Duration(r.IntN(200)) * ms})
		}
		x.sort()
		y.sort()
		for _, account := range []struct {
			verdict []string
			tiles   int
		}{{x.verdict(), x.tiles(x.wants)}, {y.verdict(), y.tiles(y.wants)}} {
			text := strings.Join(account.verdict, "\n")
			l, s := larger.MatchString(text), smaller.MatchString(text)
			if l != (account.tiles > 0) || s != (account.tiles < 0) {
				t.Fatalf("seed %d: larger %v, smaller %v, want %d:\n%s", seed, l, s, account.tiles, text)
			}
			if l || s {
				both++
			}
		}
	}
	if both < 300 {
		t.Errorf("%d advices", both)
	}
}
