// Package native lists the instruction sets that there is assembly for. A new one is a folder
// with its table, see [isa.Table], and a line here.
package native
