// Package quiet tells what else a machine did while something was measured: other programs,
// and a hypervisor that gave the processors to other machines.
//
//	w := quiet.Start()
//	… measure, with so many workers …
//	if load, ok := w.Stop(); ok && load.Disturbs(workers) {
//		fmt.Println(load)
//	}
//
// It reads what Linux counts for each processor that the process may use; elsewhere nothing
// is known. Times are counted in hundredths of a second, so that what is watched for less
// than a tenth has no load.
package quiet
