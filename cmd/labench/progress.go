package main

import (
	"io"
	"strings"
	"time"
)

// progress is a bar in a [status] line, shown once the work has taken a second.
// A nil *progress shows nothing.
type progress struct {
	line  *status
	title string
	begin time.Time
	next  time.Time // not drawn before: to write for every task would cost time
}

func newProgress(w io.Writer, title string) *progress {
	now := time.Now()
	return &progress{line: newStatus(w), title: title, begin: now, next: now.Add(time.Second)}
}

// update says how much is done. Calls must not overlap.
func (p *progress) update(done, total int) {
	if p == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(100 * time.Millisecond)
	const width = 40
	part := float64(min(done, total)) / float64(max(total, 1))
	bar := pad(strings.Repeat("█", int(part*width)), width)
	p.line.set("%s ▕%s▏ %.0f %% %v", clip(p.title, 20), bar, 100*part, time.Since(p.begin).Round(time.Second))
}

// end removes the bar.
func (p *progress) end() {
	if p != nil {
		p.line.clear()
	}
}
