package tiles

// Error is the type of the constants that tile-level code panics with when it
// is misused.
type Error string

func (e Error) Error() string { return string(e) }

// Misuse of shapes, indices and kinds.
const (
	ErrShape     Error = "blocked: dimension mismatch"
	ErrIndex     Error = "blocked: index out of range"
	ErrNotStored Error = "blocked: tile or element outside the stored half"
	ErrKind      Error = "blocked: wrong kind of matrix"
	ErrOverlap   Error = "blocked: a matrix that is written shares memory with another one"
	ErrReleased  Error = "blocked: a distributed matrix is used after its Close"
	ErrOp        Error = "blocked: the table of kernels lacks an op"
	ErrAway      Error = "blocked: the tiles of a distributed matrix have no memory here"
)
