package slt

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

func compare(r *Record, vals []string, labels map[string]string) string {
	nc := len(r.Types)
	switch r.Sort {
	case RowSort:
		sortRows(vals, nc)
	case ValueSort:
		sort.Strings(vals)
	}
	hash := ""
	if r.Label != "" {
		hash = sum(vals)
		if was, ok := labels[r.Label]; !ok {
			labels[r.Label] = hash
		} else if was != hash {
			return "result differs from that of an earlier query with label " + r.Label
		}
	}
	if len(r.Want) == 1 {
		if n, h, ok := hashLine(r.Want[0]); ok {
			if n != len(vals) {
				return fmt.Sprintf("%d values, expected %d", len(vals), n)
			}
			if hash == "" {
				hash = sum(vals)
			}
			if hash != h {
				return fmt.Sprintf("hash of %d values is %s, expected %s", n, hash, h)
			}
			return ""
		}
	}
	if len(vals) == len(r.Want) {
		for i := range vals {
			if vals[i] != r.Want[i] {
				return fmt.Sprintf("value %d is %q, expected %q", i+1, vals[i], r.Want[i])
			}
		}
		return ""
	}
	if nc > 1 && len(r.Want)*nc == len(vals) { // a row a line
		got, want := make([]string, len(r.Want)), make([]string, len(r.Want))
		for i := range got {
			got[i] = strings.Join(strings.Fields(strings.Join(vals[i*nc:i*nc+nc], " ")), " ")
			want[i] = strings.Join(strings.Fields(r.Want[i]), " ")
		}
		if r.Sort == RowSort {
			sort.Strings(got)
			sort.Strings(want)
		}
		for i := range got {
			if got[i] != want[i] {
				return fmt.Sprintf("row %d is %q, expected %q", i+1, got[i], want[i])
			}
		}
		return ""
	}
	return fmt.Sprintf("%d values, expected %d lines; got %.200q expected %.200q", len(vals), len(r.Want), vals, r.Want)
}

func hashLine(s string) (n int, h string, ok bool) {
	f := strings.Fields(s)
	if len(f) != 5 || f[1] != "values" || f[2] != "hashing" || f[3] != "to" || len(f[4]) != 32 {
		return 0, "", false
	}
	n, err := strconv.Atoi(f[0])
	return n, f[4], err == nil
}

func sum(vals []string) string {
	h := md5.New()
	var buf []byte
	for _, v := range vals {
		buf = append(append(buf[:0], v...), '\n')
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}

type rowSorter struct {
	v  []string
	nc int
}

func (s rowSorter) Len() int { return len(s.v) / s.nc }
func (s rowSorter) Less(i, j int) bool {
	a, b := s.v[i*s.nc:(i+1)*s.nc], s.v[j*s.nc:(j+1)*s.nc]
	for k := range a {
		if a[k] != b[k] {
			return a[k] < b[k]
		}
	}
	return false
}
func (s rowSorter) Swap(i, j int) {
	for k := 0; k < s.nc; k++ {
		s.v[i*s.nc+k], s.v[j*s.nc+k] = s.v[j*s.nc+k], s.v[i*s.nc+k]
	}
}

func sortRows(v []string, nc int) {
	if nc == 1 {
		sort.Strings(v)
		return
	}
	sort.Stable(rowSorter{v, nc})
}
