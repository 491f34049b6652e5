package graph

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

type op string

func (o op) OpName() string { return string(o) }

// edges is an Observer that keeps what it sees as lines.
type edges struct{ lines []string }

func (e *edges) Depends(on, task TaskID, kind Dependence, d *Datum, v uint32) {
	e.lines = append(e.lines, fmt.Sprintf("%d -> %d %v %v v%d", on, task, kind, d, v))
}

// tiles returns mt×nt data called name.
func tiles(name string, mt, nt int) [][]*Datum {
	g := make([][]*Datum, mt)
	for i := range g {
		for j := range nt {
			g[i] = append(g[i], &Datum{Name: name, Key: Key{I: int32(i), J: int32(j)}, Bytes: 8})
		}
	}
	return g
}

// cholesky calls add for each task of a right-looking Cholesky factorization.
func cholesky(mt int, add func(Spec)) {
	a := tiles("A", mt, mt)
	for k := range mt {
		add(Spec{Op: op("potrf"), Operands: []Operand{{a[k][k], InOut}}})
		for i := k + 1; i < mt; i++ {
			add(Spec{Op: op("trsm"), Operands: []Operand{{a[k][k], In}, {a[i][k], InOut}}})
		}
		for i := k + 1; i < mt; i++ {
			add(Spec{Op: op("syrk"), Operands: []Operand{{a[i][k], In}, {a[i][i], InOut}}})
			for j := k + 1; j < i; j++ {
				add(Spec{Op: op("gemm"), Operands: []Operand{{a[i][k], In}, {a[j][k], In}, {a[i][j], InOut}}})
			}
		}
	}
}

func TestGoldenDAGs(t *testing.T) {
	programs := map[string]func(func(Spec)){
		"cholesky4": func(add func(Spec)) { cholesky(4, add) },
		"gemm2": func(add func(Spec)) {
			a, b, c := tiles("A", 2, 2), tiles("B", 2, 2), tiles("C", 2, 2)
			for i := range 2 {
				for j := range 2 {
					for k := range 2 {
						add(Spec{Op: op("gemm"), Operands: []Operand{{a[i][k], In}, {b[k][j], In}, {c[i][j], InOut}}})
					}
				}
			}
		},
		"hazards": func(add func(Spec)) {
			x, y := &Datum{Name: "x"}, &Datum{Name: "y"}
			add(Spec{Op: op("read"), Operands: []Operand{{x, In}}})                    // 1: nothing to wait for
			add(Spec{Op: op("write"), Operands: []Operand{{x, Out}}})                  // 2: WAR 1
			add(Spec{Op: op("write"), Operands: []Operand{{x, Out}}})                  // 3: WAW 2
			add(Spec{Op: op("read"), Operands: []Operand{{x, In}, {y, Out}}})          // 4: RAW 3
			add(Spec{Op: op("read"), Operands: []Operand{{x, In}, {y, In}}})           // 5: RAW 3, RAW 4
			add(Spec{Op: op("update"), Operands: []Operand{{x, InOut}, {y, In}}})      // 6: RAW 3, WAR 4, WAR 5, RAW 4
			add(Spec{Op: op("both"), Operands: []Operand{{x, In}, {x, Out}, {y, In}}}) // 7: as INOUT
		},
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			e := &edges{}
			g := &Graph{Observer: e}
			// Once with no task ended before the last is added, once with each
			// ended at once: the edges must not depend on it.
			program(func(s Spec) { g.Add(&s) })
			lazy := strings.Join(e.lines, "\n") + "\n"
			e.lines = nil
			g = &Graph{Observer: e}
			program(func(s Spec) {
				task, ready := g.Add(&s)
				if !ready {
					t.Fatalf("task %d is not ready although all before it have ended", task.ID())
				}
				g.End(task, Done, nil, nil)
			})
			if eager := strings.Join(e.lines, "\n") + "\n"; eager != lazy {
				t.Errorf("edges depend on timing:\n%s\nthen\n%s", lazy, eager)
			}
			file := filepath.Join("testdata", name+".golden")
			if *rewrite {
				if err := os.WriteFile(file, []byte(lazy), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if lazy != string(want) {
				t.Errorf("edges differ from %s:\n%s", file, lazy)
			}
		})
	}
}

