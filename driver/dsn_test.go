package driver

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseDSN(t *testing.T) {
	for _, tc := range []struct {
		dsn  string
		want Config
	}{
		{"data", Config{Path: "data"}},
		{"data?", Config{Path: "data"}},
		{"/var/lib/app data#1%20", Config{Path: "/var/lib/app data#1%20"}},
		{"file:data", Config{Path: "data"}},
		{"file:/abs/d", Config{Path: "/abs/d"}},
		{"file:///abs/d", Config{Path: "/abs/d"}},
		{"file://localhost/abs/d", Config{Path: "/abs/d"}},
		{"file:a%3Fb%25c%23d%20e", Config{Path: "a?b%c#d e"}},
		{"file:data?mode=rw#fragment", Config{Path: "data", Mode: "rw"}},
		{"file:data#fragment?mode=bad", Config{Path: "data"}},
		{"data?mode=rwc", Config{Path: "data", Mode: "rwc"}},
		{"data?mode=rw&sync=full", Config{Path: "data", Mode: "rw", Sync: "full"}},
		{"data?sync=normal", Config{Path: "data", Sync: "normal"}},
		{"data?sync=off", Config{Path: "data", Sync: "off"}},
		{"data?busy_timeout=5s", Config{Path: "data", BusyTimeout: 5 * time.Second}},
		{"data?busy_timeout=1500", Config{Path: "data", BusyTimeout: 1500 * time.Millisecond}},
		{"data?busy_timeout=0", Config{Path: "data", BusyTimeout: noWait}},
		{"data?txlock=immediate", Config{Path: "data", Txlock: "immediate"}},
		{"data?foreign_keys=off", Config{Path: "data", ForeignKeys: "off"}},
		{"data?foreign_keys=on", Config{Path: "data", ForeignKeys: "on"}},
		{"data?_foreign_keys=1", Config{Path: "data", ForeignKeys: "on"}},
		{"data?_pragma=foreign_keys(on)", Config{Path: "data", ForeignKeys: "on"}},
		{"data?generation_size=4096", Config{Path: "data", GenerationSize: 4096}},
		{"data?generation_size=8MiB", Config{Path: "data", GenerationSize: 8 << 20}},
		{"data?memory_budget=64MiB", Config{Path: "data", MemoryBudget: 64 << 20}},
		{"?ephemeral=1&memory_budget=1048577", Config{Ephemeral: true, MemoryBudget: 1<<20 + 1}},
		{"data?shards=1", Config{Path: "data", Shards: 1}},
		{"data?shards=64", Config{Path: "data", Shards: 64}},
		{"data?time_format=unix_milli&time_zone=Europe%2FBerlin", Config{Path: "data", TimeFormat: "unix_milli", TimeZone: "Europe/Berlin"}},
		{"data?&mode=rw&", Config{Path: "data", Mode: "rw"}},
		{"", Config{}},
		{"?mode=rw", Config{Mode: "rw"}},
		{"?ephemeral=1", Config{Ephemeral: true}},
		{"file:?ephemeral=1", Config{Ephemeral: true}},
		{"data?at=before%20import&sync=off", Config{Path: "data", At: "before import", Sync: "off"}},

		{"data?_busy_timeout=5000", Config{Path: "data", BusyTimeout: 5 * time.Second}},
		{"data?_timeout=5000", Config{Path: "data", BusyTimeout: 5 * time.Second}},
		{"data?_txlock=exclusive", Config{Path: "data", Txlock: "immediate"}},
		{"data?_foreign_keys=0", Config{Path: "data", ForeignKeys: "off"}},
		{"data?_fk=false", Config{Path: "data", ForeignKeys: "off"}},
		{"data?_pragma=busy_timeout(7000)", Config{Path: "data", BusyTimeout: 7 * time.Second}},
		{"data?_pragma=busy_timeout%3D7000", Config{Path: "data", BusyTimeout: 7 * time.Second}},
		{"data?_pragma=journal_mode(WAL)&_pragma=Synchronous('NORMAL')&_pragma=foreign_keys(0)", Config{Path: "data", Sync: "normal", ForeignKeys: "off"}},
		{"data?_sync=0", Config{Path: "data", Sync: "off"}},
		{"data?_sync=OFF", Config{Path: "data", Sync: "off"}},
		{"data?_synchronous=1", Config{Path: "data", Sync: "normal"}},
		{"data?_pragma=synchronous(2)", Config{Path: "data", Sync: "full"}},
		{"data?_pragma=synchronous=Extra", Config{Path: "data", Sync: "full"}},
		{"data?_synchronous=3&sync=full", Config{Path: "data", Sync: "full"}},
		{"data?sync=off&_pragma=synchronous(off)&_sync=0", Config{Path: "data", Sync: "off"}},
		{"data?_journal_mode=WAL&_journal=x&_cache_size=-2000&cache=shared", Config{Path: "data"}},
		{"data?_loc=auto", Config{Path: "data", TimeZone: "Local"}},
		{"data?_time_format=sqlite", Config{Path: "data", TimeFormat: "sqlite"}},
	} {
		got, err := ParseDSN(tc.dsn)
		if err != nil || got != tc.want {
			t.Errorf("ParseDSN(%q) = %+v, %v; want %+v", tc.dsn, got, err, tc.want)
		}
	}
}

