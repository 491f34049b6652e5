package main

import (
	"fmt"
	"io"
	"slices"
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
	nodes *census   // of a cluster, nil if there is none
}

// census is who of some nodes is there, and who was the last to come or go.
type census struct {
	there func() []string // names of those that compute
	known []string        // when it was looked last
	news  string
}

// says returns what there is to say of the nodes after so much time: "2 nodes, agent1 lost at
// 12s".
func (c *census) says(since time.Duration) string {
	now := c.there()
	for _, change := range []struct {
		from, to []string
		what     string
	}{{c.known, now, "lost"}, {now, c.known, "joined"}} {
		for _, name := range change.from {
			if c.known != nil && !slices.Contains(change.to, name) {
				c.news = fmt.Sprintf(", %s %s at %v", clip(name, 14), change.what, since.Round(time.Second))
			}
		}
	}
	c.known = now
	return count(len(now), "node") + c.news
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
	p.line.set("%s", p.text(done, total, time.Since(p.begin)))
}

// text returns the line after so much time.
func (p *progress) text(done, total int, since time.Duration) string {
	width, nodes := 40, ""
	if p.nodes != nil {
		width, nodes = 16, ", "+p.nodes.says(since)
	}
	part := float64(min(done, total)) / float64(max(total, 1))
	bar := pad(strings.Repeat("█", int(part*float64(width))), width)
	return fmt.Sprintf("%s ▕%s▏ %.0f %% %v%s", clip(p.title, 20), bar, 100*part, since.Round(time.Second), nodes)
}

// end removes the bar.
func (p *progress) end() {
	if p != nil {
		p.line.clear()
	}
}
