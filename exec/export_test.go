package exec

import "time"

// Hurry makes a runtime take every task for one that is so short that one worker
// had better execute all of them.
func (o *Options) Hurry() {
	o.tempo = tempo{stretch: 1, quick: time.Hour, long: time.Hour, brisk: time.Hour, shared: time.Hour}
}

// Postponed returns how many tasks of j a worker has put into the graph.
func Postponed(of Job) int {
	j := of.(*job)
	j.submit.Lock()
	defer j.submit.Unlock()
	return int(j.backlog.read.Load())
}

// Queued reports whether workers that are about to go to sleep take it that there
// are tasks.
func (l *Local) Queued() bool { return l.queued.Load() }

// Linger has workers without a task look for one for so long, where that is worth
// while.
func (o *Options) Linger(d time.Duration) {
	o.tempo = usual()
	o.tempo.linger = d
}

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
