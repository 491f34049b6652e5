package main

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress is a bar on a terminal, shown once the work has taken a second. A
// nil *progress shows nothing.
type progress struct {
	w     io.Writer
	title string
	begin time.Time
	bars  *mpb.Progress
	bar   *mpb.Bar
}

func newProgress(w io.Writer, title string) *progress {
	return &progress{w: w, title: title, begin: time.Now()}
}

// update says how much is done. Calls must not overlap.
func (p *progress) update(done, total int) {
	if p == nil {
		return
	}
	if p.bar == nil {
		if time.Since(p.begin) < time.Second {
			return
		}
		p.bars = mpb.New(mpb.WithOutput(p.w), mpb.WithWidth(columns-30))
		p.bar = p.bars.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(p.title)),
			mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace)))
	}
	p.bar.SetCurrent(int64(done))
}

// end removes the bar.
func (p *progress) end() {
	if p == nil || p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
