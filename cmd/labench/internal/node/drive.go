package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi"
)

// ClusterFlags are the flags that name the cluster on which an operation runs.
type ClusterFlags struct {
	Trace *trace.Recorder // records tasks; nil for none
	Flags
	Words       []string // values of --cluster: see locate
	Agents      int
	Idle        bool
	Distributed bool
	Output      string
	Copies      CopiesFlag
	Policied    bool              // with distributed matrices: a policy says which node gets a task, not the owners of tiles
	Each        setup.LocalFlags  // what agents of local:N compute with, beside their share of the workers
	Admit       func(string) bool // see cluster.Options; nil: all
	Sweeps      bool              // Drive is called any number of times, one after the other
	Stay        bool              // with distributed matrices: each node executes only the tasks on its own tiles

	Local     int                            // number of agents to start on this machine
	OverMPI   bool                           // the nodes are ranks of MPI
	ranks     *ranks                         // with OverMPI; this process is one of them
	file      *nodesFile                     // the file that --cluster names
	transport transport.Transport            // of the driver
	driver    atomic.Pointer[cluster.Driver] // set once it is connected
}

// Register defines the flags of an operation on fl.
func (f *ClusterFlags) Register(fl *pflag.FlagSet) {
	fl.Var(cli.NewWordList(&f.Words), "cluster", "run on several nodes: local:N starts N agents here; mpi takes the processes that mpirun or srun has started; slurm the agents on the nodes of this job; or a TOML file that lists them; or addresses of agents (labench agent), of which one is enough")
	fl.IntVar(&f.Agents, "agents", 0, "agents to wait for (default as many as --cluster names)")
	fl.BoolVar(&f.Idle, "idle", false, "with --cluster: compute on agents only, as is the default with local:N")
	fl.BoolVar(&f.Distributed, "distributed", false, "with --cluster: matrices that are on the nodes only; of gemm, cholesky, lu, qr, solve, lstsq and eigen, square but for lstsq, and random or of --input, a .npy file that each node reads")
	fl.StringVar(&f.Output, "output", "", "with --distributed: .npy file to which the nodes write the result, each its part")
	fl.Var(&f.Copies, "copies", "with --cluster: part of the time that it may take to keep second copies, from which what a lost node had is made again sooner; 0 for none (default 0.02)")
	f.Flags.register(fl, "")
}

// RegisterNodes defines the flags that name the nodes. words, agents and idle are the usage texts of --cluster,
// --agents and --idle. If idle is empty, there is no --idle.
func (f *ClusterFlags) RegisterNodes(fl *pflag.FlagSet, words, agents, idle string) {
	fl.Var(cli.NewWordList(&f.Words), "cluster", words)
	fl.IntVar(&f.Agents, "agents", 0, agents)
	if idle != "" {
		fl.BoolVar(&f.Idle, "idle", false, idle)
	}
	f.Flags.register(fl, "")
}

// CopiesFlag is the flag for second copies: the part of the time that they may take.
type CopiesFlag struct{ cluster.Copies }

// Set implements [pflag.Value].
func (c *CopiesFlag) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return errors.New("want a number from 0 to 1")
	}
	c.Copies = cluster.Copies{Share: x, Off: x == 0}
	return nil
}

// String implements [pflag.Value].
func (c *CopiesFlag) String() string { return "" }

// Type implements [pflag.Value].
func (c *CopiesFlag) Type() string { return "share" }

// Asked reports whether the flags ask for a cluster.
func (f *ClusterFlags) Asked() bool { return f.Local > 0 || f.OverMPI || len(f.Peers) > 0 }

