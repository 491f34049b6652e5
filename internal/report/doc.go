// Package report formats the output of this module's programs: within 80 columns, with colour only on a
// terminal, with numbers of one column alike, and with a mark at measurements that other programs disturbed.
package report
