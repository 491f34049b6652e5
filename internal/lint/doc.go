// Package lint holds the house to its rules: which package may import which,
// where C and third-party modules may enter, that architecture-specific files
// come in twins, that nothing mutable stands at package level, and that
// everything public is documented.
//
// The rules run as tests over all Go files of the module, whatever their
// build tags, so that a file which this machine does not build is held to
// them, too. Nothing but tests is in this package: Rules lists the rules. A rule
// is a function from the parsed module to its findings, and has a test of its own
// that feeds it an offender. Two more tests follow the links of the documents, and
// hold all packages to compile for machines that are not here.
package lint
