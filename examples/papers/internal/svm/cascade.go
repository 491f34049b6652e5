package svm

import (
	"context"
	"math"
)

// Machine is a support vector machine: the numbers of its support vectors, ascending, and their multipliers.
type Machine struct {
	IDs       []int
	X         [][]float64
	Alpha     []float64
	Objective float64
}

// Train trains a machine on the support vectors of two others: a step of a cascade. labels is indexed by the
// numbers of points. It starts with the multipliers of the better machine. So the objective never falls, and a
// machine that satisfies the optimality conditions does not change. The error is the cause of the context's
// end.
//
// Reference: Graf, Cosatto, Bottou, Dourdanovic, Vapnik, "Parallel support vector machines: the
// cascade SVM" (2004).
func Train(ctx context.Context, p Params, a, b Machine, labels []float64) (Machine, error) {
	var m Machine
	better := b
	if a.Objective > b.Objective {
		better = a
	}
	var y []float64
	for i, j, k := 0, 0, 0; i < len(a.IDs) || j < len(b.IDs); {
		if j == len(b.IDs) || i < len(a.IDs) && a.IDs[i] <= b.IDs[j] {
			if j < len(b.IDs) && b.IDs[j] == a.IDs[i] {
				j++
			}
			m.IDs, m.X = append(m.IDs, a.IDs[i]), append(m.X, a.X[i])
			i++
		} else {
			m.IDs, m.X = append(m.IDs, b.IDs[j]), append(m.X, b.X[j])
			j++
		}
		id, alpha := m.IDs[len(m.IDs)-1], 0.0
		if k < len(better.IDs) && better.IDs[k] == id {
			alpha = better.Alpha[k]
			k++
		}
		m.Alpha, y = append(m.Alpha, alpha), append(y, labels[id])
	}
	s := New(p, m.X, y, m.Alpha)
	if err := s.Solve(ctx); err != nil {
		return Machine{}, err
	}
	return m.support(s.Objective()), nil
}

// support returns the machine with its support vectors only.
func (m Machine) support(objective float64) Machine {
	s := Machine{Objective: objective}
	for i, a := range m.Alpha {
		if a > 0 {
			s.IDs, s.X, s.Alpha = append(s.IDs, m.IDs[i]), append(s.X, m.X[i]), append(s.Alpha, a)
		}
	}
	return s
}

// At returns K(x, y) by its definition.
func (p *Params) At(x, y []float64) (s float64) {
	for j, v := range x {
		if p.Kernel == Linear {
			s += v * y[j]
		} else {
			s += (v - y[j]) * (v - y[j])
		}
	}
	if p.Kernel == RBF {
		s = math.Exp(-p.Gamma * s)
	}
	return s
}
