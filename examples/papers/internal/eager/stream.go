package eager

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// A part of the file is several groups of reads. A read is a sequence of letters out of four.
const (
	groups, reads, letters = 8, 16, 64
	reference              = 400
	groupSize              = reads * letters
	partBytes              = groups * groupSize * 8 // in memory; in the file a letter is a byte
)

// newGetting returns the op that reads the next groups of a file. INOUT position in the file, OUT group, for
// each of them.
func newGetting(path string) *versions.Op {
	return study.Op("get", func(c *versions.Call, p *Task, args [][]float64) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text := make([]byte, groupSize)
		for i, group := range args[1:] {
			if _, err := f.ReadAt(text, int64(args[0][0])); err != nil {
				return err
			}
			args[0][0] += groupSize
			for k, b := range text {
				group[k] = float64(b)
			}
			p.wait(1)
			p.finished(c, 1+i)
		}
		return nil
	})
}

// aligns: IN reference, IN group, OUT score of each read.
var aligns = study.Op("align", func(_ *versions.Call, p *Task, args [][]float64) error {
	for i := range args[2] {
		args[2][i] = align(args[0], args[1][i*letters:(i+1)*letters])
	}
	p.wait(8)
	return nil
})

// align returns the score of the best local alignment, after Smith and Waterman: 2 for equal letters, −1 for
// different ones, −2 for a gap.
func align(reference, read []float64) (best float64) {
	row := make([]float64, len(read)+1)
	for _, r := range reference {
		corner := 0.0
		for j, x := range read {
			s := corner - 1
			if r == x {
				s = corner + 2
			}
			corner = row[j+1]
			row[j+1] = max(0, s, corner-2, row[j]-2)
			best = max(best, row[j+1])
		}
	}
	return best
}

// writeReads writes a file of reads, which are parts of the reference with some letters changed. It returns the
// scores of aligning all of them in turn.
func writeReads(path string, reference []float64, n int) (scores []float64, err error) {
	text := make([]byte, 0, n*letters)
	for i := range n {
		at := int(mix(uint64(i)) * float64(len(reference)-letters))
		read := slices.Clone(reference[at : at+letters])
		for k := range read {
			if x := mix(uint64(i)<<32 + uint64(k)); x < 0.1 {
				read[k] = float64(int(x * 40))
			}
			text = append(text, byte(read[k]))
		}
		scores = append(scores, align(reference, read))
	}
	return scores, os.WriteFile(path, text, 0o600)
}

// stream compares two ways: reading each part of the file after the one before is processed, and reading half a
// part while the groups of the other half are aligned.
func (o *options) stream(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "tessera-reads-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "reads")
	known := make([]float64, reference)
	for i := range known {
		known[i] = float64(int(4 * mix(1<<40+uint64(i))))
	}
	want, err := writeReads(path, known, o.file*groups*reads)
	if err != nil {
		return err
	}
	const most = 2 * partBytes // per agent: a part, and the operands of tasks
	fmt.Printf("streaming alignment: 2 agents, a file of %d KiB of operands, agents keep %d KiB each at most\n", o.file*partBytes>>10, most>>10)
	getting, got := newGetting(path), []float64(nil)
	way := func(sets int, eager bool) study.Way {
		n := o.nodes(2, getting, aligns)
		n.Memory = most
		return study.Way{Nodes: n, Submit: func(job exec.Job) error {
			t := o.task(eager)
			got = make([]float64, len(want))
			return o.streamed(job, &t, getting, known, sets, got)
		}, Check: study.Same("other scores", &got, want)}
	}
	ways := []study.Way{way(1, false), way(2, true)}
	ways[0].Name, ways[1].Name = "out of core, lazy", "streamed, eager"
	best, err := study.Compare(ctx, o.turns, ways...)
	if err != nil {
		return err
	}
	for i, r := range best {
		if r.Peak > most {
			return fmt.Errorf("%s: an agent had %d bytes of operands, at most %d are allowed", ways[i].Name, r.Peak, most)
		}
	}
	return nil
}

// streamed submits all tasks. The groups of a part are divided into sets, which are read in turn. A set is
// overwritten once all of its groups are aligned.
func (o *options) streamed(job exec.Job, p *Task, getting *versions.Op, known []float64, sets int, scores []float64) error {
	in, cursor := study.Datum(known), study.Datum(make([]float64, 1))
	memory := make([]*graph.Datum, groups)
	for i := range memory {
		memory[i] = study.Datum(make([]float64, groupSize))
	}
	each := groups / sets
	for k := range o.file * sets {
		set := memory[k%sets*each : k%sets*each+each]
		s := spec(getting, p, study.InOut(cursor))
		s.Priority = 1
		for _, d := range set {
			s.Operands = append(s.Operands, study.Out(d))
		}
		if _, err := job.Submit(s); err != nil {
			return err
		}
		for i, d := range set {
			at := (k*each + i) * reads
			if _, err := job.Submit(spec(aligns, p, study.In(in), study.In(d), study.Out(study.Datum(scores[at:at+reads])))); err != nil {
				return err
			}
		}
	}
	return nil
}
