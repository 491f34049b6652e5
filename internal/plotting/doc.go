// Package plotting draws labench's measurements: rates over one variable, with reference lines ([Chart]), and
// which worker did what when ([Gantt]).
//
// The files of a chart, from the bottom up: chart (the data), colours, axes, bars, references, marks, draw.
package plotting
