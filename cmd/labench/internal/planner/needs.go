package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// planFlags is the command line of labench cluster plan.
type planFlags struct {
	cluster node.ClusterFlags
	spec    bench.Spec
	workers int
	gflops  float64
	link    cli.Size
	json    bool
}

// NewNeedsCommand returns the command labench cluster plan.
func NewNeedsCommand(a *cli.App) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan OPERATION",
		Short: "Say what a run with --distributed would need, without running it",
		Long: `Say what a run with --distributed would need: the grid of nodes, what each of
them has to do, to keep, to get and to send, and how long that takes at least.
It is counted from the tasks of the operation, one by one.

With --cluster FILE or local:N nothing is started, and no node is asked. With
addresses the agents that are there say how many workers they have, and how much
memory.`,
		Example: `  labench cluster plan lu -n 100000 --cluster nodes.toml
  labench cluster plan lu -n 16384 --cluster local:4 --gflops 40 --link 1GiB`,
		Args: func(_ *cobra.Command, args []string) error {
			known := []string{"gemm", "cholesky", "lu", "qr"}
			return cli.OneOf(args, known)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.spec.Op = args[0]
			if err := f.check(cmd.Flags().Changed); err != nil {
				return cli.Usage(err)
			}
			return clusterPlan(cmd.Context(), a, f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVarP(&f.spec.N, "n", "n", 0, fmt.Sprintf("order of the matrices (default %d)", bench.DefaultN))
	fl.IntVar(&f.spec.NB, "nb", 0, "tile size (default as of a run)")
	fl.StringVar(&f.spec.Type, "type", "f64", "element type: "+strings.Join(bench.Types(), " or "))
	fl.IntVar(&f.workers, "workers", 0, "workers of this machine (default one per core)")
	fl.Float64Var(&f.gflops, "gflops", 0, "GFLOP/s of a worker (default the file's, or with local:N what this machine can do)")
	fl.Var(&f.link, "link", "bytes a second that a node can get from others, as in 1.2GiB (default the file's)")
	fl.BoolVar(&f.json, "json", false, "print one JSON document instead of a report")
	f.cluster.RegisterNodes(fl, "the nodes: a TOML file that lists them, local:N, or addresses of agents",
		"agents to wait for, with addresses (default as many as --cluster names)", "compute on agents only, as is the default with local:N")
	cli.Complete(cmd, "type", bench.Types())
	return cmd
}

// check returns what is wrong with the flags.
func (f *planFlags) check(given func(flag string) bool) error {
	var errs cli.Problems
	errs.Note(f.cluster.Find(given))
	if errs == nil && !f.cluster.Asked() {
		errs.Note(errors.New("--cluster names no node"))
	}
	if given("n") && f.spec.N < 1 {
		errs.Note(fmt.Errorf("-n is %d, want at least 1", f.spec.N))
	}
	if f.workers < 0 || f.workers > 1<<14 {
		errs.Note(fmt.Errorf("--workers is %d, want 1 to %d, or 0 for one per core", f.workers, 1<<14))
	}
	if f.cluster.Agents < 0 {
		errs.Note(fmt.Errorf("--agents is %d, want at least 0", f.cluster.Agents))
	}
	if !(f.gflops >= 0 && f.gflops <= 1e9) {
		errs.Note(fmt.Errorf("--gflops is %v, want more than 0", f.gflops))
	}
	if !given("link") {
		f.link = max(f.link, f.cluster.Link())
	}
	if errs == nil {
		errs.Note(f.spec.Validate())
	}
	return errors.Join(errs...)
}

// planNode is a node of a plan.
type planNode struct {
	Name    string  `json:"name"`
	Workers int     `json:"workers"`
	Speed   float64 `json:"speed"`
	Memory  int64   `json:"memory_cap,omitempty"`
	GFLOPS  float64 `json:"gflops,omitempty"` // of all workers; 0: not known
	Tiles   int     `json:"tiles"`
	Tasks   int     `json:"tasks"`
	Flops   float64 `json:"flops"`
	Own     int64   `json:"bytes_own"`  // of tiles that are its own, at most
	Peak    int64   `json:"bytes_peak"` // and with those of others that it has to read
	Least   int64   `json:"bytes_least"`
	In      int64   `json:"bytes_in"`
	Out     int64   `json:"bytes_out"`
}

// Planned is a plan, as labench cluster plan --json prints it. Times are in seconds, 0 if what
// they follow from is not known.
type Planned struct {
	Op     string     `json:"op"`
	Type   string     `json:"type"`
	N      int        `json:"n"`
	NB     int        `json:"nb"`
	P      int        `json:"grid_rows"`
	Q      int        `json:"grid_columns"`
	Nodes  []planNode `json:"nodes"`
	Bytes  int64      `json:"bytes"` // of the matrices' tiles
	Tasks  int        `json:"tasks"`
	Flops  float64    `json:"flops"`
	Task   int64      `json:"bytes_task"` // of the operands of a task, at most
	Moved  int64      `json:"bytes_moved"`
	Driver int64      `json:"bytes_driver"` // about
	Link   int64      `json:"bytes_per_second,omitempty"`

	Computing float64 `json:"seconds_computing,omitempty"` // the longest of a node
	Moving    float64 `json:"seconds_moving,omitempty"`    // and so
	Path      float64 `json:"seconds_path,omitempty"`      // of tasks that follow one another
	PathTasks int     `json:"path_tasks"`
	Refused   string  `json:"refused,omitempty"`
}

// fitError says that a run does not fit into the memory of the nodes.
type fitError struct{ why string }

func (e *fitError) Error() string { return "it cannot fit: " + e.why }

// clusterPlan prints a plan. The error is a *fitError if the run does not fit.
func clusterPlan(ctx context.Context, a *cli.App, f *planFlags) error {
	nodes, own, err := planNodes(ctx, a, f)
	if err != nil {
		return err
	}
	x, err := newPlan(ctx, f.spec, nodes, own, int64(f.link))
	if err != nil {
		return err
	}
	if f.json {
		err = a.Document(x)
	} else {
		_, err = a.Out.Write([]byte(x.text(report.NewPaint(a.Out))))
	}
	if err == nil && x.Refused != "" {
		err = &fitError{x.Refused}
	}
	return err
}

// planNodes returns the nodes that compute, and the workers of a driver that does not: 0 if it
// is the first of them.
func planNodes(ctx context.Context, a *cli.App, f *planFlags) (nodes []planNode, own int, err error) {
	here := cmp.Or(f.workers, topo.Detect().Workers())
	members, apart, err := f.cluster.Members(ctx, a, here)
	if err != nil {
		return nil, 0, err
	}
	if n := f.cluster.Local; n > 0 && f.gflops == 0 && !a.NoPeak {
		rate, err := bench.Peak(ctx, f.spec.Type, here)
		if err != nil {
			return nil, 0, err
		}
		f.gflops = rate.All / float64(max(here, n))
	}
	for _, m := range members {
		nodes = append(nodes, planNode{Name: m.Name, Workers: m.Workers, Speed: m.Speed, Memory: int64(m.Memory), GFLOPS: m.GFLOPS})
	}
	if own = here; f.cluster.Local > 0 {
		own = 1
	}
	if !apart {
		own = 0
	}
	// Who has no speed has as much for each worker as the others.
	speed, workers := 0.0, 0
	for _, n := range nodes {
		if n.Speed > 0 {
			speed, workers = speed+n.Speed, workers+n.Workers
		}
	}
	for i := range nodes {
		n := &nodes[i]
		if n.Speed == 0 {
			n.Speed = float64(n.Workers) * cmp.Or(speed/float64(max(workers, 1)), 1)
		}
		n.GFLOPS = cmp.Or(n.GFLOPS, f.gflops*float64(n.Workers))
	}
	return nodes, own, nil
}

// newPlan counts what a run needs on nodes, with a driver that has so many workers if it is
// none of them. Link is the bytes a second that each node can get, 0 if that is not known.
func newPlan(ctx context.Context, s bench.Spec, nodes []planNode, own int, link int64) (*Planned, error) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	speeds, workers := []float64(nil), own
	for _, n := range nodes {
		speeds, workers = append(speeds, n.Speed), workers+n.Workers
	}
	c, err := bench.Plan(ctx, s, speeds, plan.Options{Runtime: rt, Workers: workers, Apart: own > 0, Cost: bench.TaskFlops})
	if err != nil {
		return nil, err
	}
	s = s.WithDefaults()
	x := &Planned{Op: s.Op, Type: s.Type, N: s.N, NB: c.NB, P: c.P, Q: c.Q, Nodes: nodes, Bytes: c.Bytes, Tasks: c.Tasks,
		Flops: c.Flops, Task: c.Most, Moved: c.Moved, Link: link, PathTasks: c.Steps}
	tiles, slowest, fastest := 0, math.Inf(1), 0.0 // of a worker
	for i := range nodes {
		n, m := &nodes[i], c.Nodes[i]
		n.Tiles, n.Tasks, n.Flops, n.Own, n.Peak, n.Least, n.In, n.Out = c.Tiles[i], m.Tasks, m.Cost, m.Own, m.Peak, m.Least, m.In, m.Out
		tiles += n.Tiles
		if n.GFLOPS > 0 {
			x.Computing = max(x.Computing, n.Flops/(n.GFLOPS*1e9))
		}
		slowest, fastest = min(slowest, n.GFLOPS/float64(n.Workers)), max(fastest, n.GFLOPS/float64(n.Workers))
		if link > 0 {
			x.Moving = max(x.Moving, float64(n.In)/float64(link))
		}
	}
	if slowest > 0 {
		x.Path = c.Path / (fastest * 1e9)
	} else {
		x.Computing = 0 // of some nodes it is not known
	}
	x.Driver = driverMemory(tiles, c.Tasks)
	x.Refused = x.refusal()
	return x, nil
}

