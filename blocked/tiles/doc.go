// Package tiles holds the tiled matrix: its storage, conversions from and to other matrices, and its
// norms. It knows nothing of the algorithms that package blocked and its subpackages submit as tasks.
//
// A [Matrix] is a grid of tiles. [New] makes a matrix of zeros, [From] copies any gonum matrix,
// [Convert] copies into another element type, and [View] presents the caller's memory as tiles
// without a copy. A Matrix is itself a [Source] and a [Sink], and [Matrix.CopyTo] copies it back to
// gonum. [Kind] says whether the whole matrix or one triangle is stored.
//
// [General], [Symmetric] and [Triangular] are matrices in plain row-major memory, for types and
// strides that gonum's matrices do not have. A [Layout] says which process of several owns
// which tile, and [Distributed] makes a matrix whose tiles are on the nodes of a runtime.
package tiles
