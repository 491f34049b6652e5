package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/versions"
)

// localFlags is what an agent computes with, as a command line says it.
type localFlags struct {
	workers                               int
	resources, devices, versions, profile string
}

// register defines the flags on fl.
func (f *localFlags) register(fl *pflag.FlagSet) {
	fl.IntVar(&f.workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&f.resources, "resources", "", "TOML file that declares workers of several kinds, instead of --workers")
	fl.StringVar(&f.devices, "devices", "none", "accelerators beside the workers: "+deviceWords)
	fl.StringVar(&f.versions, "versions", "", "versions that may run, as in openblas,go, and op=version to fix that of one op")
	fl.StringVar(&f.profile, "profile", "none", "file of what is known of the versions' speed, which is saved at the end: each op then takes the fastest version, and otherwise the first one that can run")
}

// nodeOps returns the ops that nodes execute.
func nodeOps() []*versions.Op { return slices.Concat(op.NewTable().All(), file.Ops(), csr.Ops()) }

// open returns the runtime that the flags describe. End closes it, and saves the profile.
func (f *localFlags) open(a *app) (rt *exec.Local, end func() error, err error) {
	if f.workers < 0 || f.workers > 1<<14 {
		return nil, nil, usage(fmt.Errorf("--workers is %d, want 1 to %d, or 0 for one per core", f.workers, 1<<14))
	}
	x := exec.Options{Workers: f.workers, Float: true}
	if f.resources != "" {
		if x.Resources, err = readResources(f.resources); err != nil {
			return nil, nil, usage(err)
		}
	}
	c := versions.Config{Mode: versions.Static}
	if c.Only, c.Fixed, err = parseVersions(f.versions); err != nil {
		return nil, nil, usage(err)
	}
	if err := requestDevices(f.devices); err != nil {
		return nil, nil, usage(err)
	}
	if err := checkDeclared(f.workers, x.Resources); err != nil {
		return nil, nil, err
	}
	p := &profile{Profile: new(versions.Profile)}
	if f.profile != "none" {
		c.Mode = versions.Profiled
		if p, err = a.openProfile(f.profile); err != nil {
			return nil, nil, err
		}
	}
	c.Profile = p.Profile
	a.warnNoDevice(f.devices)
	if x.Accelerators, err = la.OpenAccelerators(f.devices); err != nil {
		return nil, nil, err
	}
	closeAll := func() (err error) {
		for _, d := range x.Accelerators {
			err = errors.Join(err, d.Close())
		}
		return err
	}
	if len(x.Accelerators) > 0 { // who knows how long things take can tell what is worth to go there
		c.Measure, x.Policy = true, dispatch.EarliestFinish
	}
	if x.Selector, err = versions.NewSelector(c); err == nil {
		err = x.Selector.Validate(nodeOps())
	}
	if err == nil {
		rt, err = exec.NewLocal(x)
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return rt, func() error {
		err := errors.Join(rt.Close(), closeAll())
		p.save(a)
		return err
	}, nil
}

// checkDeclared returns what is wrong with workers: what this machine has not, and ops that
// there are not.
func checkDeclared(workers int, all []exec.Resource) error {
	opt := la.Options{Workers: workers, Resources: slices.Clone(all)}
	for i, r := range all {
		for _, name := range r.Target.Ops {
			if !slices.ContainsFunc(nodeOps(), func(op *versions.Op) bool { return op.Name == name || op.OpName() == name }) {
				return usage(fmt.Errorf("workers for %q, and there is no such operation", name))
			}
		}
		opt.Resources[i].Target.Ops = nil // of which la knows fewer
	}
	return opt.Validate()
}
