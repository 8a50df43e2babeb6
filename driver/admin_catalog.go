package driver

import "github.com/tidemarkdb/tidemark/engine/row"

const (
	sessionColumns = "session_id INT, state TEXT, boot_id TEXT, pid_namespace INT, pid INT, start_ticks INT, started_at DATETIME, ended_at DATETIME, death_evidence TEXT, observed_heartbeat DATETIME"
	pinColumns     = "owner_id INT, session_id INT, session_state TEXT, pid INT, representation_id INT, lsn INT, objects INT, since DATETIME"
)

// sessionRows are the rows of tidemark_sessions, oldest first: the read-only
// processes that the catalog knows of.
func sessionRows(c *conn) ([][]row.Value, error) {
	return c.catalogRows(`SELECT session_id, state, boot_id, pid_namespace, pid, start_ticks, started_at, ended_at, death_evidence, observed_heartbeat
		FROM catalog.sessions ORDER BY session_id`)
}

// pinRows are the rows of tidemark_pins: what these processes keep from being
// collected, since when.
func pinRows(c *conn) ([][]row.Value, error) {
	return c.catalogRows(`SELECT owner_id, session_id, session_state, pid, representation_id, lsn, objects, started_at
		FROM catalog.reader_pins ORDER BY owner_id`)
}

// catalogRows asks the attached catalog, while SQLite reads one of these tables.
func (c *conn) catalogRows(query string) (list [][]row.Value, err error) {
	err = c.own(func() error {
		list, err = c.db.Query(query)
		return err
	})
	return list, err
}
