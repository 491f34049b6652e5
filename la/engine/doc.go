// Package engine holds what package la computes with, for the engineer who configures, tunes or extends it.
//
//	la ─► engine: workers, versions, options, tile sizes ─► blocked ─► exec ─► versions ─► kernels
//
// An [Engine] has the workers and what was learned about the versions of operations. [Options] configure one. [TileSize]
// and its like choose how a matrix is cut into tiles, and when one kernel computes it as a whole. [Run] executes a
// program of tile algorithms, and [Call] one operation. [Explain] and [Engine.Info] say which versions run.
//
// Package la has other names for what every program needs: la.Engine, la.NewEngine and la.Options.
package engine
