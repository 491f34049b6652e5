package cluster

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// set is an [exec.Kept]: data that stay on the nodes between jobs.
type set struct {
	d      *Driver
	number uint64
	values []versions.Shaped
}

// Keep implements [exec.Keeper].
func (d *Driver) Keep(values []versions.Shaped) (exec.Kept, error) {
	for _, v := range values {
		if f := factsOf(v); !d.known.names(f.kind) {
			return nil, fmt.Errorf("cluster: values of type %s stay on the driver: they are not in Options.Values", f.kind)
		}
	}
	d.lock.Lock()
	if d.closed {
		d.lock.Unlock()
		return nil, exec.ErrClosed
	}
	d.last++
	s := &set{d, d.last, values}
	d.lock.Unlock()
	d.placing.Lock()
	defer d.placing.Unlock()
	for i, v := range values {
		f := factsOf(v)
		f.known = true
		d.kept[v] = &entry{facts: f, set: s.number, ref: transport.Ref{Job: s.number, I: int32(i)}}
	}
	return s, nil
}

// Fetch implements [exec.Kept]. What a lost node alone had is made again first.
func (s *set) Fetch(ctx context.Context, v versions.Shaped, into versions.Value) error {
	d := s.d
	for tries := 0; tries < 10; tries++ {
		d.placing.Lock()
		e := d.kept[v]
		if e == nil {
			d.placing.Unlock()
			return fmt.Errorf("cluster: the value is not kept, or not any more: %w", exec.ErrClosed)
		}
		if e.unmade() {
			d.placing.Unlock()
			return nil
		}
		r, from := e.ref, make([]string, 0, 4)
		for _, h := range e.from() {
			from = append(from, d.node(h).name)
		}
		d.placing.Unlock()
		var err error
		if len(from) > 0 {
			if _, err = d.exec.store.copy(into, r, givers{From: from}); err == nil {
				return nil
			}
		}
		// A job that does nothing makes again what is lost of what it uses.
		j := mending(newJob(d, d.fleet, ctx, d.now()))
		j.mu.Lock()
		if e.ref != r { // another job has written it since, or it was made again
			tries--
		} else if len(from) > 0 {
			j.vain(e, err)
		}
		if err := j.begin(); err != nil {
			j.mu.Unlock()
			return err
		}
		j.entries[e] = true
		j.mu.Unlock()
		if err := j.Wait(); err != nil {
			return err
		}
	}
	return &NodeLostError{Node: d.why().Node, Data: "a value that is kept"}
}

// Locate implements [exec.Kept].
func (s *set) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	s.d.placing.Lock()
	defer s.d.placing.Unlock()
	for i, v := range values {
		at[i] = s.d.kept[v].located()
	}
	return at
}

// Release implements [exec.Kept].
func (s *set) Release() {
	d, nodes := s.d, s.d.now()
	var data []*entry
	d.placing.Lock()
	for _, v := range s.values {
		if e := d.kept[v]; e != nil {
			data = append(data, e, e.second.copy)
			e.holders, e.home.there, e.second = nil, false, second{} // others may have been made from it
			delete(d.kept, v)
		}
	}
	d.placing.Unlock()
	s.values = nil
	d.forget(s.number, nodes, data)
}
