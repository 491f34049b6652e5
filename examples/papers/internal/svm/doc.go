// Package svm trains support vector machines, one at a time: by sequential minimal optimisation,
// from the points of two others. Programs make cascades of them, as loops and as tasks.
package svm
