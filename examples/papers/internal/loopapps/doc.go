// Package loopapps is applications of parallel loops, to compare the plans by which their
// items can be handed out: connected components of an R-MAT graph, whose rows have unlike
// lengths, and linear regression on dense data, whose rows are alike: those with which
// DaphneSched was evaluated (Eleliemy and Ciorba, 2023). K-means, a histogram, a cascade of
// support vector machines and nearest neighbours go over points in blocks, by tasks for blocks
// and by loops over partitions of these: those with which SplIter was (Barcelo, Queralt and
// Cortes, 2023). Each checks its result by other means.
//
// Rmat, adjacency, components, regression, and, by way of form, kmeans, histogram, cascade with its
// solver smo, and neighbours with its kdtree compute and know of no measurement; app puts them
// under one interface; sweep executes them with each plan in turn, and two of them in pairs.
package loopapps
