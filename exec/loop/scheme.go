package loop

import "github.com/tessera-la/tessera/internal/words"

// Scheme determines the sizes of chunks.
type Scheme uint8

// The schemes. N is the number of items, P of workers, R of remaining items, and b the number of
// the batch; each batch has P chunks.
const (
	// Auto chooses the scheme, with queues, victims and grain, that is the best for a loop by what
	// its [Site] has learned. The default.
	Auto   Scheme = iota
	Static        // N/P: one chunk for each worker
	SS            // 1
	MFSC          // ⌈t·ln 2 / ln t⌉ with t = ⌈N/P⌉: all alike, about as many as FAC2 has
	GSS           // ⌈R/P⌉
	TSS           // from ⌈N/2P⌉ down to 1, by equal steps
	FAC2          // ⌈(½)^(b+1) · N/P⌉
	TFSS          // for each batch the mean of the next P chunks of TSS
	FISS          // from ⌊N/5P⌋ up, by an equal step for each batch
	VISS          // from ⌊N/4P⌋ up, by half the last step for each batch
	PLS           // ⌈N/2P⌉ for the first half of the items, and then as GSS
	PSS           // ⌈R/1.5P⌉
)

var schemes = words.Of[Scheme]{
	"auto", "static", "ss", "mfsc", "gss", "tss", "fac2", "tfss", "fiss", "viss", "pls", "pss",
}

// nextSize computes the sizes of chunks: that of chunk i, of the remaining items.
var nextSize = [...]func(s Shape, i, remaining int) uint64{
	Static: static, SS: ss, MFSC: mfsc, GSS: gss, TSS: tss, FAC2: fac2, TFSS: tfss, FISS: fiss, VISS: viss, PLS: pls,
	PSS: pss,
}

// Schemes returns all schemes but [Auto].
func Schemes() []Scheme { return schemes.All()[Auto+1:] }

func (s Scheme) String() string { return schemes.Name(s) }

// Next returns the number of items of chunk i, counted from 0, of a queue of that shape: the
// scheme's size, raised to the grain and to 1, and bounded by the remaining items. It depends on
// nothing else.
//
// It panics with [ErrScheme] for Auto and unknown schemes, and with [ErrShape] for a shape without
// workers or with negative numbers.
func (s Scheme) Next(q Shape, i, remaining int) int {
	if s == Auto || int(s) >= len(schemes) {
		panic(ErrScheme)
	}
	if q.Workers < 1 || q.Items < 0 || q.Grain < 0 || i < 0 || remaining < 0 {
		panic(ErrShape)
	}
	return s.next(q, i, remaining)
}

// next is Next for valid arguments.
func (s Scheme) next(q Shape, i, remaining int) int {
	size := max(nextSize[s](q, i, remaining), u(q.Grain), 1)
	return int(min(size, u(remaining)))
}

// even reports whether all chunks of a queue have one size, except that the first larger ones have
// one item more and the last may have fewer.
func (s Scheme) even(q Shape) (size, larger int, ok bool) {
	switch s {
	case Static:
		if size, larger = spread(q); size >= max(q.Grain, 1) {
			return size, larger, true
		}
	case SS, MFSC:
	default:
		return 0, 0, false
	}
	return s.next(q, 0, max(q.Items, 1)), 0, true
}
