package exec

import "time"

// Queued reports whether workers that are about to go to sleep take it that there
// are tasks.
func (l *Local) Queued() bool { return l.queued.Load() }

// Linger makes a lingering worker look for a task for d.
func (o *Options) Linger(d time.Duration) { o.linger = d }

// Looking returns how many workers look for tasks.
func (l *Local) Looking() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spinning
}

// Looks returns a watch over l in times that the caller makes up: it takes when the last look
// had ended and when this one begins, and returns what is newly stuck.
func (l *Local) Looks() func(last, now time.Time) []Stuck {
	jobs := map[*job]*progress{}
	return func(last, now time.Time) []Stuck { return l.watchdog.look(l.watchdog.opt.pause(last, now), now, jobs) }
}

// Nodes has the workers be on so many NUMA nodes, in turns.
func (o *Options) Nodes(n int) { o.nodes = n }

// Sleeping returns how many workers sleep.
func (l *Local) Sleeping() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.parked)
}
