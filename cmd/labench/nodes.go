package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// nodeFlags is what makes this process a node of a cluster, as a command line says it.
type nodeFlags struct {
	name, listen, address string
	peers                 []string
	certs                 string
	timeout               time.Duration
	job                   int   // that this process is, of the node of that name; 0 for none
	memory                int64 // its cap on operands; 0 for none
	aside                 bool  // this process only looks: another one may have its certificate
}

// register defines the flags on fl.
func (f *nodeFlags) register(fl *pflag.FlagSet, listen string) {
	fl.StringVar(&f.name, "name", "", "name of this node (default the certificate's, or the machine's and a number)")
	text := "address to listen on; port 0 takes a free one"
	if listen == "" {
		text += " (default one by which the first node of --cluster reaches this one)"
	}
	fl.StringVar(&f.listen, "listen", listen, text)
	fl.StringVar(&f.address, "address", "", "address at which other nodes reach this one (default --listen)")
	fl.StringVar(&f.certs, "certs", "", "directory with the node's certificate (labench cluster init); without it, loopback addresses only")
	fl.DurationVar(&f.timeout, "node-timeout", 5*time.Second, "a node that does not answer for that long is lost")
}

// outward returns an address of this machine, with a free port, by which another one reaches
// it, which it is told nothing of: a loopback address if there is none.
func outward(peer string) string {
	c, err := net.Dial("udp", peer)
	if err != nil {
		return "127.0.0.1:0"
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	if err != nil {
		return "127.0.0.1:0"
	}
	return net.JoinHostPort(host, "0")
}

// greeting is how often nodes greet each other.
func (f *nodeFlags) greeting() time.Duration { return min(f.timeout/10, 200*time.Millisecond) }

// join returns a node of the cluster that executes tasks on a runtime. Who gets it closes the
// transport, or has cluster do it.
func (f *nodeFlags) join(a *cli.App, rt exec.Runtime) (opt cluster.Options, err error) {
	name := ""
	if a.Attached { // others of the same cluster talk in the same place
		name = f.name + ": "
	}
	log := a.Log(name)
	t, err := f.listening(log)
	if err == nil {
		warnExposed(a, f.certs)
	}
	return nodeOptions(t, rt, log), err
}

// nodeOptions returns a node on a transport, that executes tasks on a runtime.
func nodeOptions(t transport.Transport, rt exec.Runtime, log *slog.Logger) (opt cluster.Options) {
	opt.Transport = t
	opt.Runtime, opt.Ops, opt.Values = rt, setup.NodeOps(), append(kernels.Values(), csr.Values()...)
	opt.Errors, opt.Log = slices.Concat(kernels.Errors(), file.Errors(), csr.Errors()), log
	opt.Program = cli.VersionLine(debug.ReadBuildInfo())
	return opt
}

// jobName returns the name under which a job of a node drives others.
func jobName(node string, job int) string { return fmt.Sprintf("%s/job%d", node, job) }

// hostOf returns the host of an address, host:port.
func hostOf(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", errors.New("want host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errors.New("its port is not a number from 0 to 65535")
	}
	return host, nil
}

// sensible returns what is wrong with the time-out.
func (f *nodeFlags) sensible() error {
	if f.timeout <= 0 {
		return fmt.Errorf("--node-timeout is %v, want more than 0", f.timeout)
	}
	return nil
}

