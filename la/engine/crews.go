package engine

import (
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// crews is the workers of nil engines. After a call they stay a while, for the next one:
//
//	take ──► a call ──► leave ──► idle ──┬─► take …
//	                                     └─► nothing takes them for as long as stay: they end
//
// Calls at the same time have workers each.
type crews struct {
	mu   sync.Mutex
	idle []*crew
}

// crew is the workers of one call.
type crew struct {
	rt   *exec.Local
	asks string      // what the environment says about workers
	end  *time.Timer // ends an idle crew
}

// stay is how long idle workers stay. To start two workers and end them takes some 100 µs.
const stay = 100 * time.Millisecond

var theCrews = sync.OnceValue(func() *crews { return new(crews) })

// preferred is the selector of a nil engine; nothing configures it after it is made.
var preferred = sync.OnceValue(func() *versions.Selector {
	s, err := versions.NewSelector(versions.Config{Mode: versions.Static})
	if err != nil {
		panic(err) // the configuration is empty
	}
	return s
})

// take returns an idle crew, or starts one.
func (s *crews) take() (*crew, error) {
	asks := os.Getenv(exec.WorkersVariable)
	s.mu.Lock()
	for i, c := range slices.Backward(s.idle) {
		if c.asks == asks {
			s.idle = slices.Delete(s.idle, i, i+1)
			s.mu.Unlock()
			c.end.Stop()
			return c, nil
		}
	}
	s.mu.Unlock()
	rt, err := exec.NewLocal(exec.Options{Selector: preferred()})
	if err != nil {
		return nil, err
	}
	return &crew{rt: rt, asks: asks}, nil
}

// leave ends the use of c by a call. If that did not end as it should, tasks of it may be left, and so c ends.
func (s *crews) leave(c *crew, clean bool) {
	if !clean {
		c.rt.Close()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, c)
	if c.end == nil {
		c.end = time.AfterFunc(stay, func() { s.expire(c) })
	} else {
		c.end.Reset(stay)
	}
}

// expire ends c if it is idle.
func (s *crews) expire(c *crew) {
	s.mu.Lock()
	i := slices.Index(s.idle, c)
	if i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		c.rt.Close()
	}
}
