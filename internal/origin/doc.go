// Package origin says where measurements come from: the machine, and the commit that the program was built
// from.
package origin
