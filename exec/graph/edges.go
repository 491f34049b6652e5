package graph

// Dependence is the kind of an edge.
type Dependence uint8

// The kinds of dependence between two tasks on one datum.
const (
	RAW Dependence = iota // read after write: the data flow
	WAR                   // write after read
	WAW                   // write after write
)

func (d Dependence) String() string { return [...]string{"RAW", "WAR", "WAW"}[d] }

// access is the source of edges: what a task does with a datum, or what happens to the datum
// between two tasks.
type access struct {
	task  TaskID // for what happens between tasks: the latest task
	datum uint32 // its number
	kind  accessKind
}

// accessKind fits into kindBits bits.
type accessKind uint8

const (
	reads      accessKind = iota
	updates               // reads the version and makes the next one
	overwrites            // makes the next version
	opens                 // a group begins: its members come after the tasks that made or read the version
	closes                // the group ends: its members have made the next version
	renews                // the next version does not depend on earlier ones
	commutes              // like reads: by a member of a group
	reduces               // like commutes
)

// mode returns the mode of a task's access; 0 for an access between tasks.
func (k accessKind) mode() Mode { return [...]Mode{In, InOut, Out, 0, 0, 0, Commute, Reduce}[k] }

// past has, for each datum by its number, the makers of the latest version, several for a group,
// and its readers. All edges follow from it:
//
//	reads         RAW from the makers; becomes a reader, as do members of groups
//	updates       RAW from the makers, WAR from the readers; becomes the maker
//	overwrites    WAW from the makers, WAR from the readers; becomes the maker
//	opens         members depend on makers and readers alike, but not on one another
//	closes        the members are the makers
//	renews        none: the next version depends on nothing
type past []struct{ makers, readers []TaskID }

// after adds a to the past and yields the edges that follow from it, if yield is not nil.
func (p *past) after(a access, yield func(on TaskID, kind Dependence)) {
	for int(a.datum) >= len(*p) {
		*p = append(*p, struct{ makers, readers []TaskID }{})
	}
	x := &(*p)[a.datum]
	switch a.kind {
	case opens:
		x.makers, x.readers = append(x.readers, x.makers...), nil
		return
	case closes:
		x.makers, x.readers = x.readers, x.makers[:0]
		return
	case renews:
		x.makers, x.readers = x.makers[:0], x.readers[:0]
		return
	}
	if yield != nil {
		made := RAW
		if a.kind == overwrites {
			made = WAW
		}
		for _, m := range x.makers {
			yield(m, made)
		}
		if a.kind == updates || a.kind == overwrites {
			for _, r := range x.readers {
				yield(r, WAR)
			}
		}
	}
	if a.kind != updates && a.kind != overwrites {
		x.readers = append(x.readers, a.task)
		return
	}
	x.makers, x.readers = append(x.makers[:0], a.task), x.readers[:0]
}