// driverMemory returns about how much memory a driver takes that has no tiles: its program, what
// it knows of each tile, and the records of the tasks that it may have to have executed again.
// Measured as the most of the driver's process in labench cholesky --cluster local:1
// --distributed --nb 64 -n 2048 and 6144, of 528 and 4656 tiles: 35 and 104 MiB (2026-11-24, commit
// 13868ea).
func driverMemory(tiles, tasks int) int64 {
	return 32<<20 + bench.TileKnown*int64(tiles) + 480*int64(min(tasks, 131072))
}

// refusal returns why the run does not fit into the nodes' caps, with the arithmetic, if it
// cannot, whichever node gets which task.
func (x *Planned) refusal() string {
	in := func(n int64) string { return report.Bytes(float64(n)) }
	var own, all, most int64
	var caps []string
	for _, n := range x.Nodes {
		own += n.Own
		if n.Memory == 0 {
			return ""
		}
		all, most = all+n.Memory, max(most, n.Memory)
		caps = append(caps, in(n.Memory))
	}
	switch {
	case x.Task > most:
		return fmt.Sprintf("a task needs %s, and the largest cap of a node is %s; smaller tiles (--nb) help", in(x.Task), in(most))
	case own > all:
		return fmt.Sprintf("the nodes have to keep %s, and their caps are %s = %s", in(own), strings.Join(caps, " + "), in(all))
	}
	return ""
}

