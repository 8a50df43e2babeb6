package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// residencyChart draws reads a second against the limit, on logarithmic scales,
// one panel for each shape. A run without a limit stands at the right edge.
func residencyChart(runs []*residencyRun) string {
	const width, height, left, top, bottom = 560, 320, 80, 40, 50
	colors := map[string]string{"all": "#c0392b", "keys": "#2471a3", "sqlite": "#7d7d7d"}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height*max(len(runs), 1))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for i, r := range runs {
		low, high, slow, fast := math.Inf(1), 0.0, math.Inf(1), 0.0
		for _, p := range r.Points {
			if p.Rate > 0 {
				slow, fast = min(slow, p.Rate), max(fast, p.Rate)
			}
			if p.Cap > 0 {
				low, high = min(low, float64(p.Cap)), max(high, float64(p.Cap))
			}
		}
		if fast == 0 {
			continue
		}
		if high == 0 {
			low, high = 1, 1
		}
		high *= 1.5 // where no limit is drawn
		slow, fast = slow/1.5, fast*1.5
		x := func(c float64) float64 {
			return left + (width-left-30)*math.Log(c/low)/math.Log(high/low)
		}
		y := func(rate float64) float64 {
			return float64(height*i+height-bottom) - (height-top-bottom)*math.Log(rate/slow)/math.Log(fast/slow)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="14">%s rows: reads a second against the memory limit</text>`+"\n", left, height*i+22, r.Shape)
		fmt.Fprintf(&b, `<path d="M%d %.1fV%.1fH%.1f" fill="none" stroke="black"/>`+"\n", left, y(fast), y(slow), x(high))
		for rate := math.Pow(10, math.Ceil(math.Log10(slow))); rate <= fast; rate *= 10 {
			fmt.Fprintf(&b, `<path d="M%d %.1fH%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left, y(rate), x(high), left-6, y(rate)+4, rate)
		}
		for k, mode := range residencyModes {
			points := slices.Clone(r.Points)
			points = slices.DeleteFunc(points, func(p residencyPoint) bool { return p.Mode != mode || p.Rate == 0 })
			at := func(p residencyPoint) float64 {
				if p.Cap == 0 {
					return high
				}
				return float64(p.Cap)
			}
			slices.SortFunc(points, func(p, q residencyPoint) int { return cmp.Compare(at(p), at(q)) })
			var line strings.Builder
			for _, p := range points {
				fmt.Fprintf(&line, "%.1f,%.1f ", x(at(p)), y(p.Rate))
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(at(p)), y(p.Rate), colors[mode])
			}
			fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.TrimSpace(line.String()), colors[mode])
			fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+10+70*k, height*i+height-10, colors[mode], mode)
		}
		var marks []int64
		for _, p := range r.Points {
			if p.Cap > 0 {
				marks = append(marks, p.Cap)
			}
		}
		slices.Sort(marks)
		for _, c := range slices.Compact(marks) {
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", x(float64(c)), y(slow)+16, c>>20)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">none, MiB</text>`+"\n", x(high)+24, y(slow)+16)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
