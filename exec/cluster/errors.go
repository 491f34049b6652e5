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

// NodeLostError says that a node has left, or cannot be reached, and that with it something
// was lost for good: nobody else has it, and the tasks that made it cannot be executed again.
// Its fields are the Node, the Data, as "A(3,2)" or "" if that is not known, and Err, why the node
// has left, if that is known.
type NodeLostError = core.NodeLostError

// MemoryError says that a task cannot be given to any node: none has the memory for what it
// uses, beside what only that node has. Its fields are the Task; the bytes of what it uses, Need; the Node
// with the most memory, its cap, Memory, and Kept, the bytes on it that nobody else has and that the
// task does not use; and Others, those of Kept that the job does not use, a few.
type MemoryError = core.MemoryError

// Holding is what data of one name take of a node's memory: Data, the name, and Bytes.
type Holding = core.Holding

// PathError says that a value cannot get from the nodes that have it to one that needs it, though this
// driver reaches all of them: not directly, and by way of no other node. It is the cause of a
// [NodeLostError] of those that nobody can have values from, or give values to.
type PathError struct {
	Data    string // as "A(3,2)"
	Reader  string // the node that needs it
	Holders []string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("cluster: %s cannot get from %s to %s, directly or by way of another node", e.Data, strings.Join(e.Holders, ", "), e.Reader)
}

// NoNodeError says that no node can execute a task: none has a version of its op for workers
// that meet the task's constraints.
type NoNodeError struct {
	Op    string
	Nodes []Unmet // those that are there, or the driver only, if the task is bound to it
}

// Unmet says why a node cannot execute a task: for each kind of its workers, as a
// *versions.NoVersionError.
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

// RemoteError is an error of a type that this node does not know, as another one has
// told it: see Options.Errors.
type RemoteError struct {
	Node, Type, Text string
}

func (e *RemoteError) Error() string { return e.Text }

// MessageError says that a message from another node makes no sense here: it is of
// another version of the protocol, or names what this node does not know.
type MessageError struct {
	Node, Reason string
}

func (e *MessageError) Error() string {
	return fmt.Sprintf("cluster: a message from %s: %s", e.Node, e.Reason)
}

// errDropped is why a node is lost that had believed the driver to be.
var errDropped = errors.New("it has dropped what it had, as this driver was silent")

// errNoVersion is why a value is no version: it is new, or a task is to write it.
var errNoVersion = errors.New("no version is there")

// fault is an error on the wire: the innermost one by type and fields, if the type is
// known, and how it came to be.
type fault struct {
	_        struct{} `cbor:",toarray"`
	Op       string
	Version  string
	Worker   int
	Attempts int
	Type     string // of the cause
	Fields   []byte // of the cause; nil if the type is not to be sent
	Text     string
}

// newFault returns err, the end of a task, for the wire: of its causes the first that has
// a known type, by type and fields.
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

// err returns what a node has told as the cause of a task's failure, as the type that it
// was there, or as a *RemoteError.
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
