package main

import "fmt"

// print writes what a run found, and the gates it was held against.
func (b *residencyBench) print(r *residencyRun, void string) {
	w := b.std.out
	fmt.Fprintf(w, "%s rows: %d, filled in %.1f s (all) and %.1f s (keys); %d reads, fastest of %d rounds; store %d MiB\n", r.Shape, r.Rows, r.FillAll, r.FillKeys, r.Reads, r.Rounds, r.LogBytes>>20)
	rows := [][]string{}
	for _, p := range r.Points {
		limit, rate := "none", fmt.Sprintf("%.0f", p.Rate)
		if p.Cap > 0 {
			limit = fmt.Sprintf("%d MiB", p.Cap>>20)
		}
		if p.Failed != "" {
			rate = "failed"
		}
		rows = append(rows, []string{limit, p.Mode, rate, fmt.Sprintf("%.0f", p.P50), fmt.Sprintf("%.0f", p.P99),
			fmt.Sprintf("%.2f", p.Misses), mebi(p.Anon), mebi(p.AnonEnd), mebi(p.Swapped)})
	}
	writeTable(w, []string{"limit", "mode", "reads/s", "p50 µs", "p99 µs", "misses/read", "opened MiB", "then MiB", "swapped MiB"}, rows, "  ")
	for _, p := range r.Points {
		if p.Failed != "" {
			fmt.Fprintf(w, "  %s under %d MiB: %s\n", p.Mode, p.Cap>>20, p.Failed)
		}
		if p.Mode == "keys" && p.Cap > 0 && r.LogBytes+p.Anon > p.Cap {
			fmt.Fprintf(w, "  under %d MiB keys and log together do not fit: rows come from the disk\n", p.Cap>>20)
		}
	}
	if void != "" {
		fmt.Fprintf(w, "  void: %s\n", void)
	} else {
		x := r.Ratios
		fmt.Fprintf(w, "  rss_ratio %.2f, overcap_vs_swap_x %.2f, in_ram_cost_x %.2f, all_collapse_x %.1f\n", x.RSS, x.VsSwap, x.InRAM, x.Collapse)
	}
	for _, g := range r.Gates {
		fmt.Fprintf(w, "  gate %v\n", g)
	}
}

func mebi(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
