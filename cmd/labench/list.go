package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/versions"
)

// newListCommand returns the command labench list.
func newListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the versions of each op: present, eligible, or why not",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			found := findDevices()
			rows := inventory(builtin.NewTable().All(), builtin.Absent(), exec.Here(), found)
			if asJSON {
				return a.document(inventoryDocument{newTargetRow(exec.Here()), append([]deviceRow{}, found.rows...), rows})
			}
			_, err := a.out.Write([]byte(listTable(rows, newPaint(a.out)) + found.list()))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document instead of a table")
	return cmd
}

// inventoryDocument is what labench list --json prints.
type inventoryDocument struct {
	Target   targetRow      `json:"target"` // this machine, as versions see it
	Devices  []deviceRow    `json:"devices"`
	Versions []inventoryRow `json:"versions"`
}

// targetRow is a versions.Target in JSON.
type targetRow struct {
	Kind      string   `json:"kind"`
	Arch      string   `json:"arch"`
	Processor string   `json:"processor"`
	Features  []string `json:"features"`
	Units     int      `json:"units"`  // cores that a task may take
	Memory    int64    `json:"memory"` // bytes; 0 if unknown
}

func newTargetRow(t *versions.Target) targetRow {
	return targetRow{t.Kind, t.Arch, t.Processor, append([]string{}, t.Features...), t.Units, t.Memory}
}

// inventoryRow is one version of one op.
type inventoryRow struct {
	Op       string `json:"op"`
	Type     string `json:"type"`
	Version  string `json:"version"`
	Present  bool   `json:"present"`          // in this build
	Eligible bool   `json:"eligible"`         // can run on this machine
	Reason   string `json:"reason,omitempty"` // why not
}

// inventory returns the versions of ops, and those that this build has not,
// with what keeps them from running on a target, and on devices.
func inventory(ops []*versions.Op, absent []builtin.AbsentVersion, on *versions.Target, found devices) []inventoryRow {
	var rows []inventoryRow
	for _, op := range ops {
		for _, v := range op.Versions {
			why := found.unmet(v.Constraints, on)
			rows = append(rows, inventoryRow{op.Name, op.Type, v.Name, true, why == "", why})
		}
		for _, x := range absent {
			if x.Op == op.Name && x.Type == op.Type {
				rows = append(rows, inventoryRow{op.Name, op.Type, x.Name, false, false, x.Reason})
			}
		}
	}
	return rows
}

// listTable returns the inventory as a table. Types that do not differ share
// a line, and so do the reasons, which stand below.
func listTable(rows []inventoryRow, p paint) string {
	type key struct{ op, version, state, reason string }
	state := func(r inventoryRow) string {
		switch {
		case r.Eligible:
			return "eligible"
		case r.Present:
			return "present"
		}
		return "absent"
	}
	var order []key
	types := map[key][]string{}
	for _, r := range rows {
		k := key{r.Op, r.Version, state(r), r.Reason}
		if types[k] == nil {
			order = append(order, k)
		}
		types[k] = append(types[k], r.Type)
	}
	var b strings.Builder
	var reasons []string
	note := func(reason string) string {
		if reason == "" {
			return ""
		}
		i := slices.Index(reasons, reason)
		if i < 0 {
			i = len(reasons)
			reasons = append(reasons, reason)
		}
		return fmt.Sprintf("(%d)", i+1)
	}
	b.WriteString(p.faint(fmt.Sprintf("%-10s %-22s %-10s %s", "op", "version", "type", "state")) + "\n")
	last := ""
	for _, k := range order {
		op := k.op
		if op == last {
			op = ""
		}
		last = k.op
		word := k.state
		if word == "eligible" {
			word = p.good(word)
		}
		line := fmt.Sprintf("%-10s %-22s %-10s %s %s", op, k.version, strings.Join(types[k], " "), word, note(k.reason))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for i, r := range reasons {
		b.WriteString(wrapped(fmt.Sprintf("(%d) ", i+1), r))
	}
	return b.String()
}
