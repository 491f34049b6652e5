package loop

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Site is a loop's place in a program: what Auto learns there is kept in it, from call to
// call. Loops whose items differ want sites of their own; one whose number of items changes
// needs only one. The zero value is ready to use. A Site is safe for concurrent use, and must
// not be copied after its first use.
type Site struct {
	// Name is that of the loop's tasks in traces, errors and reports; empty means "loop". It
	// must not change after the first use.
	Name string

	once sync.Once
	op   *versions.Op
	long atomic.Bool // the last call took long: see submit

	mu      sync.Mutex // a leaf
	lessons map[course]*lesson
}

// course is what a lesson is about.
type course struct {
	class   int // of the number of items: from 2^(class−1) to below 2^class
	workers int
	parts   int // the number of them, or 0 if Options.Parts is not set
}

// choose returns the plan of a call under Auto, and its number for learn. Parts is nil if the
// plan has queues of its own.
func (s *Site) choose(items, grain int, workers []exec.Worker, parts []Part) (Plan, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lessons == nil {
		s.lessons = map[course]*lesson{}
	}
	locations := make([]int, len(workers))
	for i := range workers {
		locations[i] = workers[i].Location
	}
	var places []int
	for i := range parts {
		places = append(places, parts[i].Location)
	}
	c := course{bits.Len(uint(items)), len(workers), len(parts)}
	l := s.lessons[c]
	if l == nil || !slices.Equal(l.locations, locations) || !slices.Equal(l.places, places) {
		l = &lesson{locations: locations, places: places}
		s.lessons[c] = l
	}
	return l.choose(items, grain)
}

// learn learns from a call that choose has given its plan.
func (s *Site) learn(st *Stats, trial int, parts []Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lessons[course{bits.Len(uint(st.Items)), len(st.Workers), len(parts)}]; l != nil {
		l.learn(st, trial, parts)
	}
}
