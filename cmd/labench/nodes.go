package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// nodeFlags is what makes this process a node of a cluster, as a command line says it.
type nodeFlags struct {
	name, listen string
	peers        []string
	certs        string
	timeout      time.Duration
}

// register defines the flags on fl.
func (f *nodeFlags) register(fl *pflag.FlagSet, listen string) {
	fl.StringVar(&f.name, "name", "", "name of this node (default the certificate's, or the machine's and a number)")
	text := "address to listen on; port 0 takes a free one"
	if listen == "" {
		text += " (default one by which the first node of --cluster reaches this one)"
	}
	fl.StringVar(&f.listen, "listen", listen, text)
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

// join returns a node of the cluster that executes tasks on workers of this machine. Who
// gets it closes the transport, or has cluster do it, and then the runtime.
func (f *nodeFlags) join(a *app, workers int, resources []exec.Resource) (opt cluster.Options, err error) {
	if f.timeout <= 0 {
		return opt, usage(fmt.Errorf("--node-timeout is %v, want more than 0", f.timeout))
	}
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return at
	}}))
	var config *tls.Config
	if f.certs != "" {
		name := ""
		if config, name, err = certs.Read(f.certs); err != nil {
			return opt, err
		}
		if f.name != "" && f.name != name {
			return opt, usage(fmt.Errorf("--name is %s, and the certificate in %s is that of %s", f.name, f.certs, name))
		}
		f.name = name
	}
	if f.name == "" {
		host, _ := os.Hostname()
		f.name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if f.listen == "" {
		f.listen = outward(f.peers[0])
	}
	for _, p := range append([]string{f.listen}, f.peers...) {
		host, _, err := net.SplitHostPort(p)
		switch {
		case err != nil:
			return opt, usage(fmt.Errorf("%q is no address of a node: want host:port", p))
		case f.certs == "" && !net.ParseIP(host).IsLoopback():
			return opt, usage(fmt.Errorf("without --certs nodes talk on loopback addresses only, as 127.0.0.1:7400, and %s is none", p))
		}
	}
	w := web.Options{Name: f.name, Listen: f.listen, Peers: f.peers, Plain: config == nil, TLS: config, Timeout: f.timeout, Greet: f.greeting(), Log: log}
	if opt.Transport, err = web.New(w); err != nil {
		if bad := (*web.OptionsError)(nil); errors.As(err, &bad) {
			err = usage(err)
		}
		return opt, err
	}
	opt.Ops, opt.Values, opt.Errors, opt.Log = builtin.NewTable().All(), kernels.Values(), kernels.Errors(), log
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: workers, Resources: resources, Float: true})
	if err != nil {
		return opt, errors.Join(err, opt.Transport.Close())
	}
	return opt, nil
}

// clusterFlags is the cluster that an operation is to run on.
type clusterFlags struct {
	nodeFlags
	agents      int
	idle        bool
	distributed bool
}

func (f *clusterFlags) register(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.peers, "cluster", nil, "run on several nodes: addresses of agents (labench agent), of which one is enough")
	fl.IntVar(&f.agents, "agents", 0, "agents to wait for (default as many as --cluster names)")
	fl.BoolVar(&f.idle, "idle", false, "with --cluster: compute on agents only")
	fl.BoolVar(&f.distributed, "distributed", false, "with --cluster: matrices that are on the nodes only; of gemm, cholesky and lu, square and random")
	f.nodeFlags.register(fl, "")
}

// check returns what is wrong with the flags. What a single node only can do is refused.
func (f *clusterFlags) check(op string, given func(flag string) bool) error {
	if len(f.peers) == 0 {
		for _, flag := range []string{"agents", "idle", "distributed", "name", "listen", "certs", "node-timeout"} {
			if given(flag) {
				return fmt.Errorf("--%s is for --cluster", flag)
			}
		}
		return nil
	}
	for _, flag := range []string{"report", "trace", "dot", "monitor", "devices", "versions", "exclude", "profile"} {
		if given(flag) {
			return fmt.Errorf("--cluster and --%s exclude each other: each node sees to its own", flag)
		}
	}
	if f.distributed {
		if op != "gemm" && op != "cholesky" && op != "lu" {
			return fmt.Errorf("--distributed is for gemm, cholesky and lu")
		}
		for _, flag := range []string{"input", "matrix", "m", "k", "pivot", "sched"} {
			if given(flag) {
				return fmt.Errorf("--distributed and --%s exclude each other: matrices are square and random, and tasks go to the owners of tiles", flag)
			}
		}
	}
	if f.agents < 0 {
		return fmt.Errorf("--agents is %d, want at least 0", f.agents)
	}
	return nil
}

// drive connects with the cluster. The driver is nil if none is asked for.
func (f *clusterFlags) drive(ctx context.Context, a *app, workers int, resources []exec.Resource, policy dispatch.Kind) (d *cluster.Driver, end func() error, err error) {
	if len(f.peers) == 0 {
		return nil, func() error { return nil }, nil
	}
	opt, err := f.join(a, workers, resources)
	if err != nil {
		return nil, nil, err
	}
	opt.Idle, opt.Policy, opt.Owner = f.idle, policy, f.distributed
	end = func() error { return errors.Join(opt.Transport.Close(), opt.Runtime.Close()) }
	if d, err = cluster.NewDriver(opt); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	end = func() error { return errors.Join(d.Close(), opt.Runtime.Close()) }
	want := f.agents
	if want == 0 {
		want = len(f.peers)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 4*f.timeout, errors.New("no other one answers"))
	defer cancel()
	if err := d.Await(ctx, want); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--cluster %s: %w", strings.Join(f.peers, ","), err), end())
	}
	return d, end, nil
}
