package driver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/engine"
)

// configKey joins one key of the DSN with its field of Config. The same check
// serves the DSN and Validate, so both accept and refuse alike.
type configKey struct {
	name   string
	legal  []string // the words that are legal and work
	later  []string // words of the surface that are refused by name
	other  func(string) bool
	hint   string // what is legal beside the words
	engine bool   // belongs to the engine: all connectors of one store must agree
	unset  bool   // its field may say that it was not given, which get shows as ""

	get func(*Config) string
	set func(*Config, string) error
}

// check accepts a value or says what would be legal.
func (k configKey) check(_ configKey, value string) error {
	if slices.Contains(k.legal, value) || k.other != nil && k.other(value) {
		return nil
	}
	if slices.Contains(k.later, value) {
		return notAvailable("open", k.name+"="+value)
	}
	e := configError(k.name, value, k.words())
	if k.name == ephemeralKey.name {
		e.Hint = "only 1 is accepted"
		return kindOf(ErrEphemeral, e)
	}
	return e
}

// words lists what is legal.
func (k configKey) words() string {
	list := append(slices.Clone(k.legal), k.hint)
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " or " + list[n-1]
	}
	return strings.Join(list, "")
}

// text makes the accessors of a field of type string.
func text(field func(*Config) *string) (func(*Config) string, func(*Config, string) error) {
	return func(c *Config) string { return *field(c) },
		func(c *Config, v string) error { *field(c) = v; return nil }
}

// word makes a key whose values are words.
func word(name string, field func(*Config) *string, legal, later []string) configKey {
	k := configKey{name: name, legal: legal, later: later}
	k.get, k.set = text(field)
	return k
}

// keys are the keys that work, in the order of the documentation.
var keys = func() []configKey {
	sync := word("sync", func(c *Config) *string { return &c.Sync }, []string{"full", "normal", "off"}, nil)
	sync.engine = true
	compact := word("compact", func(c *Config) *string { return &c.Compact }, []string{"auto", "off"}, nil)
	compact.engine = true
	catchup := word("index_catchup", func(c *Config) *string { return &c.IndexCatchup }, []string{"required", "legacy"}, nil)
	catchup.engine = true
	zone := word("time_zone", func(c *Config) *string { return &c.TimeZone }, nil, nil)
	zone.other = func(v string) bool { _, err := time.LoadLocation(v); return v != "" && err == nil }
	zone.hint = "UTC, Local or an IANA name such as Europe/Berlin"
	return []configKey{
		ephemeralKey,
		{
			name: "at", unset: true, hint: "the name of a branch point, 1 to 255 characters",
			other: func(v string) bool { return checkBranchPointName(v) == nil },
			get:   func(c *Config) string { return c.At },
			set:   func(c *Config, v string) error { c.At = v; return nil },
		},
		{
			name: "timeline", hint: "the name of a timeline, 1 to 255 characters",
			other: func(v string) bool { return checkBranchPointName(v) == nil },
			get:   func(c *Config) string { return c.Timeline },
			set:   func(c *Config, v string) error { c.Timeline = v; return nil },
		},
		word("mode", func(c *Config) *string { return &c.Mode }, []string{"rwc", "rw", readOnlyMode}, nil),
		sync,
		{
			name: "busy_timeout", hint: "a duration such as 5s, or milliseconds, not negative",
			other: func(v string) bool { _, err := parseTimeout(v); return err == nil },
			get:   func(c *Config) string { return formatDuration(c.BusyTimeout) },
			set: func(c *Config, v string) (err error) {
				c.BusyTimeout, err = parseTimeout(v)
				return err
			},
		},
		word("txlock", func(c *Config) *string { return &c.Txlock }, []string{"deferred", "immediate"}, nil),
		word("foreign_keys", func(c *Config) *string { return &c.ForeignKeys }, []string{"on", "off"}, nil),
		{
			name: "generation_size", engine: true,
			hint:  fmt.Sprintf("bytes, KiB, MiB or GiB, from %s to %s", formatBytes(minGenerationSize), formatBytes(maxGenerationSize)),
			other: func(v string) bool { _, err := parseSize(v, minGenerationSize, maxGenerationSize); return err == nil },
			get:   func(c *Config) string { return formatBytes(c.GenerationSize) },
			set: func(c *Config, v string) (err error) {
				c.GenerationSize, err = parseSize(v, minGenerationSize, maxGenerationSize)
				return err
			},
		},
		{
			name: "memory_budget", engine: true, unset: true,
			hint:  "bytes, KiB, MiB or GiB, a whole number, from 1MiB on",
			other: func(v string) bool { _, err := parseSize(v, leastBudget, mostBudget); return err == nil },
			get: func(c *Config) string {
				if c.MemoryBudget == 0 {
					return ""
				}
				return formatBytes(c.MemoryBudget)
			},
			set: func(c *Config, v string) (err error) {
				c.MemoryBudget, err = parseSize(v, leastBudget, mostBudget)
				return err
			},
		},
		{
			name: "shards", engine: true,
			hint:  fmt.Sprintf("a number from 1 to %d", engine.MaxShards),
			other: func(v string) bool { _, err := parseShards(v); return err == nil },
			get:   func(c *Config) string { return strconv.Itoa(c.Shards) },
			set: func(c *Config, v string) (err error) {
				c.Shards, err = parseShards(v)
				return err
			},
		},
		compact,
		catchup,
		migrationsKey,
		word("resident", func(c *Config) *string { return &c.Resident }, []string{"all", "keys"}, nil),
		word("pushdown", func(c *Config) *string { return &c.Pushdown }, []string{"on", "off"}, nil),
		word("time_format", func(c *Config) *string { return &c.TimeFormat },
			[]string{"rfc3339", "sqlite", "unix", "unix_milli", "unix_micro", "unix_nano", "none"}, nil),
		zone,
	}
}()

// ephemeralKey is given or not: any value but 1 could be meant either way.
var ephemeralKey = configKey{
	name: "ephemeral", legal: []string{"1"}, unset: true, hint: "leave the key out",
	get: func(c *Config) string {
		if c.Ephemeral {
			return "1"
		}
		return ""
	},
	set: func(c *Config, _ string) error { c.Ephemeral = true; return nil },
}

// findKey returns the key of that name.
func findKey(name string) (configKey, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return configKey{}, false
}

// keyNames lists the keys that work.
func keyNames() string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}

// parseShards reads a number of shards.
func parseShards(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err == nil && (n < 1 || n > engine.MaxShards) {
		err = fmt.Errorf("%d is out of range", n)
	}
	return n, err
}

// parseTimeout reads a busy timeout; no wait is negative, because the zero
// value of the field means the default.
func parseTimeout(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if ms, numErr := strconv.ParseInt(v, 10, 32); numErr == nil {
		d, err = time.Duration(ms)*time.Millisecond, nil
	}
	switch {
	case err != nil:
		return 0, err
	case d < 0:
		return 0, fmt.Errorf("%s is negative", v)
	case d == 0:
		return noWait, nil
	}
	return d, nil
}

// sizeUnits are the units of a size, largest first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// parseSize reads a size that lies between two others.
func parseSize(v string, least, most int64) (int64, error) {
	digits, factor := v, int64(1)
	for _, unit := range sizeUnits {
		if rest, ok := strings.CutSuffix(v, unit.name); ok {
			digits, factor = rest, unit.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > most/factor || n*factor < least {
		return 0, fmt.Errorf("%s is out of range", v)
	}
	return n * factor, nil
}
