//go:build mpi && linux && cgo

package mpi

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tessera "github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

var (
	tasks = flag.String("tasks", "", "only be a rank of tasks of several ranks, which end in this way; set by TestTasks")
	told  = flag.String("told", "", "write to this file what a rank of -tasks is told")
)

// TestTasks: tasks of one to four ranks have communicators of their own, among other tasks. A rank that has all agree on
// its error fails the task with that. If it leaves others in a call of MPI, the program is told.
func TestTasks(t *testing.T) {
	for _, way := range []string{"well", "stays"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a second, but for a busy machine
		defer cancel()
		file := filepath.Join(t.TempDir(), "told") // launchers may lose what a rank prints before it aborts
		args := append(launcher(), os.Args[0], "-tasks", way, "-told", file)
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} // not of this rank
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }          // which it passes on
		c.WaitDelay = 10 * time.Second
		out, err := c.CombinedOutput()
		text, _ := os.ReadFile(file) // none if no rank was told anything
		if strings.Contains(string(text), errStays.Error()) != (way == "stays") || (err != nil) != (way == "stays") || ctx.Err() != nil {
			t.Errorf("%s: error %v, told %q: %s", way, errors.Join(err, ctx.Err()), text, out)
		}
	}
}

// least is the parameter of op "least".
type least struct {
	Fail int  // the rank that fails, from 1
	Hide bool // it does not tell the others
}

// leastOp: each rank gets the least of the numbers that all have, plus its rank.
func leastOp(w *World) *versions.Op {
	return &versions.Op{Name: "least", NewParams: func() any { return new(least) }, Versions: []versions.Version{{Name: "mpi", Run: w.Run(func(call *versions.Call, c *Comm) error {
		p, x := call.Params.(*least), &call.Args[0].(*kernels.Tile[float64]).Data[0]
		var err error
		if p.Fail == c.Rank()+1 {
			if err = fmt.Errorf("no number"); p.Hide {
				return err
			}
		}
		if err := c.Agree(err); err != nil {
			return err
		}
		n, _, err := c.lib.Agree(int(*x), "")
		if *x = float64(n + c.Rank()); err == nil {
			call.Finished(0)
		}
		return err
	})}}}
}

// twiceOp doubles a number.
var twiceOp = &versions.Op{Name: "twice", Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
	call.Args[0].(*kernels.Tile[float64]).Data[0] *= 2
	return nil
}}}}

// beRank is a rank of TestTasks.
func beRank(way string) (err error) {
	w, err := OpenMultiple()
	if err != nil {
		return err
	}
	w.stay = 300 * time.Millisecond
	defer func() { err = errors.Join(err, w.Close()) }()
	t, err := w.New(Options{Timeout: time.Minute, Broken: func(err error) {
		// Several ranks may be told. The test fails without the file.
		if f, failed := os.OpenFile(*told, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); failed == nil {
			fmt.Fprintln(f, err)
			f.Close()
		}
		w.Abort(4)
	}})
	if err != nil {
		return err
	}
	rt, err := tessera.NewLocal(tessera.Options{Workers: 1, Float: true})
	if err != nil {
		return err
	}
	defer rt.Close()
	op := leastOp(w)
	opt := cluster.Options{
		Transport: t, Runtime: rt, Ops: []*versions.Op{op, twiceOp}, Values: kernels.Values(), Errors: Errors(),
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
	if way == "stays" {
		return groupOf(d, op, &least{Fail: 2, Hide: true}, 4, 1)
	}
	for ranks := 1; ranks <= 4; ranks++ {
		if err := groupOf(d, op, &least{}, ranks, 12); err != nil {
			return err
		}
	}
	var e *RankError
	if err := groupOf(d, op, &least{Fail: 2}, 3, 1); !errors.As(err, &e) || e.Rank != 1 || e.Text != "no number" {
		return fmt.Errorf("a rank that has failed: %w", err)
	}
	var none *CommError
	x := graph.Datum{Value: &kernels.Tile[float64]{Rows: 1, Cols: 1, Stride: 1, Data: make([]float64, 1)}}
	j := d.NewJob(context.Background())
	_, err = j.Submit(&graph.Spec{Op: op, Params: &least{}, Operands: []graph.Operand{{Datum: &x, Mode: graph.InOut}}})
	if err = errors.Join(err, j.Wait()); !errors.As(err, &none) {
		return fmt.Errorf("a task without ranks: %w", err)
	}
	if _, err := w.comm(&transport.Group{Nodes: []string{w.Name(0), "elsewhere"}}); !errors.As(err, &none) {
		return fmt.Errorf("a node that is no rank: %w", err)
	}
	return groupOf(d, op, &least{}, 4, 3)
}

// groupOf runs tasks of so many ranks, each of which also feeds tasks of one, and checks what comes of it.
func groupOf(d *cluster.Driver, op *versions.Op, p *least, ranks, times int) error {
	data, want := make([]graph.Datum, 4), make([]float64, 4)
	for i := range data {
		x := &kernels.Tile[float64]{Rows: 1, Cols: 1, Stride: 1, Data: make([]float64, 1)}
		x.Data[0] = float64(10 * (i + 1))
		data[i].Value, want[i] = x, x.Data[0]
	}
	j := d.NewJob(context.Background())
	for k := range times {
		var specs []graph.Spec
		smallest := want[k%4]
		for r := range ranks {
			i := (k + r) % 4
			specs = append(specs, graph.Spec{Op: op, Params: p, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}})
			smallest = min(smallest, want[i])
		}
		for r := range ranks {
			want[(k+r)%4] = smallest + float64(r)
		}
		if _, err := cluster.SubmitGroup(j, specs); err != nil {
			return err
		}
		if _, err := j.Submit(&graph.Spec{Op: twiceOp, Operands: []graph.Operand{{Datum: &data[k%4], Mode: graph.InOut}}}); err != nil {
			return errors.Join(err, j.Wait())
		}
		want[k%4] *= 2
	}
	if err := j.Wait(); err != nil {
		return err
	}
	for i := range data {
		if got := data[i].Value.(*kernels.Tile[float64]).Data[0]; got != want[i] {
			return fmt.Errorf("%d ranks: number %d is %v, want %v", ranks, i, got, want[i])
		}
	}
	return nil
}

// TestOneThread: a program that has MPI for calls from one thread at a time can have no communicators.
func TestOneThread(t *testing.T) {
	var e *ThreadError
	if _, err := theWorld.World.comm(&transport.Group{}); !theWorld.World.lib.Multiple && (!errors.As(err, &e) || !e.Multiple) {
		t.Errorf("without MPI_THREAD_MULTIPLE: %v", err)
	}
}
