package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// Options configures a check. Zero fields take the defaults named.
type Options struct {
	// Device is one device, as cuda.ParseRequest reads it: one by number, "sim", or
	// "auto" for the first one.
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
// opening the device, a *cuda.RequestError or *cuda.NoDeviceError among others, or
// the cause of the end of ctx, with a report of what was done.
func Run(ctx context.Context, opt Options) (Report, error) {
	if opt.Budget == 0 {
		opt.Budget = DefaultBudget
	}
	began := time.Now()
	c := &check{opt: opt, request: opt.Device, began: began, end: began.Add(opt.Budget), profile: new(versions.Profile)}
	if opt.Device == "auto" {
		c.request = "cuda0" // which says why there is none
	}
	if err := c.introduce(); err != nil {
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

// introduce opens the device for the first time, and begins the report with what
// it is.
func (c *check) introduce() error {
	r, err := cuda.ParseRequest(c.request)
	if err != nil {
		return err
	}
	all, err := cuda.OpenDevices(r)
	if err != nil {
		return err
	}
	info, simulated := all[0].Info(), r.Simulated > 0
	word := "cuda"
	if simulated {
		word = "sim"
	}
	c.report = Report{Machine: c.opt.Machine, Build: c.opt.Build, Began: c.began.UTC().Truncate(time.Second), Budget: c.opt.Budget.Seconds(),
		Device: NewDevice(word, info), Simulated: simulated, Small: simulated || c.opt.Small,
		Copies: []Copies{}, Tiles: []Tile{}, Whole: []Whole{}, Skipped: []Skipped{}, Errors: []Failure{}}
	return all[0].Close()
}

// accelerator opens the device as an accelerator with so much memory for tiles,
// 0 for as much as there is.
func (c *check) accelerator(memory int64) (*cuda.Accelerator, error) {
	r, err := cuda.ParseRequest(c.request)
	if err != nil {
		return nil, err
	}
	all, err := cuda.OpenAccelerators(r, cuda.Options{Memory: memory})
	if err != nil {
		return nil, err
	}
	return all[0], nil
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
	_, device := errors.AsType[*cuda.OutOfMemoryError](err)
	_, machine := errors.AsType[*bench.MemoryError](err)
	switch {
	case c.ctx.Err() != nil:
		c.skip(name, "the time was up before it ended")
	case device, machine: // has no room for it
		c.skip(name, err.Error())
	default:
		c.report.Errors = append(c.report.Errors, Failure{name, err.Error()})
		if d, ok := errors.AsType[*cuda.DeviceError](err); ok && d.Lost {
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

// within runs a section on an accelerator with so much memory for tiles, that is
// opened for it and closed at its end.
func (c *check) within(name string, memory int64, section func(a *cuda.Accelerator)) {
	if c.why != "" || c.ctx.Err() != nil {
		section(nil) // to say what is skipped
		return
	}
	c.save(name)
	a, err := c.accelerator(memory)
	if err != nil {
		c.fail(name, err)
		return
	}
	section(a)
	if err := a.Close(); err != nil && c.why == "" {
		c.fail(name+", at its end", err)
	}
}
