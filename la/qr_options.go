package la

import (
	"math"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la/engine"
)

// QROptions configures a [QR]. The zero value chooses everything.
type QROptions struct {
	// Tree is the order in which the tiles of a column are eliminated. All are equally accurate, and package
	// blocked/qr has pictures of them.
	Tree qr.Tree
	// Domain is the number of tiles in a domain of TreeDomains; 0 means one
	// domain of the first column for each worker.
	Domain int
	// InnerBlock is the number of columns of a block reflector; 0 means qr.DefaultIB, or for matrices of up to 64 rows the
	// elements in a vector of the processor. A larger one increases the work, and the part of it that is matrix products.
	InnerBlock int
	// TileSize is the tile size; 0 means Options.NB or, if that is 0, one chosen by the shape. One
	// kernel never factors a larger matrix than this.
	TileSize int
}

// Validate returns an *OptionsError that lists everything that is wrong with o,
// or nil.
func (o *QROptions) Validate() error {
	var bad problems.List
	bad.Check(int(o.Tree) < len(qr.Trees()), "Tree is %v, want one of %v", o.Tree, qr.Trees())
	bad.Check(o.Domain >= 0, "Domain is %d, want at least 0", o.Domain)
	bad.Check(o.Domain <= 0 || o.Tree == qr.TreeDomains, "Domain is %d, which %v does not have", o.Domain, o.Tree)
	bad.Check(o.InnerBlock >= 0, "InnerBlock is %d, want at least 0", o.InnerBlock)
	bad.Check(o.TileSize >= 0 && o.TileSize <= engine.MaxTileSize, "TileSize is %d, want 0 to %d", o.TileSize, engine.MaxTileSize)
	return engine.ErrorOf(bad)
}

// rotations returns the options of the tile algorithm.
func (o *QROptions) rotations(e *Engine) qr.RotationOptions {
	return qr.RotationOptions{Tree: o.Tree, Domain: o.Domain, IB: o.InnerBlock, Cores: e.Cores()}
}

// QRFlops holds the floating-point operations of a QR factorization.
type QRFlops struct {
	// Standard is 2·m·n² − 2/3·n³ for m ≥ n, the flops of Householder's method for R. The speed of
	// all forms is reported in these.
	Standard float64
	// Performed is the flops of the kernels for R, without those for the block reflectors.
	Performed float64
}

// logAbs returns the logarithm of the magnitude of x.
func logAbs[T Element](x T) float64 { return math.Log(math.Abs(float64(x))) }
