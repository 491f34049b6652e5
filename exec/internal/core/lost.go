package core

// NodeLostError says that a node has left, or cannot be reached, and that with it something
// was lost for good: nobody else has it, and the tasks that made it cannot be executed again.
type NodeLostError struct {
	Node string
	Data string // what was lost, as "A(3,2)"; "" if that is not known
	Err  error  // why the node has left, if that is known
}

func (e *NodeLostError) Error() string {
	text := "cluster: node " + e.Node + " is lost"
	if e.Data != "" {
		text += ", and with it " + e.Data + ", which cannot be made again"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *NodeLostError) Unwrap() error { return e.Err }
