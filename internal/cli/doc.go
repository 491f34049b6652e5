// Package cli is what the command lines of this module's programs share: outputs ([App]), flags and lists of words,
// errors that say what to do, and files that are written as a whole or not at all.
//
// The files, from the bottom up: nearest (what a misspelt word may mean), flags, lists, words and wordlist (values
// of flags), problems (all that is wrong, reported at once), exit, files, size, version, logging, app.
package cli
