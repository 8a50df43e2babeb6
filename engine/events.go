package engine

import (
	"fmt"
	"time"
)

// EventKind says what an Event is about.
type EventKind uint8

// Kinds of events.
const (
	// EventRecovered: the log was replayed at open; Bytes were read, and LSN is the last commit.
	EventRecovered EventKind = iota + 1
	// EventTailDropped: recovery dropped Bytes of an unsynced tail of File at Offset.
	EventTailDropped
	// EventStrayRemoved: File, which the catalog does not name, was removed.
	EventStrayRemoved
	// EventGenerationReady: the file of the next generation exists.
	EventGenerationReady
	// EventRotated: the log goes on in Generation, whose first commit is LSN.
	EventRotated
	// EventSealed: Generation is sealed at Bytes; LSN is its last commit.
	EventSealed
	// EventPublished: the state of commit LSN is the timeline's head in the catalog.
	EventPublished
	// EventSchemaProjected: the catalog shows the tables and indexes as of LSN.
	EventSchemaProjected
	// EventBackgroundFailed: Err kept a background step from being done; it is
	// tried again later and no commit is affected.
	EventBackgroundFailed
	// EventPoisoned: Err ended writing for this process.
	EventPoisoned
	// EventEphemeral: a store in memory has its first durable table, which ends
	// with the store all the same. It comes once in the life of a store.
	EventEphemeral
	// EventMemoryFull: Err kept a write from being done, and Table is the largest
	// one. It comes once per table in the life of a store.
	EventMemoryFull
	// EventCompacted: the log up to LSN is replaced by Bytes of one record per row.
	EventCompacted
	// EventRestored: the state of a branch point is the newest one, as of LSN.
	EventRestored
	// EventCollected: File, of Bytes, was removed: nothing needs it any more.
	EventCollected
	// EventQuarantined: Err is why File, which a job wrote, is of no use. It goes
	// when the job has ended.
	EventQuarantined
	// EventIndexLost: the publication of LSN withdrew or lowered positions of the indexes
	// that Err names. Generations that these held back until then stay until they have
	// caught up again.
	EventIndexLost
	// EventSegmentDamaged: Err is what is wrong with an index segment. Rows are read
	// without it, and the next index job writes it anew.
	EventSegmentDamaged
	// EventSegmentLeftOut: File, an index segment of Bytes, cannot be read, which Err says
	// why: the backup that is being made is without it. A store that is restored from it
	// reads rows without it, too, and its first index job writes what is missing.
	EventSegmentLeftOut
)

var eventNames = [...]string{
	EventRecovered:        "recovered",
	EventTailDropped:      "tail dropped",
	EventStrayRemoved:     "stray removed",
	EventGenerationReady:  "generation ready",
	EventRotated:          "rotated",
	EventSealed:           "sealed",
	EventPublished:        "published",
	EventSchemaProjected:  "schema projected",
	EventBackgroundFailed: "background step failed",
	EventPoisoned:         "poisoned",
	EventEphemeral:        "durable tables of this store are in memory and end with it",
	EventMemoryFull:       "memory budget used up",
	EventCompacted:        "compacted",
	EventRestored:         "restored",
	EventCollected:        "collected",
	EventQuarantined:      "quarantined",
	EventIndexLost:        "indexes are not caught up any more",
	EventSegmentDamaged:   "index segment damaged",
	EventSegmentLeftOut:   "index segment left out of a backup",
}

// String names the kind.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Event is something an operator may want to see. Fields that do not apply to
// its Kind are zero.
type Event struct {
	Kind       EventKind
	Time       time.Time
	Generation uint64
	Table      string
	File       string
	Offset     int64
	Bytes      int64
	LSN        LSN
	Err        error
}

// String is one line without the time.
func (e Event) String() string {
	s := e.Kind.String()
	if e.Generation != 0 {
		s += fmt.Sprintf(" generation=%d", e.Generation)
	}
	if e.Table != "" {
		s += " table=" + e.Table
	}
	if e.File != "" {
		s += " file=" + e.File
	}
	if e.Offset != 0 {
		s += fmt.Sprintf(" offset=%d", e.Offset)
	}
	if e.Bytes != 0 {
		s += fmt.Sprintf(" bytes=%d", e.Bytes)
	}
	if e.LSN != 0 {
		s += fmt.Sprintf(" lsn=%d", e.LSN)
	}
	if e.Err != nil {
		s += fmt.Sprintf(" err=%q", e.Err.Error())
	}
	return s
}

// event stamps e and hands it to the listener, if there is one.
func (s *Store) event(e Event) {
	if s.opts.Events == nil {
		return
	}
	e.Time = s.opts.Now()
	s.opts.Events(e)
}