// program is a random sequence of tasks with what each must see.
type program struct {
	data  []*Datum
	specs []Spec
	sees  [][]int // per task and operand: number of the last writer before it, 0 for none
}

func randomProgram(r *rand.Rand, tasks, data int) *program {
	p := &program{}
	for i := range data {
		p.data = append(p.data, &Datum{Name: "d", Key: Key{I: int32(i)}, Value: new(int)})
	}
	writer := make([]int, data)
	for n := 1; n <= tasks; n++ {
		var s Spec
		s.Op = op("task")
		var sees []int
		for range r.IntN(6) {
			s.Operands = append(s.Operands, Operand{p.data[r.IntN(data)], Mode(1 + r.IntN(3))})
		}
		for _, o := range s.Operands {
			sees = append(sees, writer[o.Datum.I])
		}
		for _, o := range s.Operands {
			if o.Mode&Out != 0 {
				writer[o.Datum.I] = n
			}
		}
		p.specs = append(p.specs, s)
		p.sees = append(p.sees, sees)
	}
	return p
}

// run executes t: it checks that every operand holds what the sequential
// program would have it hold, and writes its own number.
func (p *program) run(task *Task) error {
	n := int(task.ID())
	for i := range task.Len() {
		if got := *task.Value(i).(*int); got != p.sees[n-1][i] {
			return fmt.Errorf("task %d operand %d: sees the value of task %d, want that of %d", n, i, got, p.sees[n-1][i])
		}
	}
	for i := range task.Len() {
		if task.Operand(i).Mode&Out != 0 {
			*task.Value(i).(*int) = n
		}
	}
	return nil
}

// TestRandomOrder ends ready tasks in random order, interleaved with adding.
func TestRandomOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := randomProgram(r, 1+r.IntN(300), 1+r.IntN(12))
		g := &Graph{}
		var ready []*Task
		ended := 0
		step := func() {
			k := r.IntN(len(ready))
			task := ready[k]
			ready = slices.Delete(ready, k, k+1)
			if s := task.State(); s != Ready {
				t.Fatalf("seed %d: task %d is %v, want ready", seed, task.ID(), s)
			}
			if err := p.run(task); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			ready = g.End(task, Done, nil, ready)
			ended++
		}
		for i := range p.specs {
			if task, ok := g.Add(&p.specs[i]); ok {
				ready = append(ready, task)
			}
			for len(ready) > 0 && r.IntN(2) == 0 {
				step()
			}
		}
		for len(ready) > 0 {
			step()
		}
		if ended != len(p.specs) {
			t.Fatalf("seed %d: %d of %d tasks became ready", seed, ended, len(p.specs))
		}
	}
}

// TestConcurrentEnd ends tasks from several goroutines while others are
// added; under -race the tasks' own accesses are checked as well.
func TestConcurrentEnd(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := randomProgram(r, 2000, 1+r.IntN(30))
		concurrently(t, p.specs, p.run)
	}
}

// concurrently executes the tasks of a program on four goroutines, while others are added.
func concurrently(t *testing.T, specs []Spec, run func(*Task) error) {
	t.Helper()
	g := &Graph{}
	queue := make(chan *Task, len(specs))
	var tasks, workers sync.WaitGroup
	tasks.Add(len(specs))
	for range 4 {
		workers.Go(func() {
			for task := range queue {
				if err := run(task); err != nil {
					t.Error(err)
				}
				for _, next := range g.End(task, Done, nil, nil) {
					queue <- next
				}
				tasks.Done()
			}
		})
	}
	for i := range specs {
		if task, ready := g.Add(&specs[i]); ready {
			queue <- task
		}
	}
	g.Seal()
	tasks.Wait()
	close(queue)
	workers.Wait()
}

