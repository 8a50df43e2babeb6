package driver

import (
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Config says how to open a store. Its fields are the keys of the DSN, Path and
// FS. The zero value of a field stands for its default, so Config{Path: dir}
// is complete.
type Config struct {
	// Path is the store's directory. It is made when Mode is "rwc"; its parent
	// must exist. Without one the store is in memory, belongs to the connector
	// alone, and ends with it; it takes volatile tables only, unless Ephemeral.
	// Keys about files mean nothing to such a store.
	Path string
	// Ephemeral lets a store without a Path take durable tables. They are in
	// memory like all others, and lost with the store: for tests and scratch
	// work. Its events tell once of the first such table.
	Ephemeral bool
	// Mode is "rwc" (the default: create when missing), "rw", or "ro": every write is
	// refused, and the store is read beside whoever writes it, see the package's
	// documentation of reading beside another process.
	Mode string
	// Timeline is the timeline to work on ("main"). It must exist: INSERT INTO
	// tidemark_timelines makes one. A store that is missing is made for "main" only.
	Timeline string
	// At names a branch point: the connections are read-only and see the store, its
	// schema included, as it was there. They see it also when the branch point is
	// deleted, until the connector is closed. It makes no store that is missing.
	At string
	// Sync is "full" (the default): a commit is acknowledged after its sync;
	// "normal": when it is written, and synced within 100 ms; or "off": when it
	// is written, and synced when its log file is full, by a checkpoint, a
	// schema change or the last close. Unless "full", a stop of the system may
	// take back the newest acknowledged commits, never one before another that
	// stays; a killed process loses nothing.
	Sync string
	// BusyTimeout bounds the wait for the write lock when the caller's context
	// has no earlier deadline; 0 means 10 seconds, a negative duration no wait.
	BusyTimeout time.Duration
	// Txlock is "deferred" (the default) or "immediate": whether BEGIN takes
	// the write lock at once.
	Txlock string
	// ForeignKeys is "on" (the default) or "off": whether a new connection
	// enforces foreign keys. PRAGMA foreign_keys sets it for the borrowed one.
	ForeignKeys string
	// GenerationSize is the size in bytes at which a log file is sealed; 0
	// means 64 MiB. A single transaction may exceed it.
	GenerationSize int64
	// Compact is "auto" (the default) or "off": whether the log is rewritten in the
	// background when it takes more than 4 MiB and three times what its rows do (see
	// the package's documentation of compaction).
	Compact string
	// IndexCatchup is "required" or "legacy": whether the store keeps account of how far
	// its indexes have caught up with compactions, by which log files are let go of.
	// "legacy" makes a store that does not, and keeps them all; "required" begins with
	// it in such a store, for good. "" is required for a new store, and otherwise what
	// the store does.
	IndexCatchup string
	// Shards is the number of logs, 1 to 64, fixed when the store is made; 0
	// means 1 then, and as many as there are when the store exists.
	Shards int
	// Migrations holds the application's migrations, .sql files in goose's format at its
	// top: the first connection applies those that the store does not have, see the
	// package's documentation of migrations. The key names a folder. It needs a Mode that
	// writes and no At.
	Migrations fs.FS
	// Resident is "all" (the default) or "keys": what of the tables that are made
	// through the connection, and do not say it themselves, is kept in memory.
	// See the package's documentation of tables with resident=keys.
	Resident string
	// TimeFormat says how a time.Time is stored: "rfc3339" (the default),
	// "sqlite", "unix", "unix_milli", "unix_micro", "unix_nano", or "none": as
	// rfc3339, but columns are read as they are stored.
	TimeFormat string
	// Pushdown is "on" (the default) or "off": every statement reads whole
	// tables in their own order and SQLite does all comparing and sorting. The
	// answers are the same; "off" is there to prove it, and to tell a wrong
	// plan from a wrong row.
	Pushdown string
	// TimeZone is the IANA name of the location that times read are given in,
	// "UTC" (the default) or "Local".
	TimeZone string

	// MemoryBudget bounds the estimate of what the rows and indexes of all tables
	// take in memory, in bytes, from 1 MiB on. A write that would exceed it fails
	// with ErrNoMem, and an open whose log does. 0 means the smallest limit of the
	// process's control groups, less what the process takes already, else what the
	// machine has available. It is an estimate of live memory: set GOMEMLIMIT, too,
	// since the collector lets the heap grow beyond it.
	MemoryBudget int64

	// FS holds the log and the lock file, everything below Path that is not
	// the catalog; nil means the operating system's files. It is for tests and
	// instrumentation, such as a vfs.Fault or a vfs.Trace around vfs.OS(Path),
	// and has no key. Whoever opens a directory that is open in the process
	// must bring the same FS.
	FS vfs.FS
}

// Defaults of the keys.
const (
	defaultBusyTimeout    = 10 * time.Second
	defaultGenerationSize = engine.DefaultGenerationSize
	minGenerationSize     = 1 << 10
	maxGenerationSize     = 1 << 40
)

// readOnlyMode is the Mode that writes nothing.
const readOnlyMode = "ro"

// noWait is how BusyTimeout says that the lock is not waited for.
const noWait = time.Duration(-1)

// withDefaults fills in what was left at zero.
func (c Config) withDefaults() Config {
	if c.Mode == "" {
		c.Mode = "rwc"
	}
	if c.Timeline == "" {
		c.Timeline = catalog.MainTimeline
	}
	if c.Sync == "" {
		c.Sync = "full"
	}
	switch {
	case c.BusyTimeout == 0:
		c.BusyTimeout = defaultBusyTimeout
	case c.BusyTimeout < 0:
		c.BusyTimeout = noWait
	}
	if c.Txlock == "" {
		c.Txlock = "deferred"
	}
	if c.ForeignKeys == "" {
		c.ForeignKeys = "on"
	}
	if c.Compact == "" {
		c.Compact = "auto"
	}
	if c.GenerationSize == 0 {
		c.GenerationSize = defaultGenerationSize
	}
	if c.IndexCatchup == "" {
		c.IndexCatchup = "required"
	}
	if c.Shards == 0 {
		c.Shards = 1
	}
	if c.Resident == "" {
		c.Resident = "all"
	}
	if c.Pushdown == "" {
		c.Pushdown = "on"
	}
	if c.TimeFormat == "" {
		c.TimeFormat = "rfc3339"
	}
	if c.TimeZone == "" {
		c.TimeZone = "UTC"
	}
	return c
}

// Validate reports the first field whose value is not legal, naming its key,
// the value and what is legal.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Path == ":memory:":
		e := configError("path", c.Path, "no path for a store in memory")
		e.Hint = "its DSN is ?ephemeral=1"
		return e
	case c.Ephemeral && c.Path != "":
		e := newError("open", ErrMisuse, "ephemeral=1 and the path %q contradict each other", c.Path)
		e.Hint = "leave out the path for a store in memory, or ephemeral=1 for one in that directory"
		return kindOf(ErrEphemeral, e)
	case c.Path == "" && c.At != "":
		e := newError("open", ErrMisuse, "at=%s without a path: a store in memory has no branch points", c.At)
		e.Hint = "name the directory of a store, or leave out at"
		return e
	case c.Path == "" && c.Timeline != catalog.MainTimeline:
		e := newError("open", ErrMisuse, "timeline=%s without a path: a store in memory has one timeline", c.Timeline)
		e.Hint = "name the directory of a store, or leave out timeline"
		return e
	case c.Path == "" && c.Mode == readOnlyMode:
		e := newError("open", ErrMisuse, "mode=%s without a path: a store in memory begins empty", readOnlyMode)
		e.Hint = "name the directory of a store, or leave out mode"
		return e
	case c.Migrations != nil && (c.Mode == readOnlyMode || c.At != ""):
		e := newError("open", ErrMisuse, "migrations write, and %s writes nothing", readOnlyKey(c))
		e.Hint = "leave out migrations, or open the store with mode=rw"
		return e
	case c.Path == "" && c.FS != nil:
		return configError("path", "", "the directory of a store, which Config.FS needs")
	}
	for _, key := range keys {
		value := key.get(&c)
		if key.unset && value == "" {
			continue
		}
		if err := key.check(key, value); err != nil {
			return err
		}
	}
	return nil
}

