// Command 08-own-tasks runs operations of its own on Tessera's runtime, beside a factorization that shares the
// workers. A year of measurements arrives day by day in one buffer:
//
//	measure ─► count     adds to a histogram     REDUCE: at once, on copies
//	        ├► highest   keeps the record        COMMUTE: in any order
//	        └► average   has two children, one for each half of the day
//
// The buffer is renamed, so that a day is measured while earlier days are still processed. measure releases it
// before it has added the day to the checksum. The program compares all results with those of a sequential
// loop, and prints the story of a task.
//
//	go run ./examples/08-own-tasks
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

const days, perDay, bins = 365, 5000, 20

// These types are the values of the tasks' data.
type (
	readings  [perDay]float64
	histogram [bins]int
	checksum  struct{ sum uint64 }
)

// op returns an operation with one version. Its operands are in call.Args.
func op(name string, run func(call *versions.Call) error) *versions.Op {
	return &versions.Op{Name: name, Versions: []versions.Version{{Name: "go", Run: run}}}
}

var (
	// measure: OUT readings, INOUT checksum; the parameter is the day.
	measure = op("measure", func(call *versions.Call) error {
		r, sum := call.Args[0].(*readings), call.Args[1].(*checksum)
		r.take(*call.Params.(*int))
		filed := *r
		call.Finished(0) // tasks that wait for the readings may start
		sum.file(&filed)
		return nil
	})
	// count: IN readings, REDUCE histogram.
	count = op("count", func(call *versions.Call) error {
		call.Args[1].(*histogram).add(call.Args[0].(*readings))
		return nil
	})
	// highest: IN readings, COMMUTE record.
	highest = op("highest", func(call *versions.Call) error {
		record := call.Args[1].(*float64)
		for _, x := range call.Args[0].(*readings) {
			*record = max(*record, x)
		}
		return nil
	})
	// average: IN readings, OUT mean.
	average = op("average", func(call *versions.Call) error {
		r, mean := call.Args[0].(*readings), call.Args[1].(*float64)
		children, err := exec.Nested(call)
		if err != nil {
			return err
		}
		var sums [2]float64
		for i := range sums {
			part := r[i*perDay/2 : (i+1)*perDay/2]
			if _, err := children.Submit(&graph.Spec{Op: sum, Operands: []graph.Operand{
				{Datum: &graph.Datum{Name: "half", Key: graph.Key{I: int32(i)}, Value: part}, Mode: graph.In},
				{Datum: &graph.Datum{Name: "sum", Key: graph.Key{I: int32(i)}, Value: &sums[i]}, Mode: graph.Out},
			}}); err != nil {
				return err
			}
		}
		if err := children.Wait(); err != nil { // the worker executes other tasks meanwhile
			return err
		}
		*mean = (sums[0] + sums[1]) / perDay
		return nil
	})
	// sum: IN half, OUT sum.
	sum = op("sum", func(call *versions.Call) error {
		*call.Args[1].(*float64) = total(call.Args[0].([]float64))
		return nil
	})
)

// year is the results of a year.
type year struct {
	filed  checksum
	count  histogram
	record float64
	means  [days]float64
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	rt, err := exec.NewLocal(exec.Options{
		Window:  64,   // tasks of a job in flight; it also bounds the days in memory
		Stories: 2000, // of the latest tasks
		Watchdog: &exec.Watchdog{After: 10 * time.Second, Report: func(s exec.Stuck) {
			log.Print(s) // what hangs, and the data that it waits for
		}},
	})
	if err != nil {
		return err
	}
	defer rt.Close()

	var got, want year
	job := rt.NewJob(ctx)
	if err := got.submit(job); err != nil {
		return err
	}
	// Meanwhile the same workers factor a matrix.
	if err := factor(rt); err != nil {
		return err
	}
	if err := job.Wait(); err != nil {
		return err
	}
	want.compute()
	if got != want {
		return errors.New("the tasks and the loop differ")
	}
	story, err := job.Story(4 * days) // the last day's average
	if err != nil {
		return err
	}
	fmt.Printf("%d days measured, highest %.3f; as the loop has it\n", days, got.record)
	fmt.Printf("buffers in use at once: up to %d\n%v", 1+job.Copies().Peak, story)
	return nil
}

// submit submits the tasks of a year.
func (y *year) submit(job exec.Job) error {
	buffer := &graph.Datum{Name: "readings", Value: new(readings)}
	buffer.SetRenaming(func() any { return new(readings) })
	counts := &graph.Datum{Name: "histogram", Value: &y.count}
	counts.SetReduction(graph.Reduction{
		New: func() any { return new(histogram) },
		Combine: func(dst, src any) {
			for i, n := range src.(*histogram) {
				dst.(*histogram)[i] += n
			}
		},
	})
	filed := &graph.Datum{Name: "checksum", Value: &y.filed}
	record := &graph.Datum{Name: "record", Value: &y.record}
	for d := range days {
		mean := &graph.Datum{Name: "mean", Key: graph.Key{I: int32(d)}, Value: &y.means[d]}
		for _, s := range []graph.Spec{
			{Op: measure, Params: &d, Operands: []graph.Operand{{Datum: buffer, Mode: graph.Out}, {Datum: filed, Mode: graph.InOut}}},
			{Op: count, Operands: []graph.Operand{{Datum: buffer, Mode: graph.In}, {Datum: counts, Mode: graph.Reduce}}},
			{Op: highest, Operands: []graph.Operand{{Datum: buffer, Mode: graph.In}, {Datum: record, Mode: graph.Commute}}},
			{Op: average, Operands: []graph.Operand{{Datum: buffer, Mode: graph.In}, {Datum: mean, Mode: graph.Out}}},
		} {
			if _, err := job.Submit(&s); err != nil {
				return err
			}
		}
	}
	return nil
}

// compute is the same program without tasks.
func (y *year) compute() {
	for d := range days {
		var r readings
		r.take(d)
		y.filed.file(&r)
		y.count.add(&r)
		for _, x := range r {
			y.record = max(y.record, x)
		}
		y.means[d] = (total(r[:perDay/2]) + total(r[perDay/2:])) / perDay
	}
}

// factor factors tridiag(-1, 2, -1), whose determinant is n + 1.
func factor(rt exec.Runtime) error {
	const n = 600
	a := mat.NewSymDense(n, nil)
	for i := range n {
		a.SetSym(i, i, 2)
		if i > 0 {
			a.SetSym(i, i-1, -1)
		}
	}
	e, err := la.NewEngine(la.Options{Runtime: rt})
	if err != nil {
		return err
	}
	defer e.Close()
	chol := la.NewCholesky[float64](e)
	if err := chol.Factorize(a); err != nil {
		return err
	}
	if got, want := chol.LogDet(), math.Log(n+1); math.Abs(got-want) > 1e-9 {
		return fmt.Errorf("log det is %g, not %g", got, want)
	}
	return nil
}

// take makes the measurements of a day.
func (r *readings) take(day int) {
	rnd := rand.New(rand.NewPCG(1, uint64(day)))
	for i := range r {
		r[i] = rnd.Float64() + rnd.Float64()
	}
}

func (h *histogram) add(r *readings) {
	for _, x := range r {
		h[int(x*bins/2)]++
	}
}

// file adds a day to the checksum, which depends on the order of days.
func (c *checksum) file(r *readings) {
	for _, x := range r {
		c.sum = c.sum*31 + math.Float64bits(x)
	}
}

func total(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum
}
