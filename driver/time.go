package driver

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// clock converts between time.Time and what is stored, as time_format and
// time_zone say. Everything is stored in UTC, so that stored texts sort as
// their times do; the zone is the location of the times read.
type clock struct {
	layout string                // of the text formats
	unix   func(time.Time) int64 // of the number formats
	parse  func(int64) time.Time
	lo, hi time.Time // range of the format, both included
	asIs   bool      // nothing is read as a time
	zone   *time.Location
}

// Layouts of the text formats: fixed width, so that they sort, and with every
// nanosecond, so that a time is read as it was written.
const (
	layoutRFC3339 = "2006-01-02T15:04:05.000000000Z"
	layoutSQLite  = "2006-01-02 15:04:05.000000000"
)

var (
	firstYear = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastYear  = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

// newClock resolves the two keys, which Validate has checked.
func newClock(format, zone string) (clock, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return clock{}, configError("time_zone", zone, "an IANA name: "+err.Error())
	}
	c := clock{zone: loc, lo: firstYear, hi: lastYear}
	switch format {
	case "rfc3339":
		c.layout = layoutRFC3339
	case "none":
		c.layout, c.asIs = layoutRFC3339, true
	case "sqlite":
		c.layout = layoutSQLite
	case "unix":
		c.unix, c.parse = time.Time.Unix, func(n int64) time.Time { return time.Unix(n, 0) }
	case "unix_milli":
		c.unix, c.parse = time.Time.UnixMilli, time.UnixMilli
	case "unix_micro":
		c.unix, c.parse = time.Time.UnixMicro, time.UnixMicro
	case "unix_nano":
		c.unix, c.parse = time.Time.UnixNano, func(n int64) time.Time { return time.Unix(0, n) }
		c.lo, c.hi = time.Unix(0, -1<<63), time.Unix(0, 1<<63-1)
	default:
		return clock{}, fmt.Errorf("time_format %q has no layout", format)
	}
	return c, nil
}

// encodeTime returns what is stored for t: a string or an int64.
func (c *clock) encodeTime(t time.Time) (any, error) {
	t = t.UTC()
	if t.Before(c.lo) || t.After(c.hi) {
		return nil, fmt.Errorf("time %s is outside of the range of the time format, %s to %s",
			t.Format(time.RFC3339Nano), c.lo.UTC().Format(time.RFC3339), c.hi.UTC().Format(time.RFC3339))
	}
	if c.unix != nil {
		return c.unix(t), nil
	}
	return t.Format(c.layout), nil
}

// decodeTime reads a stored value of a column that isTimeType. A value that is
// no time in a form known here is left to the caller as it is: columns hold
// what was written to them.
func (c *clock) decodeTime(v row.Value) (time.Time, bool) {
	if c.asIs {
		return time.Time{}, false
	}
	switch v.Kind() {
	case row.Int:
		if c.parse == nil {
			return time.Time{}, false
		}
		return c.parse(v.Int()).In(c.zone), true
	case row.Text:
		t, ok := parseTime(v.Bytes())
		return t.In(c.zone), ok
	}
	return time.Time{}, false
}

// timeLayouts are the spellings that SQLite and its drivers for Go write. A
// text without a zone is in UTC, as in SQLite.
var timeLayouts = []string{
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02 15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"2006-01-02",
	"2006-01-02 15:04:05.999999999 -0700 MST", // time.Time.String
}

// parseTime reads a time in any of the usual spellings.
func parseTime(s string) (time.Time, bool) {
	if len(s) < len("2006-01-02") || s[4] != '-' || s[7] != '-' {
		return time.Time{}, false
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, true
	}
	if i := strings.Index(s, " m="); i > 0 {
		s = s[:i] // the monotonic clock of time.Time.String
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// isTimeType reports whether values of a column declared so are read as
// time.Time.
func isTimeType(declared string) bool {
	switch baseType(declared) {
	case "DATE", "DATETIME", "TIMESTAMP", "TIMESTAMPTZ":
		return true
	}
	return false
}
