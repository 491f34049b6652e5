package plan

// Kept returns the bytes of its own that a node has now.
func (r *Runtime) Kept(node int) int64 { return r.now[node].own }
