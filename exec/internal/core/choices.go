package core

import "github.com/tessera-la/tessera/exec/dispatch"

// Choices are the options of a driver that say which node gets a task. The fields are those of
// cluster.Options with the same names.
type Choices struct {
	Policy            dispatch.Kind
	ByPriority        bool
	NewPolicy         func(dispatch.Machine) dispatch.Policy
	Owner, Stay, Idle bool
}

// setDefaults completes NewPolicy and Policy.
func (o *Choices) setDefaults() {
	if o.NewPolicy != nil {
		return
	}
	if o.Policy == dispatch.Priority && !o.ByPriority {
		o.Policy = dispatch.Locality
	}
	policy := o.Policy
	o.NewPolicy = func(m dispatch.Machine) dispatch.Policy { return dispatch.New(policy, m) }
}

// policyName returns the name of the policy. The defaults must be set.
func (o *Choices) policyName() string {
	if o.Policy == dispatch.Priority && !o.ByPriority {
		return "of the program"
	}
	return o.Policy.String()
}