// listening returns a transport that listens.
func (f *nodeFlags) listening(log *slog.Logger) (t transport.Transport, err error) {
	if err := f.sensible(); err != nil {
		return nil, cli.Usage(err)
	}
	var config *tls.Config
	if f.certs != "" {
		name := ""
		if config, name, err = certs.Read(f.certs); err != nil {
			return nil, err
		}
		if f.name != "" && f.name != name {
			return nil, cli.Usage(fmt.Errorf("--name is %s, and the certificate in %s is that of %s", f.name, f.certs, name))
		}
		f.name = cmp.Or(f.name, name)
	}
	if f.name == "" {
		host, _ := os.Hostname()
		f.name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if strings.Contains(f.name, "/") {
		return nil, cli.Usage(fmt.Errorf("a node is called %q, and the name of a node has no slash: jobs of agents have", f.name))
	}
	if f.job > 0 {
		f.name = jobName(f.name, f.job)
	} else if f.aside {
		f.name = fmt.Sprintf("%s/looks%d", f.name, os.Getpid())
	}
	if f.listen == "" {
		f.listen = outward(f.peers[0])
	}
	own := []string{f.listen}
	if f.address != "" {
		own = append(own, f.address)
	}
	for _, p := range append(own, f.peers...) {
		host, err := hostOf(p)
		switch {
		case err != nil:
			return nil, cli.Usage(fmt.Errorf("%q is no address of a node: %w", p, err))
		case f.certs == "" && !net.ParseIP(host).IsLoopback():
			return nil, cli.Usage(fmt.Errorf("without --certs nodes talk on loopback addresses only, as 127.0.0.1:7400, and %s is none", p))
		}
	}
	w := web.Options{Name: f.name, Listen: f.listen, Address: f.address, Peers: f.peers, Plain: config == nil, TLS: config, Timeout: f.timeout, Greet: f.greeting(), Memory: f.memory, Log: log}
	if t, err = web.New(w); err != nil {
		if bad := (*web.OptionsError)(nil); errors.As(err, &bad) {
			err = cli.Usage(err)
		}
		return nil, err
	}
	return t, nil
}

// clusterFlags is the cluster that an operation is to run on.
type clusterFlags struct {
	trace *trace.Recorder // what is recorded of tasks, nil for nothing
	nodeFlags
	words       []string // of --cluster: see locate
	agents      int
	idle        bool
	distributed bool
	output      string
	copies      copiesFlag
	stay        bool // with distributed: no node executes what another one owns

	local     int                            // agents to be started on this machine
	overMPI   bool                           // nodes are ranks of MPI
	ranks     *ranks                         // these, with this process
	file      *nodesFile                     // the file that --cluster names
	transport transport.Transport            // of the driver
	driver    atomic.Pointer[cluster.Driver] // once it is connected
}

func (f *clusterFlags) register(fl *pflag.FlagSet) {
	fl.Var(cli.NewWordList(&f.words), "cluster", "run on several nodes: local:N starts N agents here; mpi takes the processes that mpirun or srun has started; slurm the agents on the nodes of this job; or a TOML file that lists them; or addresses of agents (labench agent), of which one is enough")
	fl.IntVar(&f.agents, "agents", 0, "agents to wait for (default as many as --cluster names)")
	fl.BoolVar(&f.idle, "idle", false, "with --cluster: compute on agents only, as is the default with local:N")
	fl.BoolVar(&f.distributed, "distributed", false, "with --cluster: matrices that are on the nodes only; of gemm, cholesky, lu, qr, solve and lstsq, square but for lstsq, and random or of --input, a .npy file that each node reads")
	fl.StringVar(&f.output, "output", "", "with --distributed: .npy file to which the nodes write the result, each its part")
	fl.Var(&f.copies, "copies", "with --cluster: part of the time that it may take to keep second copies, from which what a lost node had is made again sooner; 0 for none (default 0.02)")
	f.nodeFlags.register(fl, "")
}

// copiesFlag is a flag for second copies: the part of the time that they may take.
type copiesFlag struct{ cluster.Copies }

// Set implements [pflag.Value].
func (c *copiesFlag) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return errors.New("want a number from 0 to 1")
	}
	c.Copies = cluster.Copies{Share: x, Off: x == 0}
	return nil
}

// String implements [pflag.Value].
func (c *copiesFlag) String() string { return "" }

// Type implements [pflag.Value].
func (c *copiesFlag) Type() string { return "share" }