// TestTaint checks who is cancelled when a task fails.
func TestTaint(t *testing.T) {
	x, y, z := &Datum{Name: "x"}, &Datum{Name: "y"}, &Datum{Name: "z"}
	g := &Graph{}
	add := func(ops ...Operand) *Task {
		task, _ := g.Add(&Spec{Op: op("t"), Operands: ops})
		return task
	}
	a := add(Operand{x, Out})
	b := add(Operand{x, In}, Operand{y, Out})
	c := add(Operand{y, InOut})
	d := add(Operand{x, Out})
	e := add(Operand{x, In})
	f := add(Operand{z, InOut})
	fault := &Fault{Task: 1, Err: errors.New("broken")}
	g.End(a, Failed, fault, nil)
	if b.Tainted() != fault {
		t.Error("reader of the failed task's output is not tainted")
	}
	g.End(b, Cancelled, fault, nil)
	if c.Tainted() != fault {
		t.Error("taint does not pass through a cancelled task")
	}
	g.End(c, Cancelled, fault, nil)
	late := add(Operand{y, In})
	if late.Tainted() != fault {
		t.Error("reader submitted after the failure is not tainted")
	}
	if d.Tainted() != nil {
		t.Error("task that only overwrites is tainted")
	}
	g.End(d, Done, nil, nil)
	if e.Tainted() != nil || f.Tainted() != nil {
		t.Error("task without a tainted input is tainted")
	}
}

func TestWatch(t *testing.T) {
	x := &Datum{Name: "x"}
	g := &Graph{}
	if _, ready := g.AddWatch(x, &Watch{}); !ready {
		t.Error("watch on a datum that no task writes is not ready")
	}
	w1, _ := g.Add(&Spec{Op: op("w"), Operands: []Operand{{x, Out}}})
	// The first watch has not ended: the writer waits for it like for a reader.
	if w1.State() != Waiting {
		t.Fatal("writer does not wait for the watch")
	}
}

func TestMisuse(t *testing.T) {
	for want, s := range map[Error]Spec{
		ErrNoOp:    {},
		ErrNoDatum: {Op: op("x"), Operands: []Operand{{nil, In}}},
		ErrMode:    {Op: op("x"), Operands: []Operand{{&Datum{}, 0}}},
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %v", got, want)
				}
			}()
			s.Check()
		}()
	}
}

// TestReuse checks that a long program in a bounded window allocates nothing.
func TestReuse(t *testing.T) {
	x, y := &Datum{}, &Datum{}
	g := &Graph{}
	s := &Spec{Op: op("w"), Operands: []Operand{{x, In}, {y, InOut}}}
	s2 := &Spec{Op: op("w"), Operands: []Operand{{y, In}, {x, InOut}}}
	var ready []*Task
	got := testing.AllocsPerRun(1000, func() {
		for _, s := range []*Spec{s, s2} {
			task, ok := g.Add(s)
			if !ok {
				t.Fatal("not ready")
			}
			ready = g.End(task, Done, nil, ready[:0])
		}
	})
	if got > 0 {
		t.Errorf("%v allocations for two tasks, want 0", got)
	}
}

// TestManyOperands goes beyond the operands kept inside a Task.
func TestManyOperands(t *testing.T) {
	data := tiles("D", 1, 100)[0]
	g := &Graph{}
	var s Spec
	s.Op = op("wide")
	for _, d := range data {
		s.Operands = append(s.Operands, Operand{d, Out}, Operand{d, In})
	}
	for range 3 {
		task, ready := g.Add(&s)
		if !ready {
			t.Fatal("not ready")
		}
		if o := task.Operand(151); o.Mode != InOut || o.Datum != data[75] {
			t.Fatalf("operand 151 is %v of %v", o.Mode, o.Datum)
		}
		if left := g.End(task, Done, nil, nil); len(left) != 0 {
			t.Fatal("freed something")
		}
	}
}

func BenchmarkAddEnd(b *testing.B) {
	var specs []Spec
	cholesky(32, func(s Spec) { specs = append(specs, s) })
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		g := &Graph{}
		var ready []*Task
		for i := range specs {
			if t, ok := g.Add(&specs[i]); ok {
				ready = append(ready, t)
			}
		}
		for len(ready) > 0 {
			t := ready[len(ready)-1]
			ready = g.End(t, Done, nil, ready[:len(ready)-1])
		}
		n += len(specs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/task")
}