// Find interprets --cluster. If it names a file, Find takes from it the flags that the command line does not
// set.
func (f *ClusterFlags) Find(given func(flag string) bool) error {
	at, err := locate(f.Words)
	if err != nil {
		return err
	}
	f.OverMPI = at.ranks
	if at.ranks {
		for _, flag := range []string{"agents", "name", "listen", "address", "certs"} {
			if given(flag) {
				return fmt.Errorf("--cluster mpi and --%s exclude each other: MPI knows who is there, and how to reach them", flag)
			}
		}
	}
	if f.Local, f.Peers = at.local, at.addresses; at.local > 0 {
		for _, flag := range []string{"agents", "listen", "address", "certs", "resources"} {
			if given(flag) {
				return fmt.Errorf("--cluster local:%d and --%s exclude each other: the agents are this machine's", at.local, flag)
			}
		}
		f.Agents, f.Idle = at.local, f.Idle || !given("idle")
	}
	if at.job {
		j, err := readSlurmJob(os.Getenv)
		if err != nil {
			return fmt.Errorf("--cluster %s: %w", slurmPeers, err)
		}
		f.Peers, f.certs = j.peers(), certificate(f.certs, "driver")
	}
	if at.file == "" {
		return nil
	}
	if f.file, err = readNodes(at.file); err != nil {
		return err
	}
	for _, n := range f.file.Node {
		f.Peers = append(f.Peers, n.Address)
	}
	take(&f.certs, f.file.Certs, given("certs"))
	take(&f.Name, f.file.Name, given("name"))
	take(&f.listen, f.file.Listen, given("listen"))
	take(&f.address, f.file.Address, given("address"))
	take(&f.Timeout, f.file.Timeout, given("node-timeout"))
	take(&f.Agents, f.file.Agents, given("agents"))
	take(&f.Idle, f.file.Idle, given("idle"))
	take(&f.Distributed, f.file.Distributed, given("distributed"))
	return nil
}

// Alone returns an error if a flag is given that is for several nodes: one of more, or of those that all commands have.
func Alone(given func(flag string) bool, more ...string) error {
	for _, flag := range append(more, "agents", "idle", "name", "listen", "address", "certs", "node-timeout") {
		if given(flag) {
			return fmt.Errorf("--%s is for --cluster", flag)
		}
	}
	return nil
}

// Check returns what is wrong with the flags. It refuses what needs a single node.
func (f *ClusterFlags) Check(op string, given func(flag string) bool) error {
	if err := f.Find(given); err != nil {
		return err
	}
	if !f.Asked() {
		return Alone(given, "distributed", "output", "copies")
	}
	for _, flag := range []string{"exclude", "devices", "versions", "profile"} {
		if given(flag) && !((f.OverMPI || f.Local > 0) && flag != "exclude") {
			return fmt.Errorf("--cluster and --%s exclude each other: each node sees to its own", flag)
		}
	}
	if f.Distributed {
		if !slices.Contains([]string{"gemm", "cholesky", "lu", "qr", "solve", "lstsq", "eigen"}, op) {
			return errors.New("--distributed is for gemm, cholesky, lu, qr, solve, lstsq and eigen")
		}
		for _, flag := range []string{"general", "b"} {
			if given(flag) {
				return fmt.Errorf("--distributed and --%s exclude each other: only one symmetric matrix is decomposed on nodes", flag)
			}
		}
		for _, flag := range []string{"matrix", "m", "k"} {
			if given(flag) && !(flag == "m" && op == "lstsq") {
				return fmt.Errorf("--distributed and --%s exclude each other: matrices are square, and random or of --input", flag)
			}
		}
	}
	if f.Output != "" && !f.Distributed {
		return errors.New("--output is for --distributed")
	}
	if f.Output != "" && !strings.HasSuffix(f.Output, ".npy") {
		return &cli.ListError{Flag: "output", Element: f.Output, Allowed: "a file .npy: it is what several nodes can write"}
	}
	if f.Agents < 0 {
		return fmt.Errorf("--agents is %d, want at least 0", f.Agents)
	}
	if f.Timeout < 0 { // jobs are checked with 0 before an agent sets its own time-out: see listening
		return f.Flags.sensible()
	}
	return nil
}

// ByOwner reports whether tasks go to the owners of tiles.
func (f *ClusterFlags) ByOwner() bool { return f.Distributed && !f.Policied }

// Watch returns a function that reports the state of the cluster, which is empty until there is a driver. It
// returns nil if the flags ask for no cluster.
func (f *ClusterFlags) Watch() func() trace.Cluster {
	if !f.Asked() {
		return nil
	}
	return func() (c trace.Cluster) {
		if d := f.driver.Load(); d != nil {
			c = d.Watch()
		}
		return c
	}
}

