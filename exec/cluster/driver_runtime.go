package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// NewDriver makes this node a driver. The error is an *OptionsError, or the transport's.
// The caller must Close the driver.
func NewDriver(opt Options) (*Driver, error) {
	k, err := opt.validate()
	if err != nil {
		return nil, err
	}
	d := newDriver(opt, k)
	if err := opt.Transport.Start(d.handle, d.event); err != nil {
		return nil, err
	}
	if opt.Watchdog != nil {
		d.dog = newWatchdog(d.fleet, d.activeJobs, opt.Watchdog)
	}
	return d, nil
}

// Await waits until the given number of agents is available. If ctx ends before that, the error names
// the available agents and says why other nodes that have answered are no agents of this driver. A
// *transport.DeafError says that other nodes cannot reach this one.
func (d *Driver) Await(ctx context.Context, agents int) error {
	for {
		d.lock.Lock()
		var there []string
		news, deaf := d.changed, d.deaf
		for i, n := range d.nodes {
			if i > 0 && n.unavailable == nil {
				there = append(there, n.name)
			}
		}
		d.lock.Unlock()
		if deaf != nil {
			return deaf
		}
		if len(there) >= agents {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			names := ""
			if len(there) > 0 {
				names = ", " + strings.Join(there, ", ")
			}
			late := fmt.Errorf("cluster: %d of %d agents are there%s: %w", len(there), agents, names, context.Cause(ctx))
			return errors.Join(late, d.refusals())
		}
	}
}

// NewJob implements [exec.Runtime]. The job uses the nodes that are available now, and nodes that
// join.
func (d *Driver) NewJob(ctx context.Context) exec.Job {
	if ctx == nil {
		ctx = context.Background()
	}
	return withGroups(withReplication(withRecovery(newJob(d, d.fleet, ctx, d.allNodes()))))
}

// Workers implements [exec.Runtime]: the workers of this node, then those of other nodes, kind by
// kind. This node's are spare if Options.Idle is set and there are others.
func (d *Driver) Workers() []exec.Worker {
	all := d.opt.Runtime.Workers()
	own := len(all)
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, n := range d.nodes[1:] {
		if n.unavailable != nil {
			continue
		}
		for i := range n.offer.Kinds {
			for range n.offer.Kinds[i].Workers {
				all = append(all, exec.Worker{ID: len(all), Location: n.index, Host: n.name, Target: &n.offer.Kinds[i].Target})
			}
		}
	}
	for i := range all[:own] {
		all[i].Spare = d.opt.Idle && own < len(all)
	}
	return all
}

// Target implements [exec.Runtime]: this node's target.
func (d *Driver) Target() *versions.Target { return d.opt.Runtime.Target() }

// Selector implements [exec.Runtime]: this node's selector. Each node has its own.
func (d *Driver) Selector() *versions.Selector { return d.opt.Runtime.Selector() }

// Close implements [exec.Runtime]. It closes the transport. Agents end what they have of the
// driver's jobs.
func (d *Driver) Close() error {
	d.lock.Lock()
	again := d.closed
	d.closed = true
	jobs := slices.Collect(maps.Values(d.jobs))
	d.lock.Unlock()
	if again {
		return nil
	}
	// As on one machine: running tasks end, waiting tasks are cancelled.
	for _, j := range jobs {
		j.outcome.Abort(exec.ErrClosed)
	}
	for _, j := range jobs {
		if !j.recovering { // a recovery is waited for by its job
			_ = j.Wait() // which is ErrClosed
		}
	}
	if d.dog != nil {
		d.dog.stop()
	}
	err := d.opt.Transport.Close() // until now nodes may come
	for _, n := range d.allNodes() {
		n.out.close()
	}
	d.exec.close(exec.ErrClosed)
	return err
}