// readOnlyKey spells the key by which a configuration writes nothing.
func readOnlyKey(c Config) string {
	if c.At != "" {
		return "at=" + c.At
	}
	return "mode=" + readOnlyMode
}

// String returns the DSN of the configuration, which knows no FS and of Migrations
// only a folder that a DSN named: what differs
// from the defaults, in the file: form when the path could not be told from it otherwise.
func (c Config) String() string {
	def := Config{}.withDefaults()
	c = c.withDefaults()
	var query []string
	for _, key := range keys {
		if v := key.get(&c); v != key.get(&def) {
			query = append(query, key.name+"="+url.QueryEscape(v))
		}
	}
	s := c.Path
	if strings.ContainsAny(s, "?") || strings.HasPrefix(s, "file:") {
		s = "file:" + (&url.URL{Path: s}).EscapedPath()
	}
	if len(query) == 0 {
		return s
	}
	return s + "?" + strings.ReplaceAll(strings.Join(query, "&"), "+", "%20")
}

// configError is the refusal of a value.
func configError(key, value, legal string) *Error {
	return newError("open", ErrMisuse, "%s=%q is not legal: use %s", key, value, legal)
}

// formatDuration spells a busy timeout as the DSN reads it.
func formatDuration(d time.Duration) string {
	if d < 0 {
		return "0"
	}
	return d.String()
}

// formatBytes spells a size with the largest unit that divides it.
func formatBytes(n int64) string {
	for _, unit := range sizeUnits {
		if n != 0 && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return strconv.FormatInt(n, 10)
}
