package core

// NodeLostError says that a node has left or cannot be reached, and that data were lost for good
// with it: no other node has them, and the tasks that made them cannot be executed again.
type NodeLostError struct {
	Node string
	Data string // a lost datum, as "A(3,2)"; "" if it is not known
	Err  error  // why the node has left, nil if it is not known
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
