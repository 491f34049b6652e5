package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/transport/web"
)

// onNodes calls run with a driver that executes nothing and agents of one worker each, in processes of their own.
func onNodes(ctx context.Context, agents int, run func(*cluster.Driver) error) error {
	opt, err := loopapps.Node("driver")
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	opt.Idle = true
	d, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer d.Close()
	for k := range agents {
		_, end, err := study.Start(fmt.Sprint("agent", k), web.Address(opt.Transport))
		if err != nil {
			return err
		}
		defer end()
	}
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := d.Await(soon, agents); err != nil {
		return err
	}
	return errors.Join(run(d), d.Close()) // before the agents end
}

// moved returns the bytes that nodes have fetched from one another so far.
func moved(d *cluster.Driver) (bytes int64) {
	for _, u := range d.Usage() {
		bytes += u.In
	}
	return bytes
}
