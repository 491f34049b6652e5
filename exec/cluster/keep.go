package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// keptSet implements [exec.Kept]: data that stay on the nodes between jobs.
type keptSet struct {
	d      *Driver
	number uint64
	values []versions.Shaped
}

// Keep implements [exec.Keeper].
func (d *Driver) Keep(values []versions.Shaped) (exec.Kept, error) {
	for _, v := range values {
		if f := core.FactsOf(v); !d.known.canSend(f.Kind) {
			return nil, fmt.Errorf("cluster: values of type %s stay on the driver: they are not in Options.Values", f.Kind)
		}
	}
	d.lock.Lock()
	if d.closed {
		d.lock.Unlock()
		return nil, exec.ErrClosed
	}
	d.last++
	s := &keptSet{d, d.last, values}
	d.lock.Unlock()
	d.placing.Lock()
	defer d.placing.Unlock()
	for i, v := range values {
		f := core.FactsOf(v)
		f.Sendable = true
		d.kept[v] = &core.Entry{Facts: f, Set: s.number, Ref: transport.Ref{Job: s.number, I: int32(i)}}
	}
	return s, nil
}

// Fetch implements [exec.Kept]. A value that only a lost node had is computed again first.
func (s *keptSet) Fetch(ctx context.Context, v versions.Shaped, into versions.Value) error {
	d := s.d
	copying, end := d.exec.store.within(ctx)
	defer end()
	for failures := 0; ; {
		d.placing.Lock()
		e := d.kept[v]
		if e == nil {
			d.placing.Unlock()
			return fmt.Errorf("cluster: the value is not kept, or not any more: %w", exec.ErrClosed)
		}
		if e.Unwritten() {
			d.placing.Unlock()
			return nil
		}
		r, from := e.Ref, make([]string, 0, 4)
		for _, h := range e.Sources(func(h int) bool { return d.directory.Paths.IsOpen(0, h) }) {
			from = append(from, d.node(h).name)
		}
		d.placing.Unlock()
		var err error
		if len(from) > 0 {
			if _, err = d.exec.store.copy(copying, into, r, givers{From: from}); err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if err != nil {
			failures++
		}
		if failures > maxFailedFetches {
			return &NodeLostError{Node: strings.Join(from, ", "), Data: e.Title(), Err: err}
		}
		rest := time.Duration(0)
		if err != nil { // the node may have left, and the directory may not know it yet
			rest = backoff(failures)
		}
		if there, err := s.recoverOrRelay(ctx, e, r, err, into, rest); there || err != nil {
			return err
		}
	}
}

// recoverOrRelay handles a value that the driver could not fetch. A job without tasks fetches it by
// way of a relay, or computes it again if it is lost. It reports whether the value has come, and
// pauses for at least least if not.
func (s *keptSet) recoverOrRelay(
	ctx context.Context, e *core.Entry, r transport.Ref, why error, into versions.Value, least time.Duration,
) (there bool, err error) {
	d := s.d
	j := withRecovery(newJob(d, d.fleet, ctx, d.allNodes()))
	j.mu.Lock()
	if err := j.begin(); err != nil {
		j.mu.Unlock()
		return false, err
	}
	j.entries[e] = true
	if why != nil && e.Ref == r { // unless it has been written or computed again since
		j.fetchFailed(e, 0, missingFrom(r, why), why)
	}
	var from givers
	name := e.Ref
	pause, ok := j.routeHome(e)
	if ok && !e.Lost() {
		from = j.sourcesHome(e)
	}
	rest := max(min(pause, core.CutPause), j.recoveryDelay, least)
	j.mu.Unlock()
	if len(from.From) == 1 && !from.Soon { // a relay, or a path that is tried again
		copying, end := d.exec.store.within(ctx)
		_, err := d.exec.store.copy(copying, into, name, from)
		end()
		j.mu.Lock()
		if there = err == nil; there {
			j.noteHome(from)
		} else if e.Ref == name {
			j.fetchFailed(e, 0, missingFrom(name, err), err)
		}
		j.mu.Unlock()
	}
	if !there {
		j.pause(rest)
	}
	return there, j.Wait()
}

// Locate implements [exec.Kept].
func (s *keptSet) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	s.d.placing.Lock()
	defer s.d.placing.Unlock()
	for i, v := range values {
		at[i] = s.d.kept[v].FirstHolder()
	}
	return at
}

// Release implements [exec.Kept].
func (s *keptSet) Release() {
	d, nodes := s.d, s.d.allNodes()
	var data []*core.Entry
	d.placing.Lock()
	for _, v := range s.values {
		if e := d.kept[v]; e != nil {
			data = append(data, e, e.Replica.Entry)
			e.Holders, e.Home.Present, e.Replica = nil, false, core.Replica{} // other data may have been made from it
			delete(d.kept, v)
		}
	}
	d.placing.Unlock()
	s.values = nil
	d.forget(s.number, nodes, data)
}
