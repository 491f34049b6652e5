// Package loopapps provides applications of parallel loops that compare plans for handing out items. Connected
// components of an R-MAT graph have rows of very different lengths, and linear regression on dense data has
// equal rows: DaphneSched was evaluated with these (Eleliemy and Ciorba, 2023). K-means, a histogram, a cascade
// of support vector machines and nearest neighbours iterate over points in blocks, with tasks for blocks or
// loops over partitions of them: SplIter was evaluated with these (Barcelo, Queralt and Cortes, 2023). Each
// application checks its result by other means.
//
// The files rmat, adjacency, components, regression and, based on form, kmeans, histogram, cascade, and
// neighbours with its kdtree do the computations. app puts them under one interface. sweep executes them with
// each plan in turn, and two plans in pairs.
package loopapps
