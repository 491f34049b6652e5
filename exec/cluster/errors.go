package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// NodeLostError says that a node has left or cannot be reached, and that data were lost for good
// with it: no other node has them, and the tasks that made them cannot be executed again. Its
// fields are Node; Data, a lost datum as "A(3,2)" or ""; and Err, why the node has left, if that is
// known.
type NodeLostError = core.NodeLostError

// MemoryError says that a task cannot run on any node: none has the memory for its operands beside
// the data that only that node has. Its fields are Task; Need, the bytes of its operands; Node,
// which has the most memory; Memory, the cap of that node; Kept, the bytes there that no other node
// has and that the task does not use; and Others, the largest of these that the job does not use.
type MemoryError = core.MemoryError

// Holding is the memory, Bytes, that data of one name, Data, take on a node.
type Holding = core.Holding

// PathError says that a value cannot get from its holders to a node that needs it, neither directly
// nor by way of one other node, although the driver reaches all of them. It is the cause of a
// [NodeLostError] of the nodes that no node can fetch from, or that cannot fetch from any.
type PathError struct {
	Data    string // as "A(3,2)"
	Reader  string // the node that needs it
	Holders []string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("cluster: %s cannot get from %s to %s, directly or by way of another node",
		e.Data, strings.Join(e.Holders, ", "), e.Reader)
}

// NoNodeError says that no node can execute a task: none has a version of its op for workers that
// meet the task's constraints.
type NoNodeError struct {
	Op    string
	Nodes []Unmet // those available, or only the driver if the task is bound to it
}

// Unmet says why a node cannot execute a task: a *versions.NoVersionError for each kind of its
// workers.
type Unmet struct {
	Node string
	Err  error
}

func (e *NoNodeError) Error() string {
	text := "cluster: no node can execute " + e.Op
	for _, n := range e.Nodes {
		text += "; " + n.Node + ": " + strings.ReplaceAll(n.Err.Error(), "\n", ", ")
	}
	return text
}

// Unwrap returns what is missing on each node.
func (e *NoNodeError) Unwrap() (all []error) {
	for _, n := range e.Nodes {
		all = append(all, n.Err)
	}
	return all
}

// GroupError says why a task of several ranks is refused, or cannot run any more: see [SubmitGroup].
type GroupError struct {
	Ranks  int
	Reason string
}

func (e *GroupError) Error() string {
	return fmt.Sprintf("cluster: a task of %d ranks: %s", e.Ranks, e.Reason)
}

// RemoteError is an error of another node whose type this node does not know: see Options.Errors.
type RemoteError struct {
	Node, Type, Text string
}

func (e *RemoteError) Error() string { return e.Text }

// MessageError says that a message from another node is refused: it is of another version of the
// protocol, or names what this node does not know.
type MessageError struct {
	Node, Reason string
}

func (e *MessageError) Error() string {
	return fmt.Sprintf("cluster: a message from %s: %s", e.Node, e.Reason)
}

// errDropped is the cause of the loss of a node that had dropped this driver.
var errDropped = errors.New("it has dropped what it had, as this driver was silent")

// errNoVersion says that a value holds no version: it is new, or a task will write it.
var errNoVersion = errors.New("no version is there")

// fault is an error on the wire: its innermost cause of a known type, by type and fields, and the
// attempt that failed.
type fault struct {
	_        struct{} `cbor:",toarray"`
	Op       string
	Version  string
	Worker   int
	Attempts int
	Type     string // of the cause
	Fields   []byte // of the cause; nil if its type is not known
	Text     string
}

// newFault returns the fault of a failed task. Its cause is the first error in the chain whose type
// is known.
func newFault(err error, known []error) *fault {
	f := &fault{Worker: -1, Text: err.Error()}
	if t, ok := errors.AsType[*exec.TaskError](err); ok {
		f.Op, f.Version, f.Worker, f.Attempts, f.Text = t.Op, t.Version, t.Worker, t.Attempts, t.Err.Error()
		err = t.Err
	}
	for ; err != nil; err = errors.Unwrap(err) {
		f.Type = reflect.TypeOf(err).String()
		for _, k := range known {
			if reflect.TypeOf(k) == reflect.TypeOf(err) {
				f.Fields, _ = cbor.Marshal(err)
				return f
			}
		}
	}
	return f
}

// err returns the cause of a failure on another node, in its original type or as a *RemoteError.
func (f *fault) err(node string, known []error) error {
	for _, k := range known {
		t := reflect.TypeOf(k)
		if t.String() != f.Type || f.Fields == nil || t.Kind() != reflect.Pointer {
			continue
		}
		e := reflect.New(t.Elem())
		if cbor.Unmarshal(f.Fields, e.Interface()) == nil {
			return e.Interface().(error)
		}
	}
	return &RemoteError{Node: node, Type: f.Type, Text: f.Text}
}
