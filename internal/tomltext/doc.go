// Package tomltext decodes TOML that people write. What is wrong it says with the line, and in the
// words of such a file: what stands there, and what is wanted.
package tomltext