// text returns the report of a plan, in lines of at most 80 columns.
func (x *Planned) text(p report.Paint) string {
	var b strings.Builder
	in := func(n int64) string { return report.Bytes(float64(n)) }
	say := func(name, format string, args ...any) {
		b.WriteString(report.Wrapped(report.Label(name), fmt.Sprintf(format, args...)))
	}
	tiles, work := 0, 0.0
	for _, n := range x.Nodes {
		tiles, work = tiles+n.Tiles, work+n.Flops
	}
	say("problem", "%s %s, n = %d, %.4g Gflop, matrices of %s in all", x.Op, x.Type, x.N, x.Flops/1e9, in(x.Bytes))
	say("tiles", "nb = %d, %s, %s a run", x.NB, report.Count(tiles, "tile"), report.Count(x.Tasks, "task"))
	say("grid", "%d×%d nodes, rows and columns of tiles by their speeds", x.P, x.Q)
	line := func(first, node string, columns ...any) string {
		return fmt.Sprintf("%s%-13s%6v%8v%6s"+strings.Repeat("%9s", 4), append([]any{report.Label(first), node}, columns...)...) + "\n"
	}
	b.WriteString(p.Faint(line("nodes", "and workers", "tiles", "tasks", "work", "at most", "cap", "gets", "sends")))
	var kept, caps, flows []int64
	for _, n := range x.Nodes {
		kept, caps, flows = append(kept, n.Peak), append(caps, n.Memory), append(flows, n.In, n.Out)
	}
	most, limit, moved := report.BytesLike(kept...), report.BytesLike(caps...), report.BytesLike(flows...)
	for _, n := range x.Nodes {
		name := fmt.Sprintf("%s %d", report.Clip(n.Name, 12-len(fmt.Sprint(n.Workers))), n.Workers)
		memory := "-"
		if n.Memory > 0 {
			memory = limit(n.Memory)
		}
		b.WriteString(line("", name, n.Tiles, n.Tasks, fmt.Sprintf("%.0f %%", 100*n.Flops/max(work, 1)), most(n.Peak), memory, moved(n.In), moved(n.Out)))
	}
	say("moved", "at least %s a run: each version of a tile once to each other node that reads it", in(x.Moved))
	say("driver", "about %s, without any tiles", in(x.Driver))
	if x.Nodes[0].Name == "driver" {
		b.WriteString(report.Wrapped(report.Label(""), "and what it has as one of the nodes"))
	}
	x.times(say)
	x.memory(say)
	return b.String()
}

