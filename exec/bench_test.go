package exec_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// empty is an op that does nothing.
func empty(name string) *versions.Op {
	return &versions.Op{Name: name, Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error { return nil }}}}
}

// choleskyOps are the ops of a Cholesky factorization, all of them empty.
type choleskyOps struct{ potrf, trsm, syrk, gemm *versions.Op }

func newCholeskyOps() choleskyOps {
	return choleskyOps{empty("potrf"), empty("trsm"), empty("syrk"), empty("gemm")}
}

// submit submits the tasks of a Cholesky factorization of mt×mt tiles and
// returns their number.
func (c choleskyOps) submit(tb testing.TB, job exec.Job, mt int) int {
	tiles := make([]graph.Datum, mt*mt)
	a := func(i, j int) *graph.Datum { return &tiles[i*mt+j] }
	n := 0
	var s graph.Spec
	var ops [3]graph.Operand
	submit := func(op *versions.Op, priority int, o ...graph.Operand) {
		s.Op, s.Priority = op, int64(priority)
		s.Operands = ops[:copy(ops[:], o)]
		if _, err := job.Submit(&s); err != nil {
			tb.Fatal(err)
		}
		n++
	}
	for k := range mt {
		submit(c.potrf, 3*(mt-k), graph.Operand{Datum: a(k, k), Mode: graph.InOut})
		for i := k + 1; i < mt; i++ {
			submit(c.trsm, 2*(mt-i), graph.Operand{Datum: a(k, k), Mode: graph.In}, graph.Operand{Datum: a(i, k), Mode: graph.InOut})
		}
		for i := k + 1; i < mt; i++ {
			submit(c.syrk, mt-i, graph.Operand{Datum: a(i, k), Mode: graph.In}, graph.Operand{Datum: a(i, i), Mode: graph.InOut})
			for j := k + 1; j < i; j++ {
				submit(c.gemm, mt-i, graph.Operand{Datum: a(i, k), Mode: graph.In}, graph.Operand{Datum: a(j, k), Mode: graph.In},
					graph.Operand{Datum: a(i, j), Mode: graph.InOut})
			}
		}
	}
	return n
}

// BenchmarkCholeskyEmpty is the cost of a task all in — submission, inference,
// scheduling, execution — on the graph of a Cholesky factorization whose tasks
// do nothing: 64×64 tiles are 45,760 tasks.
func BenchmarkCholeskyEmpty(b *testing.B) {
	for _, kind := range dispatch.Kinds() {
		for _, mt := range []int{17, 64, 180} { // 969, 45,760 and 988,260 tasks
			b.Run(fmt.Sprintf("sched=%v/tiles=%d", kind, mt), func(b *testing.B) {
				rt, err := exec.NewLocal(exec.Options{Workers: 2, Policy: kind})
				if err != nil {
					b.Fatal(err)
				}
				defer rt.Close()
				ops := newCholeskyOps()
				b.ReportAllocs()
				tasks, runs := 0, []float64(nil)
				for b.Loop() {
					start := time.Now()
					job := rt.NewJob(context.Background())
					n := ops.submit(b, job, mt)
					if err := job.Wait(); err != nil {
						b.Fatal(err)
					}
					tasks += n
					runs = append(runs, float64(time.Since(start).Nanoseconds())/float64(n))
				}
				slices.Sort(runs) // best and median, as testdata/peers have them
				b.ReportMetric(runs[0], "best-ns/task")
				b.ReportMetric(runs[len(runs)/2], "median-ns/task")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tasks), "ns/task")
			})
		}
	}
}

// BenchmarkRecording is what it costs to record the graph of a Cholesky
// factorization of 32×32 tiles with tasks of 20 µs. Runs with a recorder, which
// notes dependencies, too, and without take turns; the best and the medians are
// compared.
func BenchmarkRecording(b *testing.B) {
	spin := func(name string) *versions.Op {
		return opOf(name, func(*versions.Call) error {
			for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
			}
			return nil
		})
	}
	ops := choleskyOps{spin("potrf"), spin("trsm"), spin("syrk"), spin("gemm")}
	var took [2][]float64
	for b.Loop() {
		for recorded := range took {
			o := exec.Options{Workers: 2}
			if recorded == 1 {
				o.Recorder = &trace.Recorder{Dependencies: true}
			}
			rt, err := exec.NewLocal(o)
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			job := rt.NewJob(context.Background())
			ops.submit(b, job, 32)
			if err := job.Wait(); err != nil {
				b.Fatal(err)
			}
			took[recorded] = append(took[recorded], time.Since(start).Seconds())
			rt.Close()
		}
	}
	for _, x := range took {
		slices.Sort(x)
	}
	b.ReportMetric(100*(took[1][0]/took[0][0]-1), "%more")
	b.ReportMetric(100*(took[1][b.N/2]/took[0][b.N/2]-1), "%more-in-the-median")
}

// BenchmarkIndependentEmpty is the cost of a task that depends on nothing.
func BenchmarkIndependentEmpty(b *testing.B) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Policy: dispatch.FIFO})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	spec := graph.Spec{Op: empty("nothing")}
	job := rt.NewJob(context.Background())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := job.Submit(&spec); err != nil {
			b.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStartClose is the cost of a runtime for one call.
func BenchmarkStartClose(b *testing.B) {
	spec := graph.Spec{Op: empty("nothing")}
	for b.Loop() {
		rt, err := exec.NewLocal(exec.Options{Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		job := rt.NewJob(context.Background())
		if _, err := job.Submit(&spec); err != nil {
			b.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			b.Fatal(err)
		}
		rt.Close()
	}
}
