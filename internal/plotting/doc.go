// Package plotting draws labench's measurements: rates against one variable,
// with lines to judge them by ([Chart]), and who did what when ([Gantt]).
package plotting
