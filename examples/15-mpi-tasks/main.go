// Command 15-mpi-tasks runs a function that calls MPI as one task of several ranks, among tasks of Tessera.
//
// A vector is cut into parts. Ordinary tasks fill them. Then a task of all ranks scales the vector to length 1: each
// rank has a part, and MPI_Allreduce adds up their squares. Each rank finishes with its part as soon as it is scaled,
// so that the task of Tessera that reads the part begins, though the ranks go on. At last a rank fails, and the error
// is the task's.
//
//	go build -tags mpi -o bin/ ./examples/15-mpi-tasks    # MPICH: -tags mpi,mpich
//	mpirun -n 4 --bind-to none bin/15-mpi-tasks
//
// Without MPI it says so. docs/cluster.md tells more of tasks of several ranks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/transport/mpi"
	"github.com/tessera-la/tessera/versions"
)

const n = 1000 // elements of a part

func main() {
	log.SetFlags(0)
	err := run()
	var none *mpi.BuildError
	if errors.As(err, &none) {
		fmt.Println(none)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

// scale is the parameter of op "scale". Fail is the rank that fails, −1 if none does.
type scale struct{ Fail int }

// ops returns what all nodes know: w is the world of MPI.
func ops(w *mpi.World) (fill, length, square *versions.Op) {
	fill = &versions.Op{Name: "fill", Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		x := call.Args[0].(*kernels.Tile[float64])
		for i := range x.Data {
			x.Data[i] = float64(i%7) + 1
		}
		return nil
	}}}}
	length = &versions.Op{Name: "scale", NewParams: func() any { return new(scale) }, Versions: []versions.Version{{Name: "mpi", Run: w.Run(func(call *versions.Call, c *mpi.Comm) error {
		var err error
		if call.Params.(*scale).Fail == c.Rank() {
			err = errors.New("no vector")
		}
		if err := c.Agree(err); err != nil { // before ranks wait for one another
			return err
		}
		x := call.Args[0].(*kernels.Tile[float64])
		sum := []float64{0}
		for _, v := range x.Data {
			sum[0] += v * v
		}
		if err := allreduce(c.Handle(), sum); err != nil {
			return err
		}
		for i := range x.Data {
			x.Data[i] /= math.Sqrt(sum[0])
		}
		call.Finished(0) // tasks that read the part begin
		time.Sleep(10 * time.Millisecond)
		return nil
	})}}}
	square = &versions.Op{Name: "square", Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		sum, x := call.Args[0].(*kernels.Tile[float64]), call.Args[1].(*kernels.Tile[float64])
		for _, v := range x.Data {
			sum.Data[0] += v * v
		}
		return nil
	}}}}
	return fill, length, square
}

func run() (err error) {
	w, err := mpi.OpenMultiple() // tasks call MPI from threads of their own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	t, err := w.New(mpi.Options{Broken: func(err error) {
		fmt.Fprintln(os.Stderr, err)
		w.Abort(4)
	}})
	if err != nil {
		return err
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		return err
	}
	defer rt.Close()
	fill, length, square := ops(w)
	opt := cluster.Options{
		Transport: t, Runtime: rt, Ops: []*versions.Op{fill, length, square}, Values: kernels.Values(), Errors: mpi.Errors(),
		Log: slog.New(slog.DiscardHandler),
	}
	if w.Rank() > 0 {
		opt.Driver = w.Name(0)
		return cluster.Serve(context.Background(), opt)
	}
	d, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Await(context.Background(), w.Size()-1); err != nil {
		return err
	}

	parts, sums := make([]graph.Datum, w.Size()), make([]graph.Datum, w.Size())
	job := d.NewJob(context.Background())
	submit := func(op *versions.Op, operands ...graph.Operand) {
		_, e := job.Submit(&graph.Spec{Op: op, Operands: operands})
		err = errors.Join(err, e)
	}
	ranks := func(fail int) (all []graph.Spec) {
		for i := range parts {
			all = append(all, graph.Spec{Op: length, Params: &scale{fail}, Operands: []graph.Operand{{Datum: &parts[i], Mode: graph.InOut}}})
		}
		return all
	}
	for i := range parts {
		parts[i].Value, sums[i].Value = tile(n), tile(1)
		submit(fill, graph.Operand{Datum: &parts[i], Mode: graph.Out})
	}
	_, e := cluster.SubmitGroup(job, ranks(-1))
	for i := range parts {
		submit(square, graph.Operand{Datum: &sums[i], Mode: graph.InOut}, graph.Operand{Datum: &parts[i], Mode: graph.In})
	}
	if err = errors.Join(err, e, job.Wait()); err != nil {
		return err
	}
	sum := 0.0
	for i := range sums {
		sum += sums[i].Value.(*kernels.Tile[float64]).Data[0]
	}
	fmt.Printf("%d ranks: the square of the length is 1 but for %.1g\n", w.Size(), math.Abs(sum-1))
	if !(math.Abs(sum-1) < 1e-12) {
		return errors.New("that is wrong")
	}

	job = d.NewJob(context.Background())
	_, err = cluster.SubmitGroup(job, ranks(w.Size()-1))
	err = errors.Join(err, job.Wait())
	var failed *mpi.RankError
	if !errors.As(err, &failed) || failed.Rank != w.Size()-1 {
		return fmt.Errorf("the last rank was to fail, and the error is %w", err)
	}
	fmt.Println(failed)
	return nil
}

// tile returns a vector of zeros.
func tile(n int) *kernels.Tile[float64] {
	return &kernels.Tile[float64]{Rows: 1, Cols: n, Stride: n, Data: make([]float64, n)}
}
