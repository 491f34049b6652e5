// Package plotting draws labench's measurements: rates over one variable, with reference lines ([Chart]), and
// which worker did what when ([Gantt]).
package plotting
