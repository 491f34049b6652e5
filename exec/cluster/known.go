package cluster

import (
	"fmt"
	"reflect"

	"github.com/tessera-la/tessera/versions"
)

// known is the types and ops that a node can name in messages.
type known struct {
	ops      map[string]*versions.Op
	values   map[string]reflect.Type
	errs     []error
	maxValue int64 // bytes of a value; 0: no limit
}

// newKnown returns a known with the given ops and types. values are pointers.
func newKnown(ops []*versions.Op, values []versions.Value, errs []error, maxValue int64) known {
	k := known{ops: map[string]*versions.Op{}, values: map[string]reflect.Type{}, errs: errs, maxValue: maxValue}
	for _, op := range ops {
		k.ops[op.OpName()] = op
	}
	for _, value := range values {
		typ := reflect.TypeOf(value)
		k.values[typ.String()] = typ.Elem()
	}
	return k
}

// valueError says why a node can never make a value.
type valueError struct{ problem string }

func (e *valueError) Error() string { return e.problem }

// value returns a new value of the type name, reshaped if shape is not empty. The error is a *valueError; or
// errNoVersion if name is empty, since the node should have had the value.
func (k *known) value(name, shape string) (versions.Value, error) {
	typ, ok := k.values[name]
	switch {
	case name == "":
		return nil, errNoVersion
	case !ok:
		return nil, &valueError{fmt.Sprintf("values of type %s are not known here", name)}
	}
	value := reflect.New(typ).Interface().(versions.Value)
	if shape == "" {
		return value, nil
	}
	if measured, ok := value.(versions.Measured); ok && k.maxValue > 0 { // so that one message cannot end this process
		if n, err := measured.Measure([]byte(shape)); err == nil && n > k.maxValue {
			return nil, &valueError{fmt.Sprintf("a value of type %s has %d bytes, and this node may have %d",
				name, n, k.maxValue)}
		}
	}
	if shaped, ok := value.(versions.Shaped); ok {
		if err := shaped.Reshape([]byte(shape)); err != nil {
			return nil, &valueError{fmt.Sprintf("a value of type %s: %v", name, err)}
		}
	}
	return value, nil
}

// canSend reports whether values of a type can be sent, because other nodes can make one.
func (k *known) canSend(name string) bool {
	_, ok := k.values[name]
	return ok
}
