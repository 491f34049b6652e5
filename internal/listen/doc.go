// Package listen has the listener of servers that strangers can reach: a failed accept does not end it,
// and connections of which nobody knows yet whose they are do not fill it.
package listen
