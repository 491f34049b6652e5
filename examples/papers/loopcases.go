package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/examples/papers/internal/svm"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/cli"
)

// loopFlags are the flags of papers loop.
type loopFlags struct {
	size                     loopapps.Size
	schemes, queues, victims string
	forms, kernel            string
	grain, workers, repeat   int
	plot, cluster            string
	explain, json            bool
}

// schemes returns all schemes, Auto first.
func schemes() []loop.Scheme { return append([]loop.Scheme{loop.Auto}, loop.Schemes()...) }

// queueKind is a layout of queues, with or without shares.
type queueKind struct {
	loop.Layout
	shares bool
}

func (q queueKind) String() string {
	if q.shares {
		return q.Layout.String() + "+shares"
	}
	return q.Layout.String()
}

// queueKinds returns all kinds of queues. A central queue has no shares.
func queueKinds() []queueKind {
	return []queueKind{{loop.Central, false}, {loop.PerSocket, false}, {loop.PerSocket, true}, {loop.PerCore, false}, {loop.PerCore, true}}
}

// cases returns the cases that the flags ask for.
func (f *loopFlags) cases(kind loopapps.Kind, workers []exec.Worker) ([]loopapps.Case, error) {
	var errs cli.Problems
	usual := "all"
	if kind.Formed() {
		usual = loop.Auto.String()
	}
	chosen, err := cli.ParseWords("schemes", cmp.Or(f.schemes, usual), schemes())
	errs.Note(err)
	if k := slices.Index(cli.NamesOf(svm.Kernels()...), strings.ToLower(f.kernel)); k >= 0 {
		f.size.Kernel = svm.Kernels()[k]
	} else {
		errs.Note(&cli.ListError{Flag: "kernel", Element: f.kernel, Allowed: cli.Words(svm.Kernels())})
	}
	forms, err := cli.ParseWords("forms", f.forms, loopapps.Forms())
	errs.Note(err)
	queues := queueKinds()
	if f.queues != "" {
		queues, err = cli.ParseWords("queues", f.queues, queues)
		errs.Note(err)
	} else if !slices.ContainsFunc(workers, func(w exec.Worker) bool { return w.Location != workers[0].Location }) {
		queues = slices.DeleteFunc(queues, func(q queueKind) bool { return q.Layout == loop.PerSocket })
	}
	victims, err := cli.ParseWords("victims", f.victims, loop.Victims())
	errs.Note(err)
	f.checkNumbers(&errs)
	if kind.Formed() && f.queues != "" {
		errs.Note(fmt.Errorf("--queues is not for %v, whose queues are the partitions", kind))
	}
	if kind.Formed() && f.plot != "" && !slices.ContainsFunc(forms, loopapps.Form.Loops) {
		errs.Note(errors.New("--plot draws a loop: it wants the form split or materialised"))
	}
	switch {
	case errs != nil:
		return nil, cli.JoinLine(errs)
	case kind.Formed():
		return f.casesOfForms(forms, chosen, victims), nil
	}
	return f.casesOfQueues(chosen, queues, victims), nil
}

// checkNumbers notes the numbers that are out of range.
func (f *loopFlags) checkNumbers(errs *cli.Problems) {
	for _, n := range []struct {
		name       string
		got, least int
	}{
		{"vertices", f.size.Vertices, 1}, {"edges", f.size.Edges, 0}, {"rows", f.size.Rows, 2}, {"features", f.size.Features, 1},
		{"points", f.size.Points, 1}, {"dims", f.size.Dims, 1}, {"blocks", f.size.Blocks, 1}, {"centres", f.size.Centres, 1},
		{"iterations", f.size.Iterations, 1}, {"bins", f.size.Bins, 1}, {"neighbours", f.size.Neighbours, 1}, {"grain", f.grain, 0}, {"repeat", f.repeat, 1},
	} {
		errs.Within(n.name, n.got, n.least, 1<<31-1)
	}
}

// casesOfForms returns the cases of an application with forms. Auto chooses the victims itself, and a form without
// loops has one case.
func (f *loopFlags) casesOfForms(forms []loopapps.Form, schemes []loop.Scheme, victims []loop.Victim) (cases []loopapps.Case) {
	var plans []loop.Plan
	for _, s := range schemes {
		if s == loop.Auto {
			plans = append(plans, loop.Plan{Grain: f.grain})
			continue
		}
		for _, v := range victims {
			plans = append(plans, loop.Plan{Scheme: s, Victim: v, Grain: f.grain})
		}
	}
	for _, form := range forms {
		n := len(plans)
		if !form.Loops() {
			n = 1
		}
		for _, p := range plans[:n] {
			cases = append(cases, loopapps.Case{Plan: p, Form: form})
		}
	}
	return cases
}

// casesOfQueues returns the cases of an application without forms. Auto chooses queues and victims itself, and a
// central queue has no victims.
func (f *loopFlags) casesOfQueues(schemes []loop.Scheme, queues []queueKind, victims []loop.Victim) (cases []loopapps.Case) {
	add := func(p loop.Plan) { cases = append(cases, loopapps.Case{Plan: p}) }
	for _, s := range schemes {
		if s == loop.Auto {
			add(loop.Plan{Grain: f.grain})
			continue
		}
		for _, q := range queues {
			if q.Layout == loop.Central {
				add(loop.Plan{Scheme: s, Grain: f.grain})
				continue
			}
			for _, v := range victims {
				add(loop.Plan{Scheme: s, Layout: q.Layout, Shares: q.shares, Victim: v, Grain: f.grain})
			}
		}
	}
	return cases
}
