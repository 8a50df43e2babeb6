package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// reserved leaves a closed store whose catalog names a second generation that
// was never made.
func reserved(t *testing.T) (o Options, m *vfs.Mem, first, second string) {
	t.Helper()
	m = vfs.NewMem()
	o = Options{Dir: t.TempDir(), FS: m, GenerationSize: 1 << 10, Shards: 1}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Close())
	cat, err := catalog.Open(context.Background(), catalog.Options{Dir: o.Dir})
	must(t, err)
	gs, err := cat.ReserveGenerations(context.Background(), catalog.ShardGeneration{ShardID: int64(s.shards[0].id), Generation: 2})
	must(t, err)
	must(t, cat.Close(context.Background()))
	return o, m, s.gens[0].path, gs[0].Path
}

func makeFile(t *testing.T, m *vfs.Mem, name string, data []byte) {
	t.Helper()
	parts := strings.Split(name, "/")
	for i := range len(parts) - 1 {
		must(t, m.Mkdir(strings.Join(parts[:i+1], "/")))
	}
	f, err := m.Create(name)
	must(t, err)
	_, err = f.WriteAt(data, 0)
	must(t, err)
	must(t, f.Close())
}

// TestUnbornFile finishes a generation that was reserved when its maker died:
// whatever lies at its name is no part of the log.
func TestUnbornFile(t *testing.T) {
	header := func(m *vfs.Mem, first string) []byte { return readFile(t, m, first)[:88] }
	for name, leave := range map[string]func(m *vfs.Mem, first, second string){
		"nothing":          func(m *vfs.Mem, first, second string) {},
		"empty":            func(m *vfs.Mem, first, second string) { makeFile(t, m, second, nil) },
		"half a header":    func(m *vfs.Mem, first, second string) { makeFile(t, m, second, header(m, first)[:40]) },
		"another's header": func(m *vfs.Mem, first, second string) { makeFile(t, m, second, header(m, first)) },
		"noise":            func(m *vfs.Mem, first, second string) { makeFile(t, m, second, []byte(strings.Repeat("noise", 100))) },
	} {
		t.Run(name, func(t *testing.T) {
			o, m, first, second := reserved(t)
			leave(m, first, second)
			s, err := Open(t.Context(), o)
			must(t, err)
			if len(s.shards[0].ready) != 1 || s.shards[0].gen.path != first {
				t.Errorf("active is %s, %d files wait", s.shards[0].gen.path, len(s.shards[0].ready))
			}
			wait(t, s, update(t, s, put("t", 1, 1, strings.Repeat("x", 1000))))
			wait(t, s, update(t, s, put("t", 2, 2, "in the second file")))
			if s.shards[0].gen.path != second {
				t.Errorf("the log is in %s", s.shards[0].gen.path)
			}
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
			if got := text(t, s.Durable(), "t", 2); got != "in the second file" {
				t.Errorf("read %q", got)
			}
			checkStore(t, s)
			must(t, s.Close())
		})
	}
}

// TestUnbornFileWithCommits: a log at the name of a generation that was never
// named current means that the catalog is older than the files. It is refused
// and left alone.
func TestUnbornFileWithCommits(t *testing.T) {
	o, m, first, second := reserved(t)
	data := readFile(t, m, first)
	makeFile(t, m, second, data)
	var bad *CorruptError
	if _, err := Open(t.Context(), o); !errors.As(err, &bad) || bad.File != second {
		t.Errorf("open: %v", err)
	}
	if string(readFile(t, m, second)) != string(data) {
		t.Error("the file was changed")
	}
	must(t, m.Remove(second))
}
