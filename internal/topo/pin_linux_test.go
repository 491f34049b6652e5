package topo

import (
	"runtime"
	"slices"
	"testing"
)

// TestConfine: all threads of a confined process run on its CPUs, also those that come later,
// and more can be had again.
func TestConfine(t *testing.T) {
	before, err := processAffinity()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := Confine(before...); err != nil {
			t.Error(err)
		}
	}()
	own := before[len(before)-1]
	if err := Confine(own); err != nil {
		t.Fatal(err)
	}
	got := make(chan CPUSet, 16)
	for range cap(got) {
		go func() {
			runtime.LockOSThread() // and ends with its thread: the next one has another
			cpus, err := Affinity()
			if cpu := CPU(); err != nil || cpu != own {
				t.Errorf("on CPU %d, want %d; %v", cpu, own, err)
			}
			got <- cpus
		}()
	}
	for range cap(got) {
		if cpus := <-got; !slices.Equal(cpus, CPUSet{own}) {
			t.Errorf("a thread has CPUs %v, want %d", cpus, own)
		}
	}
	if all := Detect().Allowed; !slices.Equal(all, CPUSet{own}) {
		t.Errorf("detected are CPUs %v, want %d", all, own)
	}
	granted, err := Grantable(before...)
	if err != nil || !slices.Equal(granted, before) {
		t.Errorf("CPUs %v can be had, error %v, want %v", granted, err, before)
	}
	if err := Confine(); err == nil {
		t.Error("to no CPU at all")
	}
}
