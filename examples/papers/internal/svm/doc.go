// Package svm trains support vector machines by sequential minimal optimisation. A machine can be trained from
// two others. Programs build cascades from that, with loops or tasks.
package svm