// asked reports whether there is to be a cluster.
func (f *clusterFlags) asked() bool { return f.local > 0 || f.overMPI || len(f.peers) > 0 }

// find makes out what --cluster means, and takes from a file what the command line leaves open.
func (f *clusterFlags) find(given func(flag string) bool) error {
	at, err := locate(f.words)
	if err != nil {
		return err
	}
	f.overMPI = at.ranks
	if at.ranks {
		for _, flag := range []string{"agents", "name", "listen", "address", "certs"} {
			if given(flag) {
				return fmt.Errorf("--cluster mpi and --%s exclude each other: MPI knows who is there, and how to reach them", flag)
			}
		}
	}
	if f.local, f.peers = at.local, at.addresses; at.local > 0 {
		for _, flag := range []string{"agents", "listen", "address", "certs", "resources"} {
			if given(flag) {
				return fmt.Errorf("--cluster local:%d and --%s exclude each other: the agents are this machine's", at.local, flag)
			}
		}
		f.agents, f.idle = at.local, f.idle || !given("idle")
	}
	if at.job {
		j, err := readSlurmJob(os.Getenv)
		if err != nil {
			return fmt.Errorf("--cluster %s: %w", slurmPeers, err)
		}
		f.peers, f.certs = j.peers(), certificate(f.certs, "driver")
	}
	if at.file == "" {
		return nil
	}
	if f.file, err = readNodes(at.file); err != nil {
		return err
	}
	for _, n := range f.file.Node {
		f.peers = append(f.peers, n.Address)
	}
	take(&f.certs, f.file.Certs, given("certs"))
	take(&f.name, f.file.Name, given("name"))
	take(&f.listen, f.file.Listen, given("listen"))
	take(&f.address, f.file.Address, given("address"))
	take(&f.timeout, f.file.Timeout, given("node-timeout"))
	take(&f.agents, f.file.Agents, given("agents"))
	take(&f.idle, f.file.Idle, given("idle"))
	take(&f.distributed, f.file.Distributed, given("distributed"))
	return nil
}

// take sets a flag to what a file says, if it says something and the command line does not.
func take[T comparable](flag *T, said T, given bool) {
	if none := *new(T); said != none && !given {
		*flag = said
	}
}

// check returns what is wrong with the flags. What a single node only can do is refused.
func (f *clusterFlags) check(op string, given func(flag string) bool) error {
	if err := f.find(given); err != nil {
		return err
	}
	if !f.asked() {
		for _, flag := range []string{"agents", "idle", "distributed", "output", "name", "listen", "address", "certs", "node-timeout"} {
			if given(flag) {
				return fmt.Errorf("--%s is for --cluster", flag)
			}
		}
		return nil
	}
	for _, flag := range []string{"exclude", "devices", "versions", "profile"} {
		if given(flag) && !(f.overMPI && flag != "exclude") {
			return fmt.Errorf("--cluster and --%s exclude each other: each node sees to its own", flag)
		}
	}
	if f.distributed {
		if op == "syrk" || op == "trsm" {
			return errors.New("--distributed is for gemm, cholesky, lu, qr, solve and lstsq")
		}
		for _, flag := range []string{"matrix", "m", "k", "pivot", "sched"} {
			if given(flag) && !(flag == "m" && op == "lstsq") {
				return fmt.Errorf("--distributed and --%s exclude each other: matrices are square, and random or of --input, and tasks go to the owners of tiles", flag)
			}
		}
	}
	if f.output != "" && !f.distributed {
		return errors.New("--output is for --distributed")
	}
	if f.output != "" && !strings.HasSuffix(f.output, ".npy") {
		return &cli.ListError{Flag: "output", Element: f.output, Allowed: "a file .npy: it is what several nodes can write"}
	}
	if f.agents < 0 {
		return fmt.Errorf("--agents is %d, want at least 0", f.agents)
	}
	if f.timeout < 0 { // 0 is what jobs are checked with, before an agent gives its own: see listening
		return f.nodeFlags.sensible()
	}
	return nil
}

