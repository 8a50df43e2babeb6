package catalog

import (
	"database/sql/driver"
	"io/fs"
	"time"

	"github.com/tidemarkdb/tidemark/migrations"
)

// FileName is the catalog's name in the store directory.
const FileName = "catalog.db"

// ApplicationID marks a SQLite file as a catalog of a store ("TDMK").
const ApplicationID = 0x54444d4b

// Options of [Open].
type Options struct {
	Dir      string // store directory; it must exist
	ReadOnly bool   // never writes; refuses a catalog that needs a migration
	Create   bool   // create when missing, finish an interrupted creation

	// Pins, with ReadOnly, lets the handle open a session and pin for it, as a
	// process does that reads beside the one that writes. It writes nothing else.
	Pins bool
	// Immutable, with ReadOnly, opens a catalog that nobody can write: SQLite takes
	// no lock and makes no file, and looks for no write-ahead log. The caller knows
	// that there is none, or an empty one, and that no writer lives.
	Immutable bool

	// BusyTimeout bounds the wait for another connection's write lock. Default 5 s.
	BusyTimeout time.Duration
	// Now is the clock of created_at and opened_at columns. Default time.Now.
	Now func() time.Time
	// Fault wraps every COMMIT and every connection. For tests.
	Fault *Seam

	files      fs.FS                                                 // migrations; default the embedded ones
	library    func() (version, sourceID string)                     // default: the linked SQLite
	filesystem func(dir string) (name string, network bool, e error) // default: ask the system
}

// Seam lets a test stand around every COMMIT of the writer: fail before it,
// fail after it, or do it and report an error. name is the transaction's, for
// example "seal-generation". The callback runs with the writer held: it may
// read, and call [Copy], but a write from inside it waits for ever.
type Seam struct {
	Commit func(name string, commit func() error) error
	// Connect stands around the making of every SQLite connection, so that a
	// test that opens thousands of stores may hand out one that it kept when it
	// was closed: a new one reads the whole schema. The connection it returns
	// has the interfaces of the SQLite driver's.
	Connect func(dataSource string, connect func() (driver.Conn, error)) (driver.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.files == nil {
		o.files = migrations.Files()
	}
	if o.library == nil {
		o.library = linkedLibrary
	}
	if o.filesystem == nil {
		o.filesystem = filesystemOf
	}
	return o
}

// timestamp formats a time for a *_at column.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z") }

// reads is how connections are opened that only read.
func (o *Options) reads() access {
	if o.Immutable {
		return frozen
	}
	return reading
}
