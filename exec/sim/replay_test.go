package sim_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// TestReplay: a run in virtual time, replayed under its own policy with its own workers, takes as
// long as it did, to the nanoseconds that recordings are rounded to; faster tasks take so much
// less; and under every policy and with other workers the bounds of the graph hold.
func TestReplay(t *testing.T) {
	for seed := range uint64(4) {
		p := random(seed, 150, 10)
		all, path := p.bounds()
		for _, policy := range dispatch.Kinds() {
			rt, err := sim.New(sim.Options{Machine: machine(1, 3), Policy: policy, Record: true})
			if err != nil {
				t.Fatal(err)
			}
			p.run(t, rt)
			taped, err := sim.NewProgram(rt.Recording())
			if err != nil {
				t.Fatal(err)
			}
			if err := taped.Validate(); err != nil {
				t.Fatal(err)
			}
			want := rt.Prediction().Seconds
			m := taped.Measured()
			if m.Tasks != 150 || math.Abs(m.Seconds-want) > 1e-6 || math.Abs(m.Busy-all) > 1e-6 || m.Costs != (sim.Costs{}) {
				t.Errorf("seed %d, %v: %+v, want %g s and %g s", seed, policy, m, want, all)
			}
			if length, steps, err := taped.CriticalPath(t.Context()); err != nil || math.Abs(length-path) > 1e-6 || steps < 1 {
				t.Errorf("seed %d, %v: a path of %g s in %d tasks, want %g s: %v", seed, policy, length, steps, path, err)
			}
			replay := func(workers int, speed float64) float64 {
				x, _, err := taped.Replay(t.Context(), sim.Options{Machine: taped.Machine(workers), Policy: policy}, speed)
				if err != nil {
					t.Fatal(err)
				}
				if x.Tasks != 150 || math.Abs(x.Sum().Busy*speed-all) > 1e-6 {
					t.Errorf("seed %d, %v: %d tasks of %g s", seed, policy, x.Tasks, x.Sum().Busy)
				}
				return x.Seconds
			}
			// Expected times, by which one policy decides, are means of tasks that are alike.
			if got := replay(3, 1); policy != dispatch.EarliestFinish && math.Abs(got-want) > 1e-6 {
				t.Errorf("seed %d, %v: %g s, recorded %g s", seed, policy, got, want)
			}
			if got := replay(3, 2); policy != dispatch.EarliestFinish && math.Abs(2*got-want) > 1e-6 {
				t.Errorf("seed %d, %v: twice as fast %g s, recorded %g s", seed, policy, got, want)
			}
			if got := replay(1, 1); math.Abs(got-all) > 1e-6 {
				t.Errorf("seed %d, %v: one worker takes %g s, want %g s", seed, policy, got, all)
			}
			if got := replay(150, 1); got < path-1e-6 || policy != dispatch.EarliestFinish && got > path+1e-6 {
				t.Errorf("seed %d, %v: as many workers as tasks take %g s, want %g s", seed, policy, got, path)
			}
		}
	}
}