// Drive connects to the cluster. The driver is nil if the flags ask for none.
func (f *ClusterFlags) Drive(ctx context.Context, a *cli.App, workers int, resources []exec.Resource, policy dispatch.Kind, byPriority bool) (d *cluster.Driver, end func() error, err error) {
	if !f.Asked() {
		return nil, func() error { return nil }, nil
	}
	var agents *spawned
	if f.Local > 0 {
		a.WarnCrowded(f.Local)
		if agents, f.Peers, err = spawn(ctx, a, f.Local, workers, f.Timeout, &f.Each); err != nil {
			return nil, nil, err
		}
		if f.Idle {
			workers = 1 // it reads and writes the matrices of the program
		}
	}
	if d, end, err = f.connect(ctx, a, workers, resources, policy, byPriority); err != nil {
		agents.stop()
		return nil, nil, err
	}
	left := end
	return d, func() error { defer agents.stop(); return left() }, nil
}

// connect makes this process the driver of running agents.
func (f *ClusterFlags) connect(ctx context.Context, a *cli.App, workers int, resources []exec.Resource, policy dispatch.Kind, byPriority bool) (d *cluster.Driver, end func() error, err error) {
	rt, close, err := f.runtime(workers, resources)
	if err != nil {
		return nil, nil, err
	}
	leaveRoom(len(rt.Workers()))
	var opt cluster.Options
	if f.ranks != nil {
		if f.Sweeps {
			err = f.ranks.next()
		}
		opt = f.ranks.options()
	} else {
		opt, err = f.join(a, rt)
	}
	if err != nil {
		return nil, nil, errors.Join(err, close())
	}
	opt.Trace = f.Trace
	opt.Copies = f.Copies.Copies
	opt.Idle, opt.Policy, opt.ByPriority, opt.Owner, opt.Stay = f.Idle, policy, byPriority, f.ByOwner(), f.Stay
	opt.Admit = f.Admit
	f.transport = opt.Transport
	end = func() error { return errors.Join(opt.Transport.Close(), close()) }
	if d, err = cluster.NewDriver(opt); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	f.driver.Store(d)
	end = func() error { return errors.Join(d.Close(), close()) }
	want, what := f.Known(), strings.Join(f.Peers, ",")
	if f.ranks != nil {
		want, what = cmp.Or(f.Agents, f.ranks.world.Size()-1), "mpi"
	}
	limit, nobody := 4*f.Timeout, "no other one answers"
	if f.ranks == nil && f.Local == 0 {
		if f.certs == "" {
			nobody += ". Do the agents have certificates? Then this needs --certs, too"
		}
		soon, enough := context.WithTimeout(ctx, 2*time.Second)
		if d.Await(soon, want) != nil && ctx.Err() == nil {
			report.FprintWrapped(a.Err, "labench: ", fmt.Sprintf("waiting for %s at %s, for %v at most", report.Count(want, "agent"), what, limit))
		}
		enough()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New(nobody))
	defer cancel()
	err = d.Await(ctx, want)
	for err == nil && f.file != nil && want == f.direct() {
		missing := f.file.missing(d.Nodes())
		if len(missing) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			err = fmt.Errorf("there is no node %s; there are %s", strings.Join(missing, ", "), strings.Join(d.Nodes()[1:], ", "))
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--cluster %s: %w", what, err), end())
	}
	return d, end, nil
}

// Members returns the computing nodes, as far as a file or the agents that --cluster names describe them. The
// driver is the first of them, with the given number of workers, unless it does not compute.
func (f *ClusterFlags) Members(ctx context.Context, a *cli.App, workers int) (all []Member, apart bool, err error) {
	apart = f.Idle
	switch {
	case f.Local > 0:
		for i, n := range shares(workers, f.Local) {
			all = append(all, Member{Name: fmt.Sprint("agent", i), Workers: n})
		}
	case f.file != nil:
		for _, n := range f.file.top() {
			n.Name, n.Workers = cmp.Or(n.Name, n.Address), max(n.Workers, 1)
			all = append(all, n)
		}
	default:
		f.Idle = true // this driver only asks
		d, end, err := f.Drive(ctx, a, 1, nil, dispatch.Priority, false)
		if err != nil {
			return nil, false, err
		}
		for _, u := range d.Usage()[1:] {
			if !u.Lost {
				all = append(all, Member{Name: u.Node, Workers: u.Workers, Memory: cli.Size(u.Memory)})
			}
		}
		if err := end(); err != nil {
			return nil, false, err
		}
		f.Idle = apart
	}
	if !apart {
		all = append([]Member{{Name: "driver", Workers: workers}}, all...)
	}
	return all, apart, nil
}