// A refusal names the key and what would be legal, or that it is not yet
// available.
func TestParseDSNRefuses(t *testing.T) {
	for _, tc := range []struct {
		dsn   string
		later bool
		words []string
	}{
		{":memory:", false, []string{":memory:", "ephemeral=1"}},
		{"?ephemeral=1&mode=ro", false, []string{"mode=ro", "path"}},
		{"d?mode=memory", false, []string{"mode", "memory", "rwc", "rw"}},
		{"d?mode", false, []string{"mode", "rwc", "rw"}},
		{"d?Mode=rw", false, []string{"unknown key Mode", "busy_timeout", "time_zone"}},
		{"d?nope=1", false, []string{"unknown key nope", "mode, sync", "%3F"}},
		{"d?path=x", false, []string{"key path"}},
		{"what?now", false, []string{"unknown key now", "%3F"}},
		{"d?sync=1", false, []string{"sync", "full, normal or off"}},
		{"d?busy_timeout=soon", false, []string{"busy_timeout", "soon", "5s", "milliseconds"}},
		{"d?busy_timeout=-1s", false, []string{"busy_timeout", "not negative"}},
		{"d?txlock=exclusive", false, []string{"txlock", "deferred or immediate"}},
		{"d?foreign_keys=maybe", false, []string{"foreign_keys", "on or off"}},
		{"d?_fk=2", false, []string{"foreign_keys", "2", "on or off"}},
		{"d?generation_size=1MB", false, []string{"generation_size", "1MB", "KiB, MiB or GiB"}},
		{"d?generation_size=1", false, []string{"generation_size", "1KiB"}},
		{"d?generation_size=9999999999GiB", false, []string{"generation_size"}},
		{"d?generation_size=-1GiB", false, []string{"generation_size"}},
		{"d?shards=two", false, []string{"shards", "two", "1 to 64"}},
		{"d?shards=65", false, []string{"shards", "65", "64"}},
		{"d?shards=0", false, []string{"shards", "0", "64"}},
		{"d?time_format=iso", false, []string{"time_format", "rfc3339", "unix_nano"}},
		{"d?time_zone=Mars%2FPhobos", false, []string{"time_zone", "Mars/Phobos", "IANA"}},
		{"d?timeline=", false, []string{"timeline", "1 to 255"}},
		{"d?at=", false, []string{"at", "branch point"}},
		{"?at=x", false, []string{"at=x", "in memory"}},
		{"d?compact=yes", false, []string{"compact", "auto or off"}},
		{"d?index_catchup=optional", false, []string{"index_catchup", "required or legacy"}},
		{"d?resident=some", false, []string{"resident", "all", "keys"}},
		{"d?memory_budget=0", false, []string{`memory_budget="0"`, "bytes, KiB, MiB or GiB", "whole", "1MiB"}},
		{"d?memory_budget=", false, []string{"memory_budget", "MiB"}},
		{"d?memory_budget=1.5", false, []string{"memory_budget", "1.5", "whole"}},
		{"d?memory_budget=1.5GiB", false, []string{"memory_budget", "1.5GiB", "whole"}},
		{"d?memory_budget=64M", false, []string{"memory_budget", "64M", "bytes, KiB, MiB or GiB"}},
		{"d?memory_budget=1023KiB", false, []string{"memory_budget", "1023KiB", "1MiB"}},
		{"d?memory_budget=-5MiB", false, []string{"memory_budget", "-5MiB"}},
		{"d?mode=rw&mode=rw", false, []string{"key mode is given twice"}},
		{"d?busy_timeout=1&_busy_timeout=1", false, []string{"busy_timeout is given twice", "_busy_timeout"}},
		{"d?_pragma=busy_timeout(1)&_pragma=busy_timeout(2)", false, []string{"given twice"}},
		{"d?sync=full&sync=full", false, []string{"key sync is given twice"}},
		{"d?sync=full&_synchronous=off", false, []string{"sync=full and _synchronous=off"}},
		{"d?_pragma=synchronous(1)&sync=off", false, []string{"_pragma=synchronous(1) and sync=off"}},
		{"d?_sync=1&_pragma=synchronous(full)", false, []string{"_sync=1 and _pragma=synchronous(full)"}},
		{"d?_sync=4", false, []string{"sync", "4", "full, normal or off"}},
		{"d?_pragma=recursive_triggers(1)", false, []string{"recursive_triggers", "busy_timeout", "statements"}},
		{"d?_query_only=1", false, []string{"unknown key _query_only"}},
		{"d?mode=%zz", false, []string{"mode", "%zz"}},
		{"file:%zz", false, []string{"%zz"}},
		{"file:a%00b", false, []string{"NUL"}},
		{"file://elsewhere/d", false, []string{"elsewhere", "localhost"}},
	} {
		_, err := ParseDSN(tc.dsn)
		if err == nil {
			t.Errorf("ParseDSN(%q) is accepted", tc.dsn)
			continue
		}
		var typed *Error
		if !errors.As(err, &typed) || typed.Op != "open" {
			t.Errorf("ParseDSN(%q): %#v is no *Error of an open", tc.dsn, err)
		}
		if errors.Is(err, ErrNotAvailable) != tc.later {
			t.Errorf("ParseDSN(%q): %v; is ErrNotAvailable = %t, want %t", tc.dsn, err, !tc.later, tc.later)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseDSN(%q): the message has more than one line: %q", tc.dsn, err)
		}
		for _, w := range tc.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("ParseDSN(%q): %q does not name %q", tc.dsn, err, w)
			}
		}
	}
}