// TestReplayNodes: on several nodes under every policy all tasks are executed, and the bounds of
// the graph hold. What is between nodes takes time, less of it over faster links, and it takes the
// same time every time.
func TestReplayNodes(t *testing.T) {
	p := random(1, 150, 10)
	all, path := p.bounds()
	rt, err := sim.New(sim.Options{Machine: machine(1, 3), Record: true})
	if err != nil {
		t.Fatal(err)
	}
	p.run(t, rt)
	taped, err := sim.NewProgram(rt.Recording())
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range dispatch.Kinds() {
		replay := func(network sim.Network) *sim.Prediction {
			m := taped.Machine(2)
			m.Nodes[0].Count, m.Network = 3, network
			x, r, err := taped.Replay(t.Context(), sim.Options{Machine: m, Nodes: cluster.Options{Policy: policy, ByPriority: policy == dispatch.Priority}, Record: true}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if x.Tasks != 150 || len(x.Nodes) != 3 || len(r.Events) != 150 || math.Abs(x.Sum().Busy-all) > 1e-6 || x.Seconds < max(path, all/6)-1e-6 {
				t.Errorf("%v: %d tasks of %g s in %g s, want 150 of %g s in at least %g", policy, x.Tasks, x.Sum().Busy, x.Seconds, all, max(path, all/6))
			}
			return x
		}
		slow := sim.Network{Latency: 0.001, Bandwidth: 1e4}
		x, again, fast := replay(slow), replay(slow), replay(sim.Network{Bandwidth: 1e12})
		if x.Seconds != again.Seconds || x.Moved != again.Moved || x.Moved == 0 {
			t.Errorf("%v: %g s and %d bytes, then %g and %d", policy, x.Seconds, x.Moved, again.Seconds, again.Moved)
		}
		if fast.Seconds >= x.Seconds {
			t.Errorf("%v: fast links take %g s, slow ones %g", policy, fast.Seconds, x.Seconds)
		}
	}
}

// TestReplayLive: what a runtime with workers has recorded is the program that was submitted,
// with every mode; jobs that follow one another are jobs, and those at once become one.
func TestReplayLive(t *testing.T) {
	r := trace.Recorder{Dependencies: true, Graphs: true}
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Recorder: &r})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	nothing := &versions.Op{Name: "nothing", Type: "f64", Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error { return nil }}}}
	sum := &graph.Datum{Name: "sum", Bytes: 8}
	sum.SetReduction(graph.Reduction{New: func() any { return new(int) }, Combine: func(any, any) {}})
	fresh := &graph.Datum{Name: "fresh", Bytes: 16, Value: new(int)}
	fresh.SetRenaming(func() any { return new(int) })
	plain := &graph.Datum{Name: "plain", Key: graph.Key{Matrix: 7, I: 1, J: 2}, Owner: 3, Bytes: 24}
	var jobs []exec.Job
	submit := func(priority int64, operands ...graph.Operand) {
		if _, err := jobs[len(jobs)-1].Submit(&graph.Spec{Op: nothing, Priority: priority, Operands: operands}); err != nil {
			t.Fatal(err)
		}
	}
	jobs = append(jobs, rt.NewJob(context.Background()))
	submit(5, graph.Operand{Datum: plain, Mode: graph.Out}, graph.Operand{Datum: fresh, Mode: graph.Out})
	submit(-5, graph.Operand{Datum: plain, Mode: graph.In}, graph.Operand{Datum: sum, Mode: graph.Reduce})
	submit(0, graph.Operand{Datum: plain, Mode: graph.Commute})
	submit(0, graph.Operand{Datum: fresh, Mode: graph.Out}, graph.Operand{Datum: sum, Mode: graph.InOut})
	submit(0)
	if err := jobs[0].Wait(); err != nil {
		t.Fatal(err)
	}
	one := &graph.Datum{Bytes: 1}
	for range 2 { // the second begins before the first ends
		jobs = append(jobs, rt.NewJob(context.Background()))
		submit(0, graph.Operand{Datum: one, Mode: graph.In})
		one = &graph.Datum{Bytes: 1}
	}
	for _, j := range jobs[1:] {
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	rec := r.Recording()
	p, err := sim.NewProgram(rec)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Ops) != 1 || p.Ops[0] != "nothing/f64" || len(p.Jobs) < 2 || len(p.Jobs[0]) != 5 || len(p.Data) != 5 {
		t.Fatalf("%+v", p)
	}
	modes := [][]int{{2, 2}, {1, 11}, {7}, {2, 3}, nil}
	for i, x := range p.Jobs[0] {
		for k, m := range modes[i] {
			if len(x.Modes) != len(modes[i]) || x.Modes[k] != m {
				t.Errorf("task %d: modes %v, want %v", i, x.Modes, modes[i])
			}
		}
	}
	first := p.Jobs[0][0].Data
	if d := p.Data[first[0]]; d != (graph.ProgramDatum{Name: "plain", Key: graph.Key{Matrix: 7, I: 1, J: 2}, Owner: 3, Bytes: 24}) || !p.Data[first[1]].Renamed || p.Jobs[0][0].Priority != 5 || p.Jobs[0][1].Priority != -5 {
		t.Errorf("%+v", p)
	}
	for _, policy := range dispatch.Kinds() {
		x, made, err := p.Replay(t.Context(), sim.Options{Machine: p.Machine(2), Policy: policy, Record: true}, 1)
		if err != nil || x.Tasks != 7 || len(made.Events) != 7 {
			t.Errorf("%v: %+v, %v", policy, x, err)
		}
	}
	// As of jobs that overlap for certain.
	for i := range rec.Events {
		rec.Events[i].End += time.Hour
	}
	if p, err = sim.NewProgram(rec); err != nil || len(p.Jobs) != 1 || len(p.Jobs[0]) != 7 {
		t.Errorf("jobs at once: %+v, %v", p, err)
	}
	rec.Events[0].Failed = true
	var bad *sim.ProgramError
	if _, err := sim.NewProgram(rec); !errors.As(err, &bad) || !strings.Contains(err.Error(), "has not ended well") {
		t.Errorf("a task that failed: %v", err)
	}
	if _, err := sim.NewProgram(&trace.Recording{}); !errors.As(err, &bad) {
		t.Errorf("nothing: %v", err)
	}
}

// TestReplayEnds: a context that is over ends a replay, and what makes no sense is refused.
func TestReplayEnds(t *testing.T) {
	p := &sim.Program{Ops: []string{"x"}, Data: []graph.ProgramDatum{{Bytes: 1}}, Jobs: [][]sim.ProgramTask{{{Data: []int{0}, Modes: []int{3}, Took: 1}}}}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, _, err := p.Replay(ctx, sim.Options{Machine: p.Machine(1)}, 1); !errors.Is(err, why) {
		t.Errorf("a context that is over: %v", err)
	}
	var bad *sim.ProgramError
	for _, speed := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, _, err := p.Replay(t.Context(), sim.Options{Machine: p.Machine(1)}, speed); !errors.As(err, &bad) {
			t.Errorf("speed %g: %v", speed, err)
		}
	}
	var none *sim.MachineError
	if _, _, err := p.Replay(t.Context(), sim.Options{Machine: p.Machine(0)}, 1); !errors.As(err, &none) {
		t.Errorf("no workers: %v", err)
	}
	p.Jobs[0][0].Modes[0] = 4
	if _, _, err := p.Replay(t.Context(), sim.Options{Machine: p.Machine(1)}, 1); !errors.As(err, &bad) {
		t.Errorf("mode 4: %v", err)
	}
}
