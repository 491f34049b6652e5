package core

import "github.com/tessera-la/tessera/exec/dispatch"

// Choices are the options of a driver that say which node gets a task: those of cluster.Options
// with the same names.
type Choices struct {
	Policy            dispatch.Kind
	ByPriority        bool
	NewPolicy         func(dispatch.Machine) dispatch.Policy
	Owner, Stay, Idle bool
}

// decide fills in what makes the policy.
func (o *Choices) decide() {
	if o.NewPolicy != nil {
		return
	}
	if o.Policy == dispatch.Priority && !o.ByPriority {
		o.Policy = dispatch.Locality
	}
	policy := o.Policy
	o.NewPolicy = func(m dispatch.Machine) dispatch.Policy { return dispatch.New(policy, m) }
}

// named returns what the policy is called, of options that were decided.
func (o *Choices) named() string {
	if o.Policy == dispatch.Priority && !o.ByPriority {
		return "of the program"
	}
	return o.Policy.String()
}
