package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Progress is a progress bar in a [Status] line. It appears once the work has taken a second. A nil *Progress
// shows nothing.
type Progress struct {
	Line  *Status
	title string
	Begin time.Time
	Next  time.Time // when to draw again: drawing for every task would cost time
	Nodes *Census   // of a cluster; nil if there is none
}

// Census tracks which nodes of a cluster compute, and which came or went last.
type Census struct {
	There func() []string // returns the names of the nodes that compute
	known []string        // what There returned last
	news  string
}

// says describes the nodes at time since: "2 nodes, agent1 lost at 12s".
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

// NewProgress returns a bar with a title on w. It shows nothing unless w is a terminal.
func NewProgress(w io.Writer, title string) *Progress {
	now := time.Now()
	return &Progress{Line: NewStatus(w), title: title, Begin: now, Next: now.Add(time.Second)}
}

// Update shows that done of total are done. Calls must not overlap.
func (p *Progress) Update(done, total int) {
	if p == nil || time.Now().Before(p.Next) {
		return
	}
	p.Next = time.Now().Add(100 * time.Millisecond)
	p.Line.Set("%s", p.Text(done, total, time.Since(p.Begin)))
}

// Text returns the line at time since.
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
