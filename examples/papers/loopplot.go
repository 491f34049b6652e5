package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/plotting"
)

// drawLoop executes the application once more with the fastest plan, and draws its longest loop.
func drawLoop(ctx context.Context, rt exec.Runtime, p loopapps.Problem, rows []loopapps.Row, file string, format plotting.Format) error {
	formed, ok := p.(loopapps.Formed)
	var best *loopapps.Row
	for i := range rows {
		r := &rows[i]
		if ok && !r.Form.Loops() {
			continue // tasks have no chunks
		}
		if best == nil || r.Best() < best.Best() {
			best = r
		}
	}
	if ok {
		formed.SetForm(best.Form)
	}
	loops, err := p.Run(ctx, rt, loop.Options{Plan: best.Plan, Spans: true}, &best.Sites)
	if err != nil {
		return err
	}
	longest := 0
	for i := range loops {
		if loops[i].Took > loops[longest].Took {
			longest = i
		}
	}
	var picture bytes.Buffer
	if err := ganttOf(&loops[longest], p.Describe()).Render(&picture, format); err != nil {
		return err
	}
	return os.WriteFile(file, picture.Bytes(), 0o666)
}

// ganttOf returns the picture of a loop.
func ganttOf(s *loop.Stats, title string) *plotting.Gantt {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	g := &plotting.Gantt{
		Title: fmt.Sprintf("%s\n%v: %.4g ms, imbalance %.1f %%", title, s.Plan, ms(s.Took), 100*s.Imbalance()), XLabel: "ms",
		Kinds: []string{"own queue", "stolen"},
	}
	for w := range s.Workers {
		g.Rows = append(g.Rows, fmt.Sprintf("worker %d", w))
	}
	for _, x := range s.Spans {
		kind := 0
		if slices.ContainsFunc(s.Workers[x.Worker].Steals, func(t loop.Steals) bool { return t.Queue == x.Queue }) {
			kind = 1
		}
		g.Bars = append(g.Bars, plotting.Bar{Row: x.Worker, Kind: kind, From: ms(x.Start), To: ms(x.End)})
	}
	return g
}
