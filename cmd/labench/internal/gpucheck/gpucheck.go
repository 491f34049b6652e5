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

// Options configures a check. The defaults of zero fields are given below.
type Options struct {
	// Device is one device in the syntax of cuda.ParseRequest: its number, "sim", or "auto" for the first one.
	Device string
	// Budget is the time after which no new point begins, and computations on workers are cancelled; 0 means
	// [DefaultBudget].
	Budget time.Duration
	// Small makes all sizes small, to see that everything works. A simulated device always gets small sizes.
	Small   bool
	Workers int // number of CPU workers; 0: one per core

	Machine, Build string // for the report

	// Saved, if not nil, is called with the report after each point and before the next one.
	Saved func(Report)
}

// DefaultBudget leaves half a minute of eight minutes for the point that is running at its end.
const DefaultBudget = 7*time.Minute + 30*time.Second

// check is the state of a running check.
type check struct {
	opt     Options
	request string // of the one device
	ctx     context.Context
	end     time.Time
	began   time.Time
	report  Report
	why     string // why no more points are run; empty if they are
	sizes   sizes
	profile *versions.Profile
}

// introduce opens the device for the first time and begins the report with its description.
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
		Copies: []Copies{}, Tiles: []Tile{}, Again: []Again{}, Whole: []Whole{}, Skipped: []Skipped{}, Errors: []Failure{}}
	return all[0].Close()
}

// accelerator opens the device as an accelerator with the given memory for tiles; 0 means all memory.
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

// point runs one point, which is expected to take need. f returns a function that adds the result to the
// report, if f succeeds. The point is skipped if too little time is left, or if no more points are run.
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

// safely returns a panic of f as an error, so that the remaining points may still run.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// fail records why a point failed. If the device is lost, no more points are run.
func (c *check) fail(name string, err error) {
	_, device := errors.AsType[*cuda.OutOfMemoryError](err)
	_, machine := errors.AsType[*bench.MemoryError](err)
	switch {
	case c.ctx.Err() != nil:
		c.skip(name, "the time was up before it ended")
	case device, machine: // it has not enough memory
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

// save passes the report to Options.Saved, before the named point begins.
func (c *check) save(point string) {
	if c.opt.Saved == nil {
		return
	}
	r := c.report
	r.Seconds, r.Point = time.Since(c.began).Seconds(), point
	c.opt.Saved(r)
}

// within runs a section on an accelerator with the given memory for tiles. The accelerator is opened and closed
// for it.
func (c *check) within(name string, memory int64, section func(a *cuda.Accelerator)) {
	if c.why != "" || c.ctx.Err() != nil {
		section(nil) // reports what is skipped
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
