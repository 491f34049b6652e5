package planner

import (
	"strings"
	"testing"
)

// TestPlanPolicies: the list of --sched is as that of labench scale: each policy once, and all
// may be among them.
func TestPlanPolicies(t *testing.T) {
	for _, test := range []struct {
		list    string
		several bool
		want    string
	}{
		{"", true, ""},
		{"fifo, EFT,fifo", false, "fifo eft"},
		{"eft,all", false, "eft priority fifo lifo locality fifodata steal"},
		{"all,fifo", true, "owner priority fifo lifo locality fifodata steal eft"},
	} {
		if got, err := policies(test.list, test.several); err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, %v, want %s", test.list, got, err, test.want)
		}
	}
}
