// Package file reads and writes matrix files: NumPy's .npy, Matrix Market, and
// the states that checkpoints keep. It reads NumPy's .npz as well.
//
// [Read] tells the formats apart by the content, compressed with gzip or not,
// and fills a tiled matrix; [ReadDense] fills gonum's. [Write] takes both, and
// any other mat.Matrix, and goes by the extension:
//
//	a, err := file.Read[float64]("a.mtx.gz", nil)
//	d, err := file.ReadDense("b.npz:weights", nil)
//	err = file.Write("a.npy", a, nil)
//	err = file.Write("d.mtx", d.T(), nil)
//
// What is wrong with the content of a file comes back as a *[FormatError] with
// its line. A few bytes can name a matrix of any size: [ReadOptions] limits the
// memory, and can check what the header says before the rest is read. Some files that are
// against the rules of Matrix Market are read all the same; a caller that wants to know sets
// ReadOptions.Warn. [ReadNPY], [ReadMatrixMarket], [WriteNPY] and [WriteMatrixMarket] work
// on streams.
//
// Several nodes that share a file system read and write a .npy file each in parts, by tasks:
// [ReadTiles] and [WriteTiles].
//
// [WriteState] and [ReadState] keep a factorization between two of its steps,
// with checksums; [WriteStateTiles] and [ReadStateTiles] do so by several nodes.
package file
