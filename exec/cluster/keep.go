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

// keptSet implements [exec.Kept]: data that stay on the nodes between jobs. Driver.kept maps each of the
// values to its entry.
type keptSet struct {
	d      *Driver
	number uint64            // of the set; job numbers and set numbers are one series
	values []versions.Shaped // nil after Release
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

// Fetch implements [exec.Kept]. It first computes a value again if only a lost node had it. The
// driver tries its own copy from a holder; if that fails, recoverOrRelay runs a job that recovers
// the value or fetches it by way of a relay.
func (s *keptSet) Fetch(ctx context.Context, v versions.Shaped, into versions.Value) error {
	d := s.d
	copying, end := d.exec.store.within(ctx)
	defer end()
	// failures also counts holders that could not be reached. Entry.FailedFetches counts only holders
	// that did not have the value.
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
		fetched, holders := e.Ref, make([]string, 0, 4)
		for _, node := range e.Sources(func(node int) bool { return d.directory.Paths.IsOpen(0, node) }) {
			holders = append(holders, d.node(node).name)
		}
		d.placing.Unlock()
		var err error
		if len(holders) > 0 {
			if _, err = d.exec.store.copy(copying, into, fetched, givers{From: holders}); err == nil {
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
			return &NodeLostError{Node: strings.Join(holders, ", "), Data: e.Title(), Err: err}
		}
		pause := time.Duration(0)
		if err != nil { // the node may have left, and the directory may not know it yet
			pause = backoff(failures)
		}
		if there, err := s.recoverOrRelay(ctx, e, fetched, err, into, pause); there || err != nil {
			return err
		}
	}
}

// recoverOrRelay runs a job without tasks for e. why says why the driver could not fetch version
// tried; it is nil if the driver could ask no holder. The job's recovery computes a lost value again,
// and its relays fetch a value that the driver cannot reach. recoverOrRelay reports whether the value
// has arrived in into. If not, it pauses for at least minPause before it returns.
func (s *keptSet) recoverOrRelay(
	ctx context.Context, e *core.Entry, tried transport.Ref, why error, into versions.Value, minPause time.Duration,
) (there bool, err error) {
	d := s.d
	j := withRecovery(newJob(d, d.fleet, ctx, d.allNodes()))
	j.mu.Lock()
	if err := j.begin(); err != nil {
		j.mu.Unlock()
		return false, err
	}
	j.entries[e] = true
	if why != nil && e.Ref == tried { // unless it has been written or computed again since
		j.fetchFailed(e, 0, missingFrom(tried, why), why)
	}
	var from givers
	current := e.Ref // which may be later than tried: other jobs write kept data
	untilRoute, ok := j.routeHome(e)
	if ok && !e.Lost() {
		from = j.sourcesHome(e)
	}
	pause := max(min(untilRoute, core.CutPause), j.recoveryDelay, minPause)
	j.mu.Unlock()
	if len(from.From) == 1 && !from.Soon { // a relay, or a path that is tried again
		copying, end := d.exec.store.within(ctx)
		_, err := d.exec.store.copy(copying, into, current, from)
		end()
		j.mu.Lock()
		if there = err == nil; there {
			j.noteHome(from)
		} else if e.Ref == current { // unless it has been written meanwhile
			j.fetchFailed(e, 0, missingFrom(current, err), err)
		}
		j.mu.Unlock()
	}
	if !there {
		j.pause(pause)
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
