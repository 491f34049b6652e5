package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// NewListCommand returns the command labench list.
func NewListCommand(a *cli.App) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list [OP|VERSION] …",
		Short: "List the ops of tiles, and the versions of each that can run here",
		Long: `List for each op the versions that can run here, the first choice first, and say
why others cannot. With names of ops or versions, list all that there is of
these, one line each: "eligible" can run here, "present" is in this build but
cannot run here, "absent" is in other builds.`,
		Example: `  labench list
  labench list gemm          all versions of gemm
  labench list cuda potrf    the version cuda of all ops, and all of potrf`,
		RunE: func(_ *cobra.Command, args []string) error {
			found := setup.FindDevices()
			rows := Inventory(op.NewTable().All(), op.Absent(), exec.Here(), found)
			chosen, err := Filter(rows, args)
			if err != nil {
				return cli.Usage(err)
			}
			if asJSON {
				return a.Document(InventoryDocument{newTargetRow(exec.Here()), append([]setup.DeviceRow{}, found.Rows...), chosen})
			}
			text := ListShort(rows)
			if all || len(args) > 0 {
				text = ListTable(chosen, report.NewPaint(a.Out))
			}
			_, err = a.Out.Write([]byte(text + found.List()))
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all ops, one line for each version")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document instead of a table")
	return cmd
}

// Filter returns the rows whose op or version is one of words, or all rows if words is empty. It returns an
// error if a word is no op and no version.
func Filter(rows []inventoryRow, words []string) (chosen []inventoryRow, err error) {
	ops, all := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		ops[r.Op], all[r.Version] = true, true
		if len(words) == 0 || slices.Contains(words, r.Op) || slices.Contains(words, r.Version) {
			chosen = append(chosen, r)
		}
	}
	for _, w := range words {
		if ops[w] || all[w] {
			continue
		}
		names, others := slices.Sorted(maps.Keys(ops)), slices.Sorted(maps.Keys(all))
		if k := cli.DidYouMean(w, slices.Concat(names, others)); k != "" {
			return nil, fmt.Errorf("unknown op or version %q. %s", w, k)
		}
		return nil, fmt.Errorf("unknown op or version %q; ops: %s; versions: %s", w, strings.Join(names, ", "), strings.Join(others, ", "))
	}
	return chosen, nil
}

// ListShort returns a line for each op, with the versions that can run here, and a line for each version that
// can run for no op here.
func ListShort(rows []inventoryRow) string {
	var ops, others []string
	runs := map[string][]string{}  // by op
	types := map[string][]string{} // by op and version
	why := map[string]string{}     // by version; of the first op with a reason
	eligible := map[string]bool{}  // by version
	for _, r := range rows {
		if !slices.Contains(ops, r.Op) {
			ops = append(ops, r.Op)
		}
		if r.Eligible {
			eligible[r.Version] = true
			types[r.Op+" "+r.Version] = append(types[r.Op+" "+r.Version], r.Type)
			if !slices.Contains(runs[r.Op], r.Version) {
				runs[r.Op] = append(runs[r.Op], r.Version)
			}
		} else if why[r.Version] == "" {
			why[r.Version] = r.Reason
			others = append(others, r.Version)
		}
	}
	var b strings.Builder
	b.WriteString("op         what it does: versions that can run here, the first choice first\n")
	known := op.Names()
	slices.SortStableFunc(ops, func(x, y string) int { return cmp.Compare(slices.Index(known, x), slices.Index(known, y)) })
	for _, name := range ops {
		var words []string
		for _, v := range runs[name] {
			if t := types[name+" "+v]; len(t) == 1 {
				v += " (" + t[0] + ")"
			}
			words = append(words, v)
		}
		b.WriteString(report.Wrapped(report.Pad(name, 11), strings.TrimPrefix(op.About(name)+": "+strings.Join(words, ", "), ": ")))
	}
	for _, v := range others {
		if !eligible[v] {
			b.WriteString(report.Wrapped("not "+v+": ", why[v]))
		}
	}
	b.WriteString("labench list OP shows all versions of an op, and labench list --all of all.\n")
	return b.String()
}

// InventoryDocument is what labench list --json prints.
type InventoryDocument struct {
	Target   targetRow         `json:"target"` // this machine, as versions see it
	Devices  []setup.DeviceRow `json:"devices"`
	Versions []inventoryRow    `json:"versions"`
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
	Present  bool   `json:"present"`          // part of this build
	Eligible bool   `json:"eligible"`         // can run on this machine
	Reason   string `json:"reason,omitempty"` // why it is not eligible
}

// Inventory returns the versions of ops, those missing from this build included, with the reasons why they
// cannot run on a target or on devices.
func Inventory(ops []*versions.Op, absent []op.AbsentVersion, on *versions.Target, found setup.Devices) []inventoryRow {
	var rows []inventoryRow
	for _, op := range ops {
		for _, v := range op.Versions {
			why := found.Unmet(v.Constraints, on)
			present := found.Built || !strings.EqualFold(v.Constraints.Kind, "cuda")
			rows = append(rows, inventoryRow{op.Name, op.Type, v.Name, present, why == "", why})
		}
		for _, x := range absent {
			if x.Op == op.Name && x.Type == op.Type {
				rows = append(rows, inventoryRow{op.Name, op.Type, x.Name, false, false, x.Reason})
			}
		}
	}
	return rows
}

// ListTable returns the inventory as a table. Types that do not differ share a line. The reasons are listed
// below, each once.
func ListTable(rows []inventoryRow, p report.Paint) string {
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
	b.WriteString(p.Faint(fmt.Sprintf("%-10s %-22s %-10s %s", "op", "version", "type", "state")) + "\n")
	last := ""
	for _, k := range order {
		op := k.op
		if op == last {
			op = ""
		}
		last = k.op
		word := k.state
		if word == "eligible" {
			word = p.Good(word)
		}
		line := fmt.Sprintf("%-10s %-22s %-10s %s %s", op, k.version, strings.Join(types[k], " "), word, note(k.reason))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for i, r := range reasons {
		b.WriteString(report.Wrapped(fmt.Sprintf("(%d) ", i+1), r))
	}
	for i, k := range order {
		if text := op.About(k.op); text != "" && (i == 0 || order[i-1].op != k.op) {
			b.WriteString(report.Wrapped(k.op+": ", text))
		}
	}
	return b.String()
}
