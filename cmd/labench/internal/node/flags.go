package node

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// Flags are the flags that make this process a node of a cluster.
type Flags struct {
	Name, listen, address string
	Peers                 []string
	certs                 string
	Timeout               time.Duration
	Job                   int   // number of the job that this process is, of the node with that name; 0 for none
	memory                int64 // limit for operands in bytes; 0 for none
	aside                 bool  // this process only looks; another one may use its certificate
}

// register defines the flags on fl.
func (f *Flags) register(fl *pflag.FlagSet, listen string) {
	fl.StringVar(&f.Name, "name", "", "name of this node (default the certificate's, or the machine's and a number)")
	text := "address to listen on; port 0 takes a free one"
	if listen == "" {
		text += " (default one by which the first node of --cluster reaches this one)"
	}
	fl.StringVar(&f.listen, "listen", listen, text)
	fl.StringVar(&f.address, "address", "", "address at which other nodes reach this one (default --listen)")
	fl.StringVar(&f.certs, "certs", "", "directory with the node's certificate (labench cluster init); without it, loopback addresses only")
	fl.DurationVar(&f.Timeout, "node-timeout", 5*time.Second, "a node that does not answer for that long is lost")
}

// outward returns an address of this machine, with a free port, that peer can reach. It sends nothing to peer.
// It returns a loopback address if there is no other.
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

// greeting is the interval of the greetings between nodes.
func (f *Flags) greeting() time.Duration { return min(f.Timeout/10, 200*time.Millisecond) }

// join returns a node of the cluster that executes tasks on rt. The caller closes the transport, or cluster
// does.
func (f *Flags) join(a *cli.App, rt exec.Runtime) (opt cluster.Options, err error) {
	name := ""
	if a.Attached { // nodes of one cluster log to the same place
		name = f.Name + ": "
	}
	log := a.Log(name)
	t, err := f.listening(log)
	if err == nil {
		warnExposed(a, f.certs)
	}
	return nodeOptions(t, rt, log), err
}

// nodeOptions returns a node on t that executes tasks on rt.
func nodeOptions(t transport.Transport, rt exec.Runtime, log *slog.Logger) (opt cluster.Options) {
	opt.Transport = t
	opt.Runtime, opt.Ops, opt.Values = rt, setup.NodeOps(), append(kernels.Values(), csr.Values()...)
	opt.Errors, opt.Log = slices.Concat(kernels.Errors(), file.Errors(), csr.Errors()), log
	opt.Program = cli.VersionLine(debug.ReadBuildInfo())
	return opt
}

// jobName returns the name under which a job of a node is a driver.
func jobName(node string, job int) string { return fmt.Sprintf("%s/job%d", node, job) }

// sensible returns what is wrong with the time-out.
func (f *Flags) sensible() error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--node-timeout is %v, want more than 0", f.Timeout)
	}
	return nil
}

// lasting returns a name for this node's profile that is the same each time: the node's, or the machine's if the node
// has none of its own.
func (f *Flags) lasting() string {
	name := f.Name
	if name == "" && f.certs != "" {
		_, name, _ = certs.Read(f.certs) // listening says what is wrong with it
	}
	if name == "" {
		name, _ = os.Hostname()
	}
	return name
}

// listening returns a transport that listens.
func (f *Flags) listening(log *slog.Logger) (t transport.Transport, err error) {
	if err := f.sensible(); err != nil {
		return nil, cli.Usage(err)
	}
	var config *tls.Config
	if f.certs != "" {
		name := ""
		if config, name, err = certs.Read(f.certs); err != nil {
			return nil, err
		}
		if f.Name != "" && f.Name != name {
			return nil, cli.Usage(fmt.Errorf("--name is %s, and the certificate in %s is that of %s", f.Name, f.certs, name))
		}
		f.Name = cmp.Or(f.Name, name)
	}
	if f.Name == "" {
		host, _ := os.Hostname()
		f.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if strings.Contains(f.Name, "/") {
		return nil, cli.Usage(fmt.Errorf("a node is called %q, and the name of a node has no slash: jobs of agents have", f.Name))
	}
	if f.Job > 0 {
		f.Name = jobName(f.Name, f.Job)
	} else if f.aside {
		f.Name = fmt.Sprintf("%s/looks%d", f.Name, os.Getpid())
	}
	if f.listen == "" {
		f.listen = outward(f.Peers[0])
	}
	own := []string{f.listen}
	if f.address != "" {
		own = append(own, f.address)
	}
	for _, p := range append(own, f.Peers...) {
		host, err := hostOf(p)
		switch {
		case err != nil:
			return nil, cli.Usage(fmt.Errorf("%q is no address of a node: %w", p, err))
		case f.certs == "" && !net.ParseIP(host).IsLoopback():
			return nil, cli.Usage(fmt.Errorf("without --certs nodes talk on loopback addresses only, as 127.0.0.1:7400, and %s is none", p))
		}
	}
	w := web.Options{Name: f.Name, Listen: f.listen, Address: f.address, Peers: f.Peers, Plain: config == nil, TLS: config, Timeout: f.Timeout, Greet: f.greeting(), Memory: f.memory, Log: log}
	if t, err = web.New(w); err != nil {
		if bad := (*web.OptionsError)(nil); errors.As(err, &bad) {
			err = cli.Usage(err)
		}
		return nil, err
	}
	return t, nil
}

// take sets a flag to the value in a file, unless the value is zero or the command line sets the flag.
func take[T comparable](flag *T, said T, given bool) {
	if none := *new(T); said != none && !given {
		*flag = said
	}
}
