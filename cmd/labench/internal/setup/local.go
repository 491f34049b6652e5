package setup

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// LocalFlags are the flags that say what an agent computes with.
type LocalFlags struct {
	Workers                               int
	Resources, Devices, Versions, Profile string
	Node                                  string // whose profile it is if Profile is empty; empty: no node's of a cluster
}

// Register defines the flags on fl.
func (f *LocalFlags) Register(fl *pflag.FlagSet) {
	fl.IntVar(&f.Workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&f.Resources, "resources", "", "TOML file that declares workers of several kinds, instead of --workers")
	fl.StringVar(&f.Devices, "devices", "none", "accelerators beside the workers: "+DeviceWords)
	fl.StringVar(&f.Versions, "versions", "", "versions that may run, as in openblas,go, and op=version to fix that of one op")
	fl.StringVar(&f.Profile, "profile", "", "file of what is known of the versions' speed, which is saved every 5 s, and at the end (default tessera/profile.NAME.json in the user's cache, with the name of the node; or none): if a file is named, each op takes the fastest version, and otherwise the first one that can run")
}

// NodeOps returns the ops that nodes can execute.
func NodeOps() []*versions.Op { return slices.Concat(op.NewTable().All(), file.Ops(), csr.Ops()) }

// Open returns the runtime that the flags describe. end closes it and saves the profile.
func (f *LocalFlags) Open(a *cli.App) (rt *exec.Local, end func() error, err error) {
	if f.Workers < 0 || f.Workers > 1<<14 {
		return nil, nil, cli.Usage(fmt.Errorf("--workers is %d, want 1 to %d, or 0 for one per core", f.Workers, 1<<14))
	}
	x := exec.Options{Workers: f.Workers, Float: true}
	if f.Resources != "" {
		if x.Resources, err = ReadResources(f.Resources); err != nil {
			return nil, nil, cli.Usage(err)
		}
	}
	c := versions.Config{Mode: versions.Static}
	if c.Only, c.Fixed, err = ParseVersions(f.Versions); err != nil {
		return nil, nil, cli.Usage(err)
	}
	if err := RequestDevices(f.Devices); err != nil {
		return nil, nil, cli.Usage(err)
	}
	if err := checkDeclared(f.Workers, x.Resources); err != nil {
		return nil, nil, err
	}
	p := &Profile{Profile: new(versions.Profile)}
	if f.Profile != "none" {
		// By default a node learns for later runs: what it has learned so far changes no version, and so no bits.
		if c.Measure = true; f.Profile != "" {
			c.Mode = versions.Profiled
		}
		if p, err = OpenProfileOf(a, f.Node, f.Profile); err != nil {
			return nil, nil, err
		}
	}
	c.Profile = p.Profile
	WarnNoDevice(a, f.Devices)
	if x.Accelerators, err = engine.OpenAccelerators(f.Devices); err != nil {
		return nil, nil, err
	}
	closeAll := func() (err error) {
		for _, d := range x.Accelerators {
			err = errors.Join(err, d.Close())
		}
		return err
	}
	if len(x.Accelerators) > 0 { // only a policy that knows how long tasks take can decide what to send to a device
		c.Measure, x.Policy = true, dispatch.EarliestFinish
	}
	if x.Selector, err = versions.NewSelector(c); err == nil {
		err = x.Selector.Validate(NodeOps())
	}
	if err == nil {
		rt, err = exec.NewLocal(x)
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	stop := p.keepEvery(a, 5*time.Second)
	return rt, func() error {
		stop()
		err := errors.Join(rt.Close(), closeAll())
		p.Keep(a)
		return err
	}, nil
}

// checkDeclared returns what is wrong with declared workers: resources that this machine lacks, and unknown
// ops.
func checkDeclared(workers int, all []exec.Resource) error {
	opt := la.Options{Workers: workers, Resources: slices.Clone(all)}
	for i, r := range all {
		for _, name := range r.Target.Ops {
			if !slices.ContainsFunc(NodeOps(), func(op *versions.Op) bool { return op.Name == name || op.OpName() == name }) {
				return cli.Usage(fmt.Errorf("workers for %q, and there is no such operation", name))
			}
		}
		opt.Resources[i].Target.Ops = nil // la knows fewer ops
	}
	return opt.Validate()
}
