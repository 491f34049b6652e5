// Package file reads and writes matrix files: NumPy's .npy, Matrix Market, and
// the states that checkpoints keep. It reads NumPy's .npz as well.
//
// [Read] recognizes the format by the content, compressed with gzip or not,
// and returns a tiled matrix; [ReadDense] returns gonum's. [Write] writes both,
// and any other mat.Matrix, in the format of the extension:
//
//	a, err := file.Read[float64]("a.mtx.gz", nil)
//	d, err := file.ReadDense("b.npz:weights", nil)
//	err = file.Write("a.npy", a, nil)
//	err = file.Write("d.mtx", d.T(), nil)
//
// If the content of a file is wrong, the error is a *[FormatError] with the line. A few
// bytes can announce a matrix of any size: [ReadOptions] limits the memory, and can check
// the header before the rest is read. Some files that break the rules of Matrix Market are
// read nevertheless; a caller that wants to know sets ReadOptions.Warn. [ReadNPY],
// [ReadMatrixMarket], [WriteNPY] and [WriteMatrixMarket] work on streams.
//
// Several nodes that share a file system can read and write parts of a .npy file by tasks:
// [ReadTiles] and [WriteTiles].
//
// [WriteState] and [ReadState] keep a factorization between two of its steps,
// with checksums; [WriteStateTiles] and [ReadStateTiles] do so by several nodes.
package file
