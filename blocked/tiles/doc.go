// Package tiles holds the tiled matrix: its storage, how it is made from other matrices and
// goes back into them, and its norms. It knows nothing of the algorithms that package blocked
// and those below it submit as tasks.
//
// A [Matrix] is a grid of tiles; [New] makes one of zeros, [From] copies any gonum matrix,
// [Convert] in another element type, and [View] shows memory of the caller's as tiles without
// copying. A Matrix is itself a [Source] and a [Sink], and [Matrix.CopyTo] brings it back to
// gonum. [Kind] says whether all of it is stored or one triangle.
//
// [General], [Symmetric] and [Triangular] are matrices in plain row-major memory, for types and
// strides that gonum's matrices do not have. A [Layout] says which process of several owns
// which tile, and [Distributed] makes a matrix whose tiles are on the nodes of a runtime.
package tiles