// watch returns what says where the cluster stands, nil if none is asked for. Before there is
// a driver it says nothing.
func (f *clusterFlags) watch() func() trace.Cluster {
	if !f.asked() {
		return nil
	}
	return func() (c trace.Cluster) {
		if d := f.driver.Load(); d != nil {
			c = d.Watch()
		}
		return c
	}
}

// drive connects with the cluster. The driver is nil if none is asked for.
func (f *clusterFlags) drive(ctx context.Context, a *cli.App, workers int, resources []exec.Resource, policy dispatch.Kind, byPriority bool) (d *cluster.Driver, end func() error, err error) {
	if !f.asked() {
		return nil, func() error { return nil }, nil
	}
	var agents *spawned
	if f.local > 0 {
		a.WarnCrowded(f.local)
		if agents, f.peers, err = spawn(ctx, a, f.local, workers, f.timeout); err != nil {
			return nil, nil, err
		}
		if f.idle {
			workers = 1 // which reads and writes the program's matrices
		}
	}
	if d, end, err = f.connect(ctx, a, workers, resources, policy, byPriority); err != nil {
		agents.stop()
		return nil, nil, err
	}
	left := end
	return d, func() error { defer agents.stop(); return left() }, nil
}

// connect makes this process the driver of agents that there are.
func (f *clusterFlags) connect(ctx context.Context, a *cli.App, workers int, resources []exec.Resource, policy dispatch.Kind, byPriority bool) (d *cluster.Driver, end func() error, err error) {
	rt, close, err := f.runtime(workers, resources)
	if err != nil {
		return nil, nil, err
	}
	leaveRoom(len(rt.Workers()))
	var opt cluster.Options
	if f.ranks != nil {
		opt = f.ranks.options()
	} else if opt, err = f.join(a, rt); err != nil {
		return nil, nil, errors.Join(err, close())
	}
	opt.Trace = f.trace
	opt.Copies = f.copies.Copies
	opt.Idle, opt.Policy, opt.ByPriority, opt.Owner, opt.Stay = f.idle, policy, byPriority, f.distributed, f.stay
	f.transport = opt.Transport
	end = func() error { return errors.Join(opt.Transport.Close(), close()) }
	if d, err = cluster.NewDriver(opt); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	f.driver.Store(d)
	end = func() error { return errors.Join(d.Close(), close()) }
	want, what := cmp.Or(f.agents, f.direct()), strings.Join(f.peers, ",")
	if f.ranks != nil {
		want, what = f.ranks.world.Size()-1, "mpi"
	}
	limit, nobody := 4*f.timeout, "no other one answers"
	if f.ranks == nil && f.local == 0 {
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

// direct returns how many agents the driver is to have, as far as --cluster names them.
func (f *clusterFlags) direct() int {
	if f.file != nil {
		return len(f.file.top())
	}
	return len(f.peers)
}

// runtime returns what this process computes with. Close ends it.
func (f *clusterFlags) runtime(workers int, resources []exec.Resource) (rt *exec.Local, close func() error, err error) {
	if f.ranks != nil {
		return f.ranks.rt, func() error { return nil }, nil // it is theirs to close
	}
	if rt, err = exec.NewLocal(exec.Options{Workers: workers, Resources: resources, Float: true}); err != nil {
		return nil, nil, err
	}
	return rt, rt.Close, nil
}

// computing returns the names of the nodes that are there and compute.
func (f *clusterFlags) computing(d *cluster.Driver) []string {
	names := d.Nodes()
	if f.idle && len(names) > 1 {
		names = names[1:]
	}
	return names
}

// speeds returns the speeds of the nodes that own tiles, in the order of their numbers: those
// of the file, if it has some, and otherwise what the driver knows. A node that the file does
// not list has as much for each worker as the others.
func (f *clusterFlags) speeds(d *cluster.Driver) []float64 {
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
