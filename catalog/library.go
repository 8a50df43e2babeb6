package catalog

import (
	"os"
	"strconv"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// minLibrary is the first SQLite whose WAL reset cannot lose a commit.
const minLibrary = "3.51.3"

// linkedLibrary returns version and source id of the SQLite in this program.
func linkedLibrary() (version, sourceID string) {
	tls := libc.NewTLS()
	defer tls.Close()
	return libc.GoString(lib.Xsqlite3_libversion(tls)), libc.GoString(lib.Xsqlite3_sourceid(tls))
}

// checkLibrary refuses a library older than minLibrary.
func checkLibrary(version string) error {
	have, err := parseVersion(version)
	if err != nil {
		return refuse(CodeLibrary, "open", "SQLite reports version %q: %w", version, err)
	}
	need, err := parseVersion(minLibrary)
	if err != nil {
		return err
	}
	for i := range need {
		if have[i] != need[i] {
			if have[i] < need[i] {
				return refuse(CodeLibrary, "open", "SQLite %s is too old: %s or newer is needed", version, minLibrary)
			}
			break
		}
	}
	return nil
}

func parseVersion(version string) (parts [3]int, err error) {
	fields := strings.SplitN(version, ".", 4)
	for i := range parts {
		if i >= len(fields) {
			break
		}
		if parts[i], err = strconv.Atoi(fields[i]); err != nil {
			return parts, err
		}
	}
	return parts, nil
}

// hostName is for the diagnostics row only.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
