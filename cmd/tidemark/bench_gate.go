package main

import "fmt"

// residencyRun is what one run of the benchmark found for one shape of rows.
type residencyRun struct {
	Shape    string            `json:"shape"`
	Rows     int               `json:"rows"`
	Reads    int               `json:"reads"`
	Rounds   int               `json:"rounds"`
	FillAll  float64           `json:"fill_all_seconds"`
	FillKeys float64           `json:"fill_keys_seconds"`
	LogBytes int64             `json:"log_bytes"` // of the keys store
	Points   []residencyPoint  `json:"points"`    // the first three have no cap
	Ratios   residencyRatios   `json:"ratios"`
	Gates    []residencyResult `json:"gates,omitempty"`
}

// residencyPoint is one process that read under one cap.
type residencyPoint struct {
	Mode    string  `json:"mode"` // all, keys, sqlite
	Cap     int64   `json:"cap"`  // bytes, 0 for none
	Failed  string  `json:"failed,omitempty"`
	Open    float64 `json:"open_seconds"`
	Anon    int64   `json:"anon_bytes"`       // after opening and a collection
	AnonEnd int64   `json:"anon_end_bytes"`   // after the reads, as it was
	Rate    float64 `json:"reads_per_second"` // of the fastest round; so are P50, P99 and Misses
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Missing int     `json:"missing"`
	Misses  float64 `json:"misses_per_read"` // major page faults
	Swapped int64   `json:"swapped_bytes"`
}

// residencyRatios are what the gate looks at. Zero is not measured.
type residencyRatios struct {
	RSS      float64 `json:"rss_ratio"`         // anonymous memory, all to keys, no cap
	VsSwap   float64 `json:"overcap_vs_swap_x"` // reads a second, keys to all: the worst cap that all does not fit
	InRAM    float64 `json:"in_ram_cost_x"`     // reads a second, all to keys, no cap
	Collapse float64 `json:"all_collapse_x"`    // reads a second of all: no cap to the smallest cap
}

// residencyResult is one gate's verdict.
type residencyResult struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Bound float64 `json:"bound"`
	Floor bool    `json:"floor"` // the value must not be below the bound, else not above
	OK    bool    `json:"ok"`
	Why   string  `json:"why,omitempty"`
}

func (r residencyResult) String() string {
	word, verdict := "at most", "ok"
	if r.Floor {
		word = "at least"
	}
	if !r.OK {
		verdict = "FAILED"
	}
	text := fmt.Sprintf("%-18s %8.2f  %s %.2f  %s", r.Name, r.Value, word, r.Bound, verdict)
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// The gates of the wide shape: what the option is promised to be worth, and that
// the run shows it, with limits that bind. Absolute rates depend on the machine
// and are recorded only.
var residencyGates = []struct {
	name  string
	value func(residencyRatios) float64
	bound float64
	floor bool
}{
	{"rss_ratio", func(r residencyRatios) float64 { return r.RSS }, 2.3, true},
	{"overcap_vs_swap_x", func(r residencyRatios) float64 { return r.VsSwap }, 1.5, true},
	{"in_ram_cost_x", func(r residencyRatios) float64 { return r.InRAM }, 1.5, false},
	{"all_collapse_x", func(r residencyRatios) float64 { return r.Collapse }, 2, true},
}

// ratios derives the gated numbers from the points. void says why a run cannot
// be judged: reads that found no row or did not end, or no cap that binds.
func (r *residencyRun) ratios() (void string) {
	free := map[string]residencyPoint{}
	for _, p := range r.Points {
		if p.Missing > 0 {
			return fmt.Sprintf("%d reads of %s found no row", p.Missing, p.Mode)
		}
		if p.Cap == 0 {
			free[p.Mode] = p
		}
	}
	all, keys := free["all"], free["keys"]
	if all.Rate == 0 || keys.Rate == 0 || keys.Anon == 0 {
		return "there is no run without a cap"
	}
	r.Ratios = residencyRatios{RSS: float64(all.Anon) / float64(keys.Anon), InRAM: all.Rate / keys.Rate}
	least := int64(0)
	bound := false
	for _, a := range r.Points {
		if a.Mode != "all" || a.Cap == 0 || a.Cap >= all.Anon {
			continue // no cap, or one that it fits
		}
		for _, k := range r.Points {
			if k.Mode != "keys" || k.Cap != a.Cap || a.Rate == 0 && a.Failed == "" {
				continue
			}
			if k.Failed != "" || k.Rate == 0 {
				return fmt.Sprintf("keys did not end under %d MiB", k.Cap>>20)
			}
			bound = true
			if a.Rate == 0 {
				continue // it did not come to its end at all
			}
			if x := k.Rate / a.Rate; r.Ratios.VsSwap == 0 || x < r.Ratios.VsSwap {
				r.Ratios.VsSwap = x
			}
			if least == 0 || a.Cap < least {
				least, r.Ratios.Collapse = a.Cap, all.Rate/a.Rate
			}
		}
	}
	if !bound {
		return "no cap lies between what keys and what all need"
	}
	return ""
}

// judge holds a run against the gates.
func (r *residencyRun) judge(void string) (ok bool) {
	r.Gates, ok = nil, true
	if void != "" {
		r.Gates = []residencyResult{{Name: "run", Why: "void: " + void}}
		return false
	}
	for _, g := range residencyGates {
		res := residencyResult{Name: g.name, Value: g.value(r.Ratios), Bound: g.bound, Floor: g.floor}
		if res.OK = res.Value <= g.bound; g.floor {
			res.OK = res.Value >= g.bound
		}
		ok = ok && res.OK
		r.Gates = append(r.Gates, res)
	}
	return ok
}