// Whatever String writes is read back as the same configuration.
func TestConfigStringRoundTrip(t *testing.T) {
	for _, c := range []Config{
		{Path: "data"},
		{Path: "a b%c#d"},
		{Path: "what?now"},
		{Path: "/x/what?now=1&mode=rw"},
		{Path: "file:odd"},
		{Path: "data", BusyTimeout: -5 * time.Second},
		{
			Path: "data", Mode: "rw", BusyTimeout: 90 * time.Second, Txlock: "immediate", GenerationSize: 3 << 20,
			TimeFormat: "unix", TimeZone: "America/Argentina/Buenos_Aires",
		},
		{Path: "data", GenerationSize: 1<<20 + 1, TimeZone: "Etc/GMT+5"},
		{},
		{Ephemeral: true},
		{Path: "data", MemoryBudget: 3 << 30},
		{Ephemeral: true, Txlock: "immediate"},
	} {
		got, err := ParseDSN(c.String())
		if err != nil || got.withDefaults() != c.withDefaults() {
			t.Errorf("ParseDSN(%q) = %+v, %v; want %+v", c.String(), got, err, c)
		}
	}
	if s := (Config{Path: "data", Mode: "rw"}).String(); s != "data?mode=rw" {
		t.Errorf("String = %q, want only what differs from the defaults", s)
	}
}

// Validate refuses in Go what the parser refuses in a DSN.
func TestValidate(t *testing.T) {
	if err := (Config{Path: "data"}).Validate(); err != nil {
		t.Errorf("the zero configuration with a path: %v", err)
	}
	for _, c := range []Config{
		{Path: ":memory:"},
		{Path: "d", Ephemeral: true},
		{Ephemeral: true, Mode: "ro"},
		{Path: "d", Sync: "yes"},
		{Path: "d", Txlock: "exclusive"},
		{Path: "d", ForeignKeys: "deferred"},
		{Path: "d", GenerationSize: 1},
		{Path: "d", GenerationSize: -1},
		{Path: "d", Shards: -1},
		{Path: "d", MemoryBudget: -1},
		{Path: "d", MemoryBudget: 1 << 19},
		{Path: "d", Shards: 65},
		{Path: "d", TimeFormat: "iso"},
		{Path: "d", TimeZone: "Mars/Phobos"},
	} {
		if _, err := NewConnector(c); err == nil {
			t.Errorf("NewConnector(%+v) is accepted", c)
		}
	}
}

func FuzzParseDSN(f *testing.F) {
	for _, s := range []string{"data?mode=rw", "file:a%3Fb?_pragma=busy_timeout(1)#x", "file://localhost/d?sync=full&", "?&=&%", "?ephemeral=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		c, err := ParseDSN(dsn)
		if err != nil {
			return
		}
		again, err := ParseDSN(c.String())
		if err != nil || again.withDefaults() != c.withDefaults() {
			t.Fatalf("%q is %+v, whose DSN %q is %+v, %v", dsn, c, c.String(), again, err)
		}
	})
}
