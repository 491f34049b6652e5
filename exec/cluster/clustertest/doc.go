// Package clustertest runs the nodes of a cluster in the process of a test.
package clustertest
