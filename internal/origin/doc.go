// Package origin says where figures come from: the machine and the commit that a program was
// built from.
package origin
