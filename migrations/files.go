package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Files returns the embedded migrations of this program.
func Files() fs.FS { return files }

// Versions lists the versions that fsys holds, ascending.
func Versions(fsys fs.FS) ([]int64, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	versions := make([]int64, 0, len(names))
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v < 1 {
			return nil, fmt.Errorf("migration %q: the name must start with a positive number", name)
		}
		versions = append(versions, v)
	}
	slices.Sort(versions)
	return versions, nil
}

// Latest returns the newest version that fsys holds, 0 when it holds none.
func Latest(fsys fs.FS) (int64, error) {
	versions, err := Versions(fsys)
	if err != nil || len(versions) == 0 {
		return 0, err
	}
	return versions[len(versions)-1], nil
}
