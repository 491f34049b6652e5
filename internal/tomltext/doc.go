// Package tomltext decodes TOML that people write. What is wrong it says with the line, and in the
// words of such a file: what stands there, and what is wanted.
//
// The files, from the bottom up: lines (which line a value stands on), check (values and the types that they are to
// become), decode.
package tomltext
