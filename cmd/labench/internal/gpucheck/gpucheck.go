package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// Options configures a check. Zero fields take the defaults named.
type Options struct {
	// Device is the device, as cuda.ParseRequest reads it: one by number, "sim",
	// or "auto" for the first one there is.
	Device string
	// Budget is the time after which nothing new begins, and what computes on
	// workers is given up; 0 means [DefaultBudget].
	Budget time.Duration
	// Small has all sizes be small, to see that everything works. A simulated
	// device is always given small ones.
	Small   bool
	Workers int // on cores; 0: one per core

	Machine, Build string // for the report

	// Saved, if not nil, is called with the report after each point and before
	// the next one.
	Saved func(Report)
}

// DefaultBudget leaves half a minute of eight for what is under way at its end.
const DefaultBudget = 7*time.Minute + 30*time.Second

// RequestError says that not one device was asked for.
type RequestError struct{ Request string }

func (e *RequestError) Error() string {
	return fmt.Sprintf("gpucheck: %q is not one device; want auto, sim or a real one by number, as in cuda0", e.Request)
}

// check is a check under way.
type check struct {
	opt     Options
	request string // of the one device
	ctx     context.Context
	end     time.Time
	began   time.Time
	report  Report
	why     string // nothing more is done; empty if it is
	sizes   sizes
	profile *versions.Profile
}

// Run checks a device. What goes wrong is in the report; the error is that of
// opening the device, a *[RequestError], *cuda.RequestError or *cuda.NoDeviceError
// among others, or the cause of the end of ctx, with a report of what was done.
func Run(ctx context.Context, opt Options) (Report, error) {
	if opt.Budget == 0 {
		opt.Budget = DefaultBudget
	}
	began := time.Now()
	c := &check{opt: opt, began: began, end: began.Add(opt.Budget), profile: new(versions.Profile)}
	d, err := c.first()
	if err != nil {
		return Report{}, err
	}
	if err := d.Close(); err != nil {
		return Report{}, err
	}
	c.sizes = full()
	if c.report.Small {
		c.sizes = small()
	}
	limited, stop := context.WithDeadline(ctx, c.end)
	defer stop()
	c.ctx = limited
	for _, section := range []func(){c.copies, c.tiles, c.whole} {
		section()
	}
	c.report.Seconds = time.Since(c.began).Seconds()
	if ctx.Err() != nil {
		return c.report, context.Cause(ctx)
	}
	c.save("")
	return c.report, nil
}

// first opens the device for the first time and learns its name.
func (c *check) first() (cuda.Device, error) {
	r, err := cuda.ParseRequest(c.opt.Device)
	if err != nil {
		return nil, err
	}
	if !r.Auto && r.Simulated+len(r.Ordinals) != 1 {
		return nil, &RequestError{c.opt.Device}
	}
	if r.Auto {
		// Devices says why there is none, which OpenDevices does not.
		all, err := cuda.Devices()
		for _, d := range all[min(1, len(all)):] {
			err = errors.Join(err, d.Close())
		}
		if len(all) == 0 {
			return nil, &cuda.NoDeviceError{Device: "cuda0", Err: err}
		}
		return c.named(all[0], false), nil
	}
	all, err := cuda.OpenDevices(r)
	if err != nil {
		return nil, err
	}
	return c.named(all[0], r.Simulated > 0), nil
}

func (c *check) named(d cuda.Device, simulated bool) cuda.Device {
	info := d.Info()
	c.request = fmt.Sprintf("cuda%d", info.Ordinal)
	name := c.request
	if simulated {
		c.request, name = "sim", fmt.Sprintf("sim%d", info.Ordinal)
	}
	c.report = Report{Machine: c.opt.Machine, Build: c.opt.Build, Began: c.began.UTC().Truncate(time.Second), Budget: c.opt.Budget.Seconds(),
		Device:    Device{Name: name, Model: info.Name, Memory: info.Memory, Notes: append([]string{}, info.Notes...)},
		Simulated: simulated, Small: simulated || c.opt.Small,
		Copies: []Copies{}, Tiles: []Tile{}, Whole: []Whole{}, Skipped: []Skipped{}, Errors: []Failure{}}
	return d
}

// open opens the device again.
func (c *check) open() (cuda.Device, error) {
	r, err := cuda.ParseRequest(c.request)
	if err != nil {
		return nil, err
	}
	all, err := cuda.OpenDevices(r)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// accelerator opens the device as an accelerator with so much memory for tiles,
// 0 for as much as there is.
func (c *check) accelerator(memory int64) (*cuda.Accelerator, error) {
	d, err := c.open()
	if err != nil {
		return nil, err
	}
	opt := cuda.Options{Name: c.report.Device.Name, Memory: memory}
	a, err := cuda.NewAccelerator(d, opt)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return a, nil
}

// point does one thing that is expected to take need: f returns what it adds to
// the report, if it comes to an end. It is skipped if there is no time for it,
// or nothing is done any more.
func (c *check) point(name string, need time.Duration, f func() error) {
	left := time.Until(c.end)
	switch {
	case c.ctx.Err() != nil && left > 0:
		return // interrupted
	case c.why != "":
		c.skip(name, c.why)
		return
	case left < need || left <= 0:
		c.skip(name, fmt.Sprintf("no time: %v left, %v expected", max(left, 0).Round(time.Second), need.Round(time.Second)))
		return
	}
	c.save(name)
	if err := safely(f); err != nil {
		c.fail(name, err)
	}
}

// safely returns a panic of f as an error: what it says is worth more than the
// rest of the points, which may do.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// fail notes how a point ended. On a lost device nothing more is done.
func (c *check) fail(name string, err error) {
	var (
		d    *cuda.DeviceError
		room *cuda.OutOfMemoryError
	)
	switch {
	case c.ctx.Err() != nil:
		c.skip(name, "the time was up before it ended")
	case errors.As(err, &room), roomless(err):
		c.skip(name, err.Error())
	default:
		c.report.Errors = append(c.report.Errors, Failure{name, err.Error()})
		if errors.As(err, &d) && d.Lost {
			c.why = "the device is lost"
		}
	}
}

func (c *check) skip(name, why string) {
	c.report.Skipped = append(c.report.Skipped, Skipped{name, why})
}

// save hands out the report, before the point of that name begins.
func (c *check) save(point string) {
	if c.opt.Saved == nil {
		return
	}
	r := c.report
	r.Seconds, r.Point = time.Since(c.began).Seconds(), point
	c.opt.Saved(r)
}

// within runs a section on a device, or an accelerator on it, that is opened for
// it and closed at its end.
func (c *check) within(name string, open func() (interface{ Close() error }, error), section func()) {
	if c.why != "" || c.ctx.Err() != nil {
		section() // to say what is skipped
		return
	}
	c.save(name)
	d, err := open()
	if err != nil {
		c.fail(name, err)
		return
	}
	section()
	if err := d.Close(); err != nil && c.why == "" {
		c.fail(name+", at its end", err)
	}
}
