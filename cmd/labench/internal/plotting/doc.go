// Package plotting draws labench's measurements: rates against one variable,
// with lines to judge them by.
package plotting
