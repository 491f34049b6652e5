package trace

import (
	"cmp"
	"slices"
	"time"
)

// row is the occupations of one worker, in the order of their starts. They may overlap in any way:
// a task that waits gives its cores to others, which may wait in turn, and goes on when the present
// one ends or waits.
type row []occupation

// byWorker returns the rows of all workers, including shares.
func (r *Recording) byWorker() []row {
	rows := make([]row, r.workers())
	for _, e := range r.byTime() {
		rows[e.Worker] = append(rows[e.Worker], e)
	}
	return rows
}

// lanes assigns each occupation a lane, from 0, so that two on one lane are disjoint or nested:
// viewers nest the slices of a row, and draw others wrongly. It returns the lanes in the order of
// the row, and their number, at least 1.
func (w row) lanes() (lane []int, n int) {
	lane = make([]int, len(w))
	order := make([]int, len(w))
	for i := range order {
		order[i] = i
	}
	// Of equal starts the longest is outside.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(w[a].Start, w[b].Start), cmp.Compare(w[b].End, w[a].End))
	})
	open := [][]time.Duration{nil} // ends of the open occupations, by lane
	for _, i := range order {
		k := 0
		for ; ; k++ {
			if k == len(open) {
				open = append(open, nil)
			}
			for top := len(open[k]) - 1; top >= 0 && open[k][top] <= w[i].Start; top-- {
				open[k] = open[k][:top]
			}
			if top := len(open[k]) - 1; top < 0 || w[i].End <= open[k][top] {
				break
			}
		}
		open[k] = append(open[k], w[i].End)
		lane[i] = k
	}
	return lane, len(open)
}

// change is a time from which a worker executes now, nil for nothing.
type change struct {
	at  time.Duration
	now *occupation
}

// changes returns, for each start and end, the worker's occupation from then on: of overlapping
// ones the one that started last.
func (w row) changes() []change {
	ends := make([]int, len(w))
	for i := range ends {
		ends[i] = i
	}
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(w[a].End, w[b].End) })
	var all []change
	var open []int // open occupations, in the order of the starts
	end := func(i int) {
		at := slices.Index(open, i)
		open = slices.Delete(open, at, at+1)
		c := change{at: w[i].End}
		if len(open) > 0 {
			c.now = &w[open[len(open)-1]]
		}
		all = append(all, c)
	}
	next := 0
	for i := range w {
		// End occupations first; one that takes no time ends after its start.
		for ; next < len(ends) && w[ends[next]].End <= w[i].Start && slices.Contains(open, ends[next]); next++ {
			end(ends[next])
		}
		open = append(open, i)
		all = append(all, change{w[i].Start, &w[i]})
	}
	for ; next < len(ends); next++ {
		end(ends[next])
	}
	return all
}