// Link returns the bytes per second that each node can receive, from the file; 0 if unknown.
func (f *ClusterFlags) Link() cli.Size {
	if f.file == nil {
		return 0
	}
	return f.file.Link
}

// Known returns how many agents --cluster and --agents name, or how many ranks there are beside the driver.
func (f *ClusterFlags) Known() int {
	if _, size, ok := mpi.Launched(); f.OverMPI && ok {
		return size - 1
	}
	return cmp.Or(f.Agents, f.direct())
}

// First returns the flags for a run on n agents, which are those that admitted admits.
func (f *ClusterFlags) First(n int) *ClusterFlags {
	return &ClusterFlags{Flags: f.Flags, Words: f.Words, Agents: n, Idle: f.Idle, Distributed: f.Distributed, Output: f.Output, Copies: f.Copies,
		Policied: f.Policied, Each: f.Each, Admit: f.admitted(n), Sweeps: f.Sweeps, Stay: f.Stay,
		Local: min(f.Local, n), OverMPI: f.OverMPI, ranks: f.ranks, file: f.file}
}

// admitted returns a function that admits n agents: the first ranks, or the first of the file, if it has names, or else
// those that come first.
func (f *ClusterFlags) admitted(n int) func(name string) bool {
	var names []string
	if f.ranks != nil {
		for rank := range n {
			names = append(names, f.ranks.world.Name(rank+1))
		}
	}
	if f.file != nil {
		for _, x := range f.file.top() {
			if x.Name != "" {
				names = append(names, x.Name)
			}
		}
	}
	fixed := len(names) >= n
	if fixed {
		names = names[:n]
	}
	return func(name string) bool {
		if !fixed && len(names) < n && !slices.Contains(names, name) {
			names = append(names, name)
		}
		return slices.Contains(names, name)
	}
}

// direct returns the number of agents that the driver is to have, as far as --cluster names them.
func (f *ClusterFlags) direct() int {
	if f.file != nil {
		return len(f.file.top())
	}
	return len(f.Peers)
}

// runtime returns the runtime on which this process computes. The function that it returns closes the runtime.
func (f *ClusterFlags) runtime(workers int, resources []exec.Resource) (rt *exec.Local, close func() error, err error) {
	if f.ranks != nil {
		return f.ranks.rt, func() error { return nil }, nil // the ranks close it
	}
	if rt, err = exec.NewLocal(exec.Options{Workers: workers, Resources: resources, Float: true}); err != nil {
		return nil, nil, err
	}
	return rt, rt.Close, nil
}

// Computing returns the names of the connected nodes that compute.
func (f *ClusterFlags) Computing(d *cluster.Driver) []string {
	names := d.Nodes()
	if f.Idle && len(names) > 1 {
		names = names[1:]
	}
	return names
}

// Speeds returns the speeds of the nodes that own tiles, in the order of their numbers. They come from the
// file, if it has any, or else from the driver. A node that the file does not list has the same speed per
// worker as the others.
func (f *ClusterFlags) Speeds(d *cluster.Driver) []float64 {
	all, known := d.Speeds(), f.file.speeds()
	if known == nil {
		return all
	}
	names := d.Nodes()
	names = names[len(names)-min(len(names), len(all)):] // an idle driver owns nothing
	rate, workers := 0.0, 0.0
	for i, name := range names {
		if known[name] > 0 {
			rate, workers = rate+known[name], workers+all[i]
		}
	}
	for i, name := range names {
		switch {
		case known[name] > 0:
			all[i] = known[name]
		case workers > 0:
			all[i] *= rate / workers
		}
	}
	return all
}
