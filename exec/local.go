package exec

import (
	"context"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// Local is a runtime on the cores of this machine, and its accelerators. It is safe for
// concurrent use.
//
// It only puts the parts together: a scheduler, jobs that submit to it, workers that take
// from it, devices, and the watchdog that looks at all of them.
type Local struct {
	*scheduler
	opt     Options
	jobs    jobs
	dog     *dog           // nil if there is no watchdog
	running sync.WaitGroup // worker goroutines
}

// NewLocal starts a runtime. The error is an *OptionsError for options that
// make no sense, and an *offload.InUseError for an accelerator that another runtime has.
// The caller must Close the runtime: its workers are goroutines
// and, unless Options.Float is set, locked threads.
func NewLocal(opt Options) (*Local, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	// What can fail comes first: a runtime that has begun has threads and devices.
	selector := opt.Selector
	if selector == nil {
		var err error
		if selector, err = versions.NewSelector(versions.Config{Mode: versions.Static}); err != nil {
			return nil, err
		}
	}
	if err := offload.Claim(opt.Accelerators); err != nil {
		return nil, err
	}
	if opt.Window == 0 {
		opt.Window = DefaultWindow
	}
	if opt.tempo == (tempo{}) {
		opt.tempo = usual()
	}
	l := &Local{opt: opt}
	l.jobs.live.jobs = make(map[*job]struct{})
	workers := place(&opt)
	hosts := len(workers)
	var devices offload.Devices
	// Devices ask the kinds, which know the devices: one of the two comes later.
	unfit := func(t *graph.Task, on *versions.Target) error { return l.kinds.unfit(t, on) }
	for _, a := range opt.Accelerators {
		devices = append(devices, offload.NewDevice(a, unfit))
	}
	workers = append(workers, placeDevices(workers, opt.Accelerators)...)
	l.scheduler = newScheduler(&l.opt, newKinds(selector, workers, hosts, devices), workers, hosts)
	if opt.Watchdog != nil {
		l.dog = newDog(l.scheduler, &l.jobs)
	}
	// Workers run from here on. All that they read is in place, but for the names of
	// accelerators and their copies: of these there are none before the first job.
	l.running.Add(len(workers))
	for _, w := range workers[:hosts] {
		x := newWorker(l.scheduler, l.dog, newSite(w, nil, opt.Recorder), &slot{}, &l.running)
		x.receives()
		go x.loop()
	}
	for i, d := range devices {
		record(opt.Recorder, d.Accelerator, hosts+i)
		p := &port{l.scheduler, l.dog, l.desks[i], newSite(workers[hosts+i], d, opt.Recorder), &l.running}
		go offload.NewWorker(d, offload.Options{Runtime: p, Devices: devices, Alone: opt.Alone}).Loop()
	}
	return l, nil
}

// record has a recorder, if there is one, know an accelerator by its name, and be told
// of its copies if it can tell. Copies have the times of the device's own clock, which may
// lie a little before the recorder's beginning.
func record(r *trace.Recorder, a offload.Accelerator, id int) {
	if r == nil {
		return
	}
	r.Name(id, a.Name())
	if c, ok := a.(offload.Copier); ok {
		c.OnCopy(func(c versions.Copy) {
			start := max(c.Begin.Sub(r.Began()), 0)
			r.Copy(trace.Copy{Worker: id, Out: c.Out, Job: c.Job, Bytes: c.Bytes, Start: start, End: start + c.Took})
		})
	}
}

// Workers implements [Runtime].
func (l *Local) Workers() []Worker { return slices.Clone(l.workers) }

// Target implements [Runtime]: that of the first worker on cores.
func (l *Local) Target() *versions.Target { return l.workers[0].Target }

// Selector implements [Runtime].
func (l *Local) Selector() *versions.Selector { return l.selector }

// Forget implements [Forgetter].
func (l *Local) Forget(value any) { l.devices.Forget(value) }

// NewJob implements [Runtime]. The job costs nothing before its first task.
func (l *Local) NewJob(ctx context.Context) Job { return newJob(l.scheduler, &l.jobs, ctx) }

// Close implements [Runtime].
func (l *Local) Close() error {
	// Jobs first: what runs ends, what waits is cancelled, and values come back from
	// devices while their workers are still there to conclude calls. Then no queue has
	// anything left, and workers end by themselves.
	again := l.jobs.close()
	l.close()
	l.running.Wait()
	// Nobody uses the accelerators any more: another runtime may have them.
	if again {
		return nil
	}
	// A recorder may outlive the runtime, and be given to the next one.
	for _, a := range l.opt.Accelerators {
		if c, ok := a.(offload.Copier); ok && l.opt.Recorder != nil {
			c.OnCopy(nil)
		}
	}
	offload.Release(l.opt.Accelerators)
	if l.dog != nil {
		l.dog.stop()
	}
	return nil
}
