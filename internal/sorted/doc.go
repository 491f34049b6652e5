// Package sorted goes through maps in the order of their keys. Tests need that where the cases of a map draw from one
// random stream, as each case then gets the same numbers in every run.
package sorted
