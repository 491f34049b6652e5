package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Progress is a bar in a [status] line, shown once the work has taken a second.
// A nil *progress shows nothing.
type Progress struct {
	Line  *Status
	title string
	Begin time.Time
	Next  time.Time // not drawn before: to write for every task would cost time
	Nodes *Census   // of a cluster, nil if there is none
}

// Census is who of some nodes is there, and who was the last to come or go.
type Census struct {
	There func() []string // names of those that compute
	known []string        // when it was looked last
	news  string
}

// says returns what there is to say of the nodes after so much time: "2 nodes, agent1 lost at
// 12s".
func (c *Census) says(since time.Duration) string {
	now := c.There()
	for _, change := range []struct {
		from, to []string
		what     string
	}{{c.known, now, "lost"}, {now, c.known, "joined"}} {
		for _, name := range change.from {
			if c.known != nil && !slices.Contains(change.to, name) {
				c.news = fmt.Sprintf(", %s %s at %v", Clip(name, 14), change.what, since.Round(time.Second))
			}
		}
	}
	c.known = now
	return Count(len(now), "node") + c.news
}

// NewProgress returns a bar with a title on w, which shows nothing unless w is a terminal.
func NewProgress(w io.Writer, title string) *Progress {
	now := time.Now()
	return &Progress{Line: NewStatus(w), title: title, Begin: now, Next: now.Add(time.Second)}
}

// Update says how much is done. Calls must not overlap.
func (p *Progress) Update(done, total int) {
	if p == nil || time.Now().Before(p.Next) {
		return
	}
	p.Next = time.Now().Add(100 * time.Millisecond)
	p.Line.Set("%s", p.Text(done, total, time.Since(p.Begin)))
}

// Text returns the line after so much time.
func (p *Progress) Text(done, total int, since time.Duration) string {
	width, nodes := 40, ""
	if p.Nodes != nil {
		width, nodes = 16, ", "+p.Nodes.says(since)
	}
	part := float64(min(done, total)) / float64(max(total, 1))
	bar := Pad(strings.Repeat("█", int(part*float64(width))), width)
	return fmt.Sprintf("%s ▕%s▏ %.0f %% %v%s", Clip(p.title, 20), bar, 100*part, since.Round(time.Second), nodes)
}

// End removes the bar.
func (p *Progress) End() {
	if p != nil {
		p.Line.Clear()
	}
}
