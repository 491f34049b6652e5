package loop

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// Site is a loop's place in a program. It keeps what Auto learns there from call to call. Loops
// with different items need sites of their own; a loop whose number of items, workers or parts
// changes needs only one. The zero value is ready to use. A Site is safe for concurrent use, and
// must not be copied after its first use.
type Site struct {
	// Name is the name of the loop's tasks in traces, errors and reports; empty means "loop". It
	// must not change after the first use.
	Name string

	once sync.Once
	op   *versions.Op
	long atomic.Bool // the last call took long: see submit

	mu      sync.Mutex // a leaf
	lessons []*lesson  // the latest used first
}

// maxLessons is how many lessons a site keeps: the latest used.
const maxLessons = 64

// about reports whether a lesson is for that number of items, workers and parts. Numbers of items
// between two powers of two count as equal.
func (l *lesson) about(items int, workers []exec.Worker, parts []Part) bool {
	if l.class != bits.Len(uint(items)) || len(l.locations) != len(workers) || len(l.places) != len(parts) {
		return false
	}
	for i := range workers {
		if l.locations[i] != workers[i].Location {
			return false
		}
	}
	for i := range parts {
		if l.places[i] != parts[i].Location {
			return false
		}
	}
	return true
}

// lesson returns the lesson of a call, a new one if there is none. The caller holds mu.
func (s *Site) lesson(items int, workers []exec.Worker, parts []Part) *lesson {
	i := slices.IndexFunc(s.lessons, func(l *lesson) bool { return l.about(items, workers, parts) })
	if i < 0 {
		l := &lesson{class: bits.Len(uint(items))}
		for w := range workers {
			l.locations = append(l.locations, workers[w].Location)
		}
		for p := range parts {
			l.places = append(l.places, parts[p].Location)
		}
		s.lessons = append(s.lessons[:min(len(s.lessons), maxLessons-1)], l)
		i = len(s.lessons) - 1
	}
	l := s.lessons[i]
	copy(s.lessons[1:i+1], s.lessons[:i])
	s.lessons[0] = l
	return l
}

// choose returns the plan of a call under Auto, with the number of its trial and its lesson, for
// learn.
func (s *Site) choose(items, grain int, workers []exec.Worker, parts []Part) (p Plan, trial int, l *lesson) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l = s.lesson(items, workers, parts)
	p, trial = l.choose(items, grain)
	return p, trial, l
}

// learn learns from a call whose plan choose has returned. Its lesson may have been dropped.
func (s *Site) learn(l *lesson, st *Stats, trial int, parts []Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.learn(st, trial, parts)
}
