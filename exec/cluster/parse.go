package cluster

import (
	"fmt"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// specParser decodes the ops, parameters and constraints of tasks from other nodes. It keeps the last ones,
// since the next task often has the same; tasks can share parameters because no task writes them. A
// specParser is for one goroutine at a time.
type specParser struct {
	op     *versions.Op
	text   string
	params any // of op, decoded from text

	constraints string
	decoded     *versions.Constraints // of constraints
}

// parse sets the op, the parameter and the constraints of s to those of t. The error says what
// this node does not know.
func (p *specParser) parse(k known, t *task, s *graph.Spec) error {
	op := k.ops[t.Op]
	if op == nil {
		return fmt.Errorf("op %s is not known here", t.Op)
	}
	if p.op != op || p.text != t.Params {
		params, err := versions.DecodeParams(op, []byte(t.Params))
		if err != nil {
			return err
		}
		p.op, p.text, p.params = op, t.Params, params
	}
	s.Op, s.Params = op, p.params
	if t.Constraints == "" {
		return nil
	}
	if p.constraints != t.Constraints {
		c, err := decodeConstraints(t.Constraints)
		if err != nil {
			return err
		}
		p.constraints, p.decoded = t.Constraints, c
	}
	s.Constraints = p.decoded
	return nil
}

// checkSpec returns what is wrong with the operands of a task. It turns the panic of Spec.Check into an error.
func checkSpec(s *graph.Spec) (err error) {
	defer func() {
		if p := recover(); p != nil {
			bad, ok := p.(graph.Error)
			if !ok {
				panic(p)
			}
			err = bad
		}
	}()
	s.Check()
	return nil
}
