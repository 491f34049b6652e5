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

// Local is a runtime on the cores of this machine, and its accelerators. It is safe for concurrent
// use.
//
// It only assembles the parts: a scheduler, jobs that submit to it, workers that take from it,
// devices, and the watchdog.
type Local struct {
	*scheduler
	opt      Options
	jobs     jobs
	watchdog *watchdog      // nil if there is no watchdog
	running  sync.WaitGroup // worker goroutines
}

// NewLocal starts a runtime. The error is an *OptionsError for options that make no sense, and an
// *offload.InUseError for an accelerator that another runtime uses. The caller must Close the
// runtime: its workers are goroutines and, unless Options.Float is set, locked threads.
func NewLocal(opt Options) (*Local, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	// Do first what can fail, before threads and devices are taken.
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
	if opt.linger == 0 {
		opt.linger = lingers
	}
	l := &Local{opt: opt}
	l.jobs.live.jobs = make(map[*job]struct{})
	workers := place(&opt)
	hosts := len(workers)
	var devices offload.Devices
	// Devices ask the kinds, and the kinds know the devices: hence the function.
	unfit := func(t *graph.Task, on *versions.Target) error { return l.kinds.unfit(t, on) }
	for _, a := range opt.Accelerators {
		devices = append(devices, offload.NewDevice(a, unfit))
	}
	workers = append(workers, placeDevices(workers, opt.Accelerators)...)
	l.scheduler = newScheduler(&l.opt, newKinds(selector, workers, hosts, devices), workers, hosts)
	if opt.Watchdog != nil {
		l.watchdog = newWatchdog(l.scheduler, &l.jobs)
	}
	// Workers run from here on, and all that they read is in place. Names and copies of
	// accelerators are recorded later, but there are none before the first job.
	l.running.Add(len(workers))
	for _, w := range workers[:hosts] {
		x := newWorker(l.scheduler, l.watchdog, newSite(w, nil, opt.Recorder), &slot{}, &l.running)
		x.allowGuests()
		go x.loop()
	}
	for i, d := range devices {
		record(opt.Recorder, d.Accelerator, hosts+i)
		p := &port{l.scheduler, l.watchdog, l.desks[i], newSite(workers[hosts+i], d, opt.Recorder), &l.running}
		go offload.NewWorker(d, offload.Options{Runtime: p, Devices: devices, Alone: opt.Alone}).Loop()
	}
	return l, nil
}

// record tells a recorder, if there is one, the name of an accelerator and, if the accelerator
// reports them, its copies. The times of a copy are those of the device's clock, by which a copy may
// begin a little before the recorder did.
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

// Target implements [Runtime].
func (l *Local) Target() *versions.Target { return l.workers[0].Target }

// Selector implements [Runtime].
func (l *Local) Selector() *versions.Selector { return l.selector }

// Forget implements [Forgetter].
func (l *Local) Forget(value any) { l.devices.Forget(value) }

// Retain implements [Retainer].
func (l *Local) Retain(values []any) (discard func()) {
	l.devices.Retain(values)
	return func() { l.devices.Discard(values) }
}

// NewJob implements [Runtime]. The job costs nothing before its first task.
func (l *Local) NewJob(ctx context.Context) Job { return newJob(l.scheduler, &l.jobs, ctx) }

// Close implements [Runtime].
func (l *Local) Close() error {
	// Jobs first: running tasks end, waiting ones are cancelled, and values come back from devices
	// while their workers can still conclude calls. Then the queues are empty and the workers end.
	again := l.jobs.close()
	l.close()
	l.running.Wait()
	// The runtime uses the accelerators no more: another one may have them.
	if again {
		return nil
	}
	// A recorder may outlive the runtime and serve the next one.
	for _, a := range l.opt.Accelerators {
		if c, ok := a.(offload.Copier); ok && l.opt.Recorder != nil {
			c.OnCopy(nil)
		}
	}
	offload.Release(l.opt.Accelerators)
	if l.watchdog != nil {
		l.watchdog.stop()
	}
	return nil
}
