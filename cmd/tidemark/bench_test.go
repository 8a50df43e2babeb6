package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goodRun passes every gate.
func goodRun() *residencyRun {
	return &residencyRun{Shape: "wide", Points: []residencyPoint{
		{Mode: "all", Anon: 300 << 20, Rate: 100_000},
		{Mode: "keys", Anon: 100 << 20, Rate: 90_000},
		{Mode: "sqlite", Anon: 3 << 20, Rate: 50_000},
		{Mode: "all", Cap: 150 << 20, Rate: 3_000},
		{Mode: "keys", Cap: 150 << 20, Rate: 12_000},
		{Mode: "all", Cap: 200 << 20, Rate: 5_000},
		{Mode: "keys", Cap: 200 << 20, Rate: 15_000},
		{Mode: "all", Cap: 900 << 20, Rate: 99_000},
		{Mode: "keys", Cap: 900 << 20, Rate: 91_000},
	}}
}

// TestResidencyGate is ENG-AT-38: a doctored run fails, and on exactly what was
// doctored.
func TestResidencyGate(t *testing.T) {
	failing := func(r *residencyRun) (names []string) {
		r.judge(r.ratios())
		for _, g := range r.Gates {
			if !g.OK {
				names = append(names, g.Name)
			}
		}
		return names
	}
	for _, tc := range []struct {
		name   string
		doctor func(r *residencyRun)
		want   string
	}{
		{"as measured", func(*residencyRun) {}, ""},
		{"rss_ratio 1.4", func(r *residencyRun) {
			r.Points[0].Anon = 140 << 20
			r.Points[3].Cap = 120 << 20
			r.Points[4].Cap = 120 << 20
		}, "rss_ratio"},
		{"vs_swap 0.6 at one limit", func(r *residencyRun) { r.Points[6].Rate = 0.6 * 5_000 }, "overcap_vs_swap_x"},
		{"in_ram 12", func(r *residencyRun) { r.Points[1].Rate = 100_000 / 12. }, "in_ram_cost_x"},
		{"no collapse", func(r *residencyRun) {
			r.Points[3].Rate, r.Points[5].Rate = 60_000, 60_000
			r.Points[4].Rate, r.Points[6].Rate = 95_000, 95_000
		}, "all_collapse_x"},
		{"limits that bind nothing", func(r *residencyRun) { r.Points = append(r.Points[:3], r.Points[7:]...) }, "run"},
		{"missing reads", func(r *residencyRun) { r.Points[5].Missing = 1 }, "run"},
		{"keys did not end", func(r *residencyRun) { r.Points[4].Failed, r.Points[6].Failed = "x", "x" }, "run"},
		{"keys did not end under one limit", func(r *residencyRun) { r.Points[4].Failed, r.Points[4].Rate = "x", 0 }, "run"},
		{"no free run", func(r *residencyRun) { r.Points = r.Points[3:] }, "run"},
	} {
		r := goodRun()
		tc.doctor(r)
		if got := strings.Join(failing(r), " "); got != tc.want {
			t.Errorf("%s: fails on %q, want %q: %+v", tc.name, got, tc.want, r.Gates)
		}
	}
}

// TestResidencyChart draws something that is XML and shows every mode.
func TestResidencyChart(t *testing.T) {
	svg := residencyChart([]*residencyRun{goodRun(), {Shape: "int"}})
	d := xml.NewDecoder(strings.NewReader(svg))
	lines := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 3 || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("%d lines:\n%s", lines, svg)
	}
}

// TestResidencyWorker fills, opens and reads a small table in every mode and
// shape as the children do.
func TestResidencyWorker(t *testing.T) {
	for _, shape := range []string{"wide", "int"} {
		for _, mode := range residencyModes {
			path := filepath.Join(t.TempDir(), "store")
			var in, out bytes.Buffer
			enc := json.NewEncoder(&in)
			for _, do := range []string{"fill", "open", "read", "sing"} {
				if err := enc.Encode(residencyOrder{Do: do, Mode: mode, Shape: shape, Path: path, Rows: 2500, Reads: 500}); err != nil {
					t.Fatal(err)
				}
			}
			if err := runResidencyWorker(t.Context(), streams{&in, &out, io.Discard}); err != nil {
				t.Fatal(err)
			}
			dec := json.NewDecoder(&out)
			for i, do := range []string{"fill", "open", "read", "sing"} {
				var a residencyAnswer
				if err := dec.Decode(&a); err != nil {
					t.Fatal(err)
				}
				if do == "sing" {
					if a.Error == "" {
						t.Errorf("%s %s: it can sing", shape, mode)
					}
					continue
				}
				if a.Error != "" || a.Missing != 0 || a.Seconds <= 0 || i > 0 && a.Anon == 0 {
					t.Errorf("%s %s %s: %+v", shape, mode, do, a)
				}
			}
		}
	}
}

// TestResidencyRefusals: bad flags are refused in one line, and nothing is made.
func TestResidencyRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"bench"}, {"bench", "speed"}, {"bench", "residency", "-shape", "round"}, {"bench", "residency", "-caps", "1.5"},
		{"bench", "residency", "-caps", "0"}, {"bench", "residency", "-rows", "3"}, {"bench", "residency", "-rounds", "0"}, {"bench", "residency", "x"},
	} {
		if len(args) > 1 && args[1] == "residency" && args[len(args)-1] != "x" {
			args = append(args, "-dir", dir)
		}
		var out, errs bytes.Buffer
		status := run(context.Background(), args, streams{strings.NewReader(""), &out, &errs})
		if status != statusRefused || strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%v: status %d, %q, %q", args, status, out.String(), errs.String())
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