// times says how long a run takes at least.
func (x *Planned) times(say func(name, format string, args ...any)) {
	var parts []string
	if x.Computing > 0 {
		parts = append(parts, fmt.Sprintf("%s to compute, by the node that has the most to do for its speed", report.Brief(report.InSeconds(x.Computing))),
			fmt.Sprintf("%s for the %s of the critical path", report.Brief(report.InSeconds(x.Path)), report.Count(x.PathTasks, "task")))
	}
	if x.Moving > 0 {
		parts = append(parts, fmt.Sprintf("%s to get what the node that gets the most needs, at %s/s", report.Brief(report.InSeconds(x.Moving)), report.Bytes(float64(x.Link))))
	}
	if parts == nil {
		say("time", "not known: --gflops says what a worker does, --link what a node gets a second, or the nodes file says both")
		return
	}
	say("time", "at least %s: %s", report.Brief(report.InSeconds(max(x.Computing, x.Path, x.Moving))), strings.Join(parts, "; "))
}

// memory says whether a run fits.
func (x *Planned) memory(say func(name, format string, args ...any)) {
	in := func(n int64) string { return report.Bytes(float64(n)) }
	if x.Refused != "" { // which is said as an error
		return
	}
	name, capped := "memory", false
	for _, n := range x.Nodes {
		capped = capped || n.Memory > 0
		switch {
		case n.Memory == 0 || n.Peak <= n.Memory:
			continue
		case n.Least > n.Memory:
			say(name, "%s does not hold its part: %s of its own tiles and, with what a task needs beside them, %s, of a cap of %s; tiles of it go to others that have room",
				n.Name, in(n.Own), in(n.Least), in(n.Memory))
		default:
			say(name, "%s keeps copies of others' tiles as long as there is room: %s of its own and of theirs, of a cap of %s; what it drops is fetched again",
				n.Name, in(n.Peak), in(n.Memory))
		}
		name = ""
	}
	switch {
	case !capped:
		say(name, "no node has a cap (labench agent --memory); what tasks need beside their operands comes on top")
	case name != "":
		say(name, "it fits; what tasks need beside their operands comes on top of the caps")
	}
}
