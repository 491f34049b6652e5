package loopapps

import (
	"cmp"
	"context"

	"github.com/tessera-la/tessera/examples/papers/internal/svm"
	"github.com/tessera-la/tessera/exec"
)

// Kind is an application.
type Kind uint8

// The applications.
const (
	CC     Kind = iota // connected components of an R-MAT graph
	LinReg             // linear regression
	Clouds             // k-means
	Counts             // a histogram
	SVM                // a cascade of support vector machines
	KNN                // nearest neighbours
)

var kinds = [...]string{"components", "linreg", "kmeans", "histogram", "svm", "neighbours"}

// Kinds returns all applications.
func Kinds() []Kind { return []Kind{CC, LinReg, Clouds, Counts, SVM, KNN} }

// Formed reports whether the application's problems are [Formed].
func (k Kind) Formed() bool { return k >= Clouds }

func (k Kind) String() string { return kinds[k] }

// Size is the size of a problem.
type Size struct {
	Vertices, Edges int // of CC; each edge is two elements of the matrix
	Rows, Features  int // of LinReg
	// Of problems that are [Formed]: the number of points, of their coordinates, and of blocks per worker.
	Points, Dims, Blocks int
	Centres, Iterations  int        // of Clouds
	Bins                 int        // of Counts, per coordinate
	Kernel               svm.Kernel // of SVM
	Neighbours           int        // of KNN
	Seed                 uint64
}

// Default sets the numbers of points and of coordinates to the defaults of application k if they are 0.
func (s *Size) Default(k Kind) {
	points, dims := 1<<20, 20
	switch k {
	case Counts:
		dims = 5
	case SVM:
		points = 1 << 13
	case KNN:
		points, dims = 1<<16, 3
	}
	s.Points, s.Dims = cmp.Or(s.Points, points), cmp.Or(s.Dims, dims)
}

// New makes a problem of application k.
func New(ctx context.Context, rt exec.Runtime, k Kind, size Size) (Problem, error) {
	blocks := size.Blocks * len(rt.Workers())
	switch k {
	case LinReg:
		return newRegression(size.Rows, size.Features, size.Seed), nil
	case Clouds:
		return newKMeans(ctx, rt, size.Points, size.Dims, size.Centres, size.Iterations, blocks, size.Seed)
	case Counts:
		return newHistogram(ctx, rt, size.Points, size.Dims, size.Bins, blocks, size.Seed)
	case SVM:
		return newCascade(ctx, rt, size.Points, size.Dims, blocks, size.Kernel, size.Seed)
	case KNN:
		return newNeighbours(ctx, rt, size.Points, size.Dims, size.Neighbours, blocks, size.Seed)
	}
	g, err := adjacency(ctx, rt, NewRMAT(size.Vertices, size.Edges, size.Seed))
	if err != nil {
		return nil, err
	}
	return newComponents(g), nil
}
