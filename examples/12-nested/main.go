// Command 12-nested trains a random forest on several nodes, flat and nested.
//
// Each tree takes two tasks: one draws a sample of the points, one grows the tree. Flat, all of
// them are tasks of the driver. Nested, the driver has a task for a batch of trees, and these
// are its children, on the node that gets the batch and on the node below that one: the code is
// that of one machine. So the driver has the less to do the larger batches are. Both forests
// have the bits of the one that a plain loop grows.
//
// The nodes are in this process, a driver and four agents, of which the last two are below the
// first two in the nested run. They share the machine's cores, so that one run is about as fast
// as the other one here; what the program shows is how many tasks, and bytes, the driver had.
//
//	go run ./examples/12-nested
//	go run ./examples/12-nested -trees 12288 -points 5000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

var (
	trees = flag.Int("trees", 192, "trees of the forest")
	many  = flag.Int("points", 1000, "points to learn from")
	size  = flag.Int("batch", 48, "trees of a batch")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if *trees < 1 || *many < 1 || *size < 1 {
		return errors.New("-trees, -points and -batch: want at least 1")
	}
	points := newPoints(*many, 1)
	want, sample := make(row, *trees*treeSize), make(row, *many)
	for i := range *trees {
		pick(sample, points, uint64(i))
		train(want[i*treeSize:(i+1)*treeSize], points, sample, uint64(i))
	}
	right := accuracy(want, newPoints(2000, 2))
	fmt.Printf("%d trees, of other points %.1f %% right\n", *trees, 100*right)
	if right < 0.8 {
		return errors.New("the forest has learned nothing")
	}
	for _, how := range []struct {
		name    string
		parents []string // those above the agents
		train   func(exec.Job, *graph.Datum, row) error
	}{
		{"flat", []string{"", "", "", ""}, flat},
		{"nested", []string{"", "", "agent0", "agent1"}, nested},
	} {
		got := make(row, len(want))
		tasks, took, err := onNodes(ctx, how.parents, func(job exec.Job) error {
			return how.train(job, &graph.Datum{Value: &value{points}, Bytes: int64(8 * len(points))}, got)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", how.name, err)
		}
		fmt.Printf("%-6s  the driver had %4d tasks, in %.3f s\n", how.name, tasks, took.Seconds())
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s: another forest", how.name)
		}
	}
	return nil
}

// grower grows trees as tasks of a job: those of the driver, or children of one. The first tree
// has a number, from which all that is random follows.
func grower(job exec.Job, points *graph.Datum, forest row, first int) error {
	for i := range len(forest) / treeSize {
		seed := &growing{Seed: int64(first + i)}
		sample := &graph.Datum{Value: &value{make(row, len(points.Value.(*value).row)/width)}}
		tree := &graph.Datum{Value: &value{forest[i*treeSize : (i+1)*treeSize]}}
		if _, err := job.Submit(&graph.Spec{Op: picks, Params: seed, Operands: []graph.Operand{{Datum: points, Mode: graph.In}, {Datum: sample, Mode: graph.Out}}}); err != nil {
			return err
		}
		if _, err := job.Submit(&graph.Spec{Op: trains, Params: seed, Operands: []graph.Operand{{Datum: points, Mode: graph.In}, {Datum: sample, Mode: graph.In}, {Datum: tree, Mode: graph.Out}}}); err != nil {
			return err
		}
	}
	return nil
}

// flat has the driver's job have all tasks.
func flat(job exec.Job, points *graph.Datum, forest row) error { return grower(job, points, forest, 0) }

// nested has it have a task for each batch.
func nested(job exec.Job, points *graph.Datum, forest row) error {
	for first := 0; first < *trees; first += *size {
		part := forest[first*treeSize : min(first+*size, *trees)*treeSize]
		if _, err := job.Submit(&graph.Spec{Op: batch, Params: &growing{Seed: int64(first)},
			Operands: []graph.Operand{{Datum: points, Mode: graph.In}, {Datum: &graph.Datum{Value: &value{part}}, Mode: graph.Out}}}); err != nil {
			return err
		}
	}
	return nil
}

// growing is the parameter of the ops: the number of a tree, or of the first one of a batch.
type growing struct{ Seed int64 }

// op returns an op with one version, in Go.
func op(name string, run func(*versions.Call, uint64) error) *versions.Op {
	return &versions.Op{Name: name, NewParams: func() any { return new(growing) }, Versions: []versions.Version{
		{Name: "go", Run: func(c *versions.Call) error { return run(c, uint64(c.Params.(*growing).Seed)) }}}}
}

var (
	// picks: IN points, OUT sample.
	picks = op("pick", func(c *versions.Call, seed uint64) error {
		pick(c.Args[1].(*value).row, c.Args[0].(*value).row, seed)
		return nil
	})
	// trains: IN points, IN sample, OUT tree.
	trains = op("train", func(c *versions.Call, seed uint64) error {
		train(c.Args[2].(*value).row, c.Args[0].(*value).row, c.Args[1].(*value).row, seed)
		return nil
	})
	// batch: IN points, OUT trees. Its end is that of its children.
	batch = op("batch", func(c *versions.Call, first uint64) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		points := &graph.Datum{Value: c.Args[0], Bytes: c.Args[0].(*value).Bytes()}
		return grower(children, points, c.Args[1].(*value).row, int(first))
	})
)

// onNodes starts a driver and agents, and has it execute the tasks that submit submits. It
// returns how many these were, and how long they took.
func onNodes(ctx context.Context, parents []string, submit func(exec.Job) error) (tasks int, took time.Duration, err error) {
	network := transport.NewNetwork()
	options := func(name string) (opt cluster.Options, err error) {
		if opt.Transport, err = network.Node(name); err != nil {
			return opt, err
		}
		opt.Runtime, err = exec.NewLocal(exec.Options{Workers: 1, Float: true})
		opt.Ops, opt.Values = []*versions.Op{picks, trains, batch}, []versions.Value{&value{}}
		return opt, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	var agents sync.WaitGroup
	defer agents.Wait()
	defer cancel()
	direct := 0
	for i, parent := range parents {
		opt, err := options(fmt.Sprintf("agent%d", i))
		if err != nil {
			return 0, 0, err
		}
		if opt.Parent = parent; parent == "" {
			direct++
		}
		agents.Go(func() {
			defer opt.Runtime.Close()
			_ = cluster.Serve(ctx, opt) // which ends with ctx
		})
	}
	opt, err := options("driver")
	if err != nil {
		return 0, 0, err
	}
	defer opt.Runtime.Close()
	opt.Idle = true
	driver, err := cluster.NewDriver(opt)
	if err != nil {
		return 0, 0, err
	}
	defer driver.Close()
	if err := driver.Await(ctx, direct); err != nil {
		return 0, 0, err
	}
	for below := -1; below != len(parents)-direct; { // the others have said to whom they belong
		below = 0
		for _, u := range driver.Usage() {
			below += u.Below
		}
		time.Sleep(time.Millisecond)
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
	}
	began := time.Now()
	job := driver.NewJob(ctx)
	if err := errors.Join(submit(job), job.Wait()); err != nil {
		return 0, 0, err
	}
	return job.Completed(), time.Since(began), nil
}
