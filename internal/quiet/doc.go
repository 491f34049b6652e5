// Package quiet says what else ran on a machine during a measurement: other programs, and other machines to
// which a hypervisor gave the processors.
//
//	w := quiet.Start()
//	… measure, with the given number of workers …
//	if load, ok := w.Stop(); ok && load.Disturbs(workers) {
//		fmt.Println(load)
//	}
//
// It reads the counters that Linux has for each processor that the process may use. On other systems the load
// is unknown. Linux counts in hundredths of a second, so a measurement of less than a tenth of a second has no
// load.
package quiet
