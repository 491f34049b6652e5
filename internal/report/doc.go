// Package report is how programs of this module print: within 80 columns, with colour only on a terminal,
// numbers of one column alike, and a mark beside what other programs disturbed.
package report
