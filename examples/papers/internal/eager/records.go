package eager

import (
	"context"
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// record is the parameter of the ops. A task counts the words whose number is First modulo Step.
type record struct {
	Task
	First, Step int64
}

const (
	words    = 64  // number of different words
	line     = 100 // words read in a unit
	short    = 4   // lines of a short record
	long     = 40  // lines of a long record
	counting = 6   // units for counting
)

// reading returns the op that reads records, with as many workers as records. OUT record, for each of them.
func reading(records int) *versions.Op {
	op := study.Op("read", func(c *versions.Call, p *record, args [][]float64) error {
		c.Parallel(len(args), func(i int, _ *versions.Workspace) {
			fill(i, args[i])
			p.wait(float64(len(args[i])) / line)
			p.finished(c, i)
		})
		return nil
	})
	op.Versions[0].Constraints.Units = records
	return op
}

// countWords: IN record, OUT counts.
var countWords = study.Op("count", func(_ *versions.Call, p *record, args [][]float64) error {
	count(p, args[0], args[1])
	p.wait(counting)
	return nil
})

// fill makes the words of record i.
func fill(i int, record []float64) {
	for k := range record {
		x := mix(uint64(i)<<32 + uint64(k))
		record[k] = float64(int(x * x * words)) // some words are more frequent than others
	}
}

// count counts the words of a task.
func count(p *record, record, counts []float64) {
	clear(counts)
	for _, w := range record {
		if w := int64(w); w%p.Step == p.First {
			counts[w/p.Step]++
		}
	}
}

// records compares lazy and eager release for records of different lengths, and for equal ones.
func (o *options) records(ctx context.Context) error {
	unlike, equal := make([]int, o.workers), make([]int, o.workers)
	for i := range unlike {
		if unlike[i], equal[i] = short*line, long*line; i%4 == 0 {
			unlike[i] = long * line
		}
	}
	return errors.Join(o.read(ctx, "of unlike lengths", unlike), o.read(ctx, "all equal", equal))
}

// read compares both for records of the given lengths.
func (o *options) read(ctx context.Context, kind string, lengths []int) error {
	fmt.Printf("records, %s: 2 agents, %d readers, %d tasks for each record\n", kind, len(lengths), o.parts)
	slots := (words + o.parts - 1) / o.parts // number of counts per task
	at := func(all []float64, i, part int) []float64 {
		k := (i*o.parts + part) * slots
		return all[k : k+slots]
	}
	params := func(part int, eager bool) *record { return &record{o.task(eager), int64(part), int64(o.parts)} }
	want, got := make([]float64, len(lengths)*o.parts*slots), []float64(nil)
	for i, n := range lengths {
		x := make([]float64, n)
		fill(i, x)
		for part := range o.parts {
			count(params(part, false), x, at(want, i, part))
		}
	}
	op := reading(len(lengths))
	_, err := study.Compare(ctx, o.turns, both(func(eager bool) study.Way {
		return study.Way{Nodes: o.nodes(2, op, countWords), Submit: func(job exec.Job) error {
			got = make([]float64, len(want))
			all := spec(op, params(0, eager))
			for _, n := range lengths {
				all.Operands = append(all.Operands, study.Out(study.Datum(make([]float64, n))))
			}
			todo := []*graph.Spec{all}
			for i, r := range all.Operands {
				for part := range o.parts {
					counts := study.Datum(at(got, i, part))
					todo = append(todo, spec(countWords, params(part, eager), study.In(r.Datum), study.Out(counts)))
				}
			}
			return study.Submit(job, todo...)
		}, Check: study.Same("other counts", &got, want)}
	})...)
	return err
}
