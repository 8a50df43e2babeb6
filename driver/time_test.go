package driver

import (
	"sort"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
)

func storedValue(t *testing.T, v any) row.Value {
	t.Helper()
	switch v := v.(type) {
	case string:
		return row.TextValue(v)
	case int64:
		return row.IntValue(v)
	}
	t.Fatalf("stored as %T", v)
	return row.Value{}
}

// What is written is read as the same instant, in the zone asked for, as
// precisely as the format holds.
func TestTimeRoundTrip(t *testing.T) {
	precision := map[string]time.Duration{
		"rfc3339": 1, "sqlite": 1, "unix": time.Second, "unix_milli": time.Millisecond, "unix_micro": time.Microsecond, "unix_nano": 1,
	}
	zone, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	for format, unit := range precision {
		c := testClock(t, format, "Asia/Kathmandu")
		for _, at := range []time.Time{
			time.Unix(0, 0),
			time.Unix(-1, 999999999),
			time.Date(1969, 7, 20, 20, 17, 40, 1, time.UTC),
			time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.FixedZone("x", -5*3600)),
			time.Date(2100, 12, 31, 23, 59, 59, 0, time.Local),
		} {
			stored, err := c.encodeTime(at)
			if err != nil {
				t.Fatalf("%s: %s: %v", format, at, err)
			}
			got, ok := c.decodeTime(storedValue(t, stored))
			if !ok || got.Location().String() != zone.String() {
				t.Fatalf("%s: %s is stored as %v and read as %s, %t", format, at, stored, got, ok)
			}
			if d := at.Sub(got); d < 0 || d >= unit {
				t.Errorf("%s: %s is read as %s, %s off", format, at, got, d)
			}
		}
	}
}

// Stored texts sort as the times do, whatever their zones were.
func TestTimeTextSorts(t *testing.T) {
	for _, format := range []string{"rfc3339", "sqlite"} {
		c := testClock(t, format, "UTC")
		base := time.Date(2024, 1, 1, 0, 30, 0, 0, time.FixedZone("east", 3600))
		var texts []string
		for i := range 20 {
			at := base.Add(time.Duration(i) * 777 * time.Millisecond).In(time.FixedZone("z", (i%5-2)*7200))
			v, err := c.encodeTime(at)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, v.(string))
		}
		if !sort.StringsAreSorted(texts) {
			t.Errorf("%s: %q is not sorted", format, texts)
		}
	}
}

func TestTimeOutOfRange(t *testing.T) {
	for _, tc := range []struct {
		format string
		year   int
	}{{"rfc3339", 10000}, {"rfc3339", -1}, {"sqlite", 12000}, {"unix_nano", 2263}, {"unix_nano", 1600}, {"unix", 10000}} {
		c := testClock(t, tc.format, "UTC")
		if v, err := c.encodeTime(time.Date(tc.year, 6, 1, 0, 0, 0, 0, time.UTC)); err == nil {
			t.Errorf("%s stores the year %d as %v", tc.format, tc.year, v)
		}
	}
}

// With time_format=none a time is stored and nothing is read as one.
func TestTimeFormatNone(t *testing.T) {
	c := testClock(t, "none", "UTC")
	v, err := c.encodeTime(time.Unix(0, 0))
	if err != nil || v != "1970-01-01T00:00:00.000000000Z" {
		t.Fatalf("stored as %v, %v", v, err)
	}
	if at, ok := c.decodeTime(storedValue(t, v)); ok {
		t.Errorf("read as %s", at)
	}
}

func TestDecodeTime(t *testing.T) {
	text := testClock(t, "rfc3339", "UTC")
	number := testClock(t, "unix_milli", "UTC")
	noon := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, s := range []string{
		"2024-03-01T12:00:00.000000000Z", "2024-03-01T12:00:00Z", "2024-03-01 12:00:00", "2024-03-01T12:00",
		"2024-03-01 12:00", "2024-03-01 13:00:00+01:00", "2024-03-01T13:00:00.000+01:00", "2024-03-01 12:00:00.000",
		"2024-03-01 13:00+01:00", "2024-03-01 12:00:00 +0000 UTC", "2024-03-01 12:00:00 +0000 UTC m=+0.001",
	} {
		if got, ok := text.decodeTime(row.TextValue(s)); !ok || !got.Equal(noon) {
			t.Errorf("%q is read as %s, %t", s, got, ok)
		}
	}
	if got, ok := text.decodeTime(row.TextValue("2024-03-01")); !ok || !got.Equal(noon.Add(-12*time.Hour)) {
		t.Errorf("a date is read as %s, %t", got, ok)
	}
	for _, v := range []row.Value{
		{}, row.TextValue(""), row.TextValue("soon"), row.TextValue("2024-13-01"), row.TextValue("2024-03-01T25:00:00Z"),
		row.TextValue("12:00:00"), row.IntValue(5), row.RealValue(1.5), row.BlobValue("2024-03-01"),
	} {
		if got, ok := text.decodeTime(v); ok {
			t.Errorf("%v %q is read as %s", v.Kind(), v.Bytes(), got)
		}
	}
	if got, ok := number.decodeTime(row.IntValue(noon.UnixMilli())); !ok || !got.Equal(noon) {
		t.Errorf("milliseconds are read as %s, %t", got, ok)
	}
	if got, ok := number.decodeTime(row.TextValue("2024-03-01 12:00:00")); !ok || !got.Equal(noon) {
		t.Errorf("a text under unix_milli is read as %s, %t", got, ok)
	}
}
