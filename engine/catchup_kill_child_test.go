package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// killedStore is a store that processes write to until they are killed.
type killedStore struct {
	Dir            string
	Seed           uint64
	Shards         int
	GenerationSize int64
	Round          uint64
}

// killedEnv has it, for the process that is to be killed.
const killedEnv = "TIDEMARK_TEST_KILLED"

// killedWriters write to rows of their own.
const killedWriters = 3

// killedRow is one change of a transaction.
type killedRow struct {
	table string
	id    int64
	text  string
	gone  bool
}

// changes are what transaction seq of a writer does: it depends on nothing else.
func (k *killedStore) changes(writer int, seq int64) (list []killedRow) {
	rng := rand.New(rand.NewPCG(k.Seed, uint64(writer)<<40|uint64(seq)))
	for range 1 + rng.IntN(5) {
		list = append(list, killedRow{
			table: []string{"k", "a"}[rng.IntN(2)], id: int64(writer) + killedWriters*rng.Int64N(60), gone: rng.IntN(4) == 0,
			text: fmt.Sprintf("%d of %d %s", seq, writer, strings.Repeat("x", rng.IntN(500))),
		})
	}
	return append(list, killedRow{table: "c", id: int64(writer), text: strconv.FormatInt(seq, 10)})
}

// TestCatchupKillChild is the process that [TestCatchupKill] kills.
func TestCatchupKillChild(t *testing.T) {
	text := os.Getenv(killedEnv)
	if text == "" {
		t.Skip("it is started by TestCatchupKill")
	}
	var k killedStore
	must(t, json.Unmarshal([]byte(text), &k))
	o := Options{Dir: k.Dir, Create: true, Shards: k.Shards, GenerationSize: k.GenerationSize, CompactFloor: 2 * k.GenerationSize, Sync: SyncFull, Events: nothingFails(t)}
	s, err := Open(context.Background(), o)
	must(t, err)
	if s.Durable().Schema().Lookup("c") == nil {
		wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), createTable("c"))))
	}
	var mu sync.Mutex
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = os.Stdout.WriteString("> " + fmt.Sprintf(format, args...) + " .\n") // if nobody listens, it ends the process
	}
	errs := make(chan error)
	for w := range killedWriters {
		go func() { errs <- k.write(s, w, tell) }()
	}
	go func() { errs <- k.keep(s, tell) }()
	tell("ready")
	t.Fatal(<-errs)
}

// write runs transactions one after the other and tells of each that is acknowledged.
func (k *killedStore) write(s *Store, writer int, tell func(string, ...any)) error {
	seq := int64(0)
	table := s.Durable().Table(s.Durable().Schema().Lookup("c").Table.ID)
	if rec, found, err := table.Get(int64(writer)); err != nil {
		return err
	} else if found {
		if seq, err = strconv.ParseInt(rec.Column(1).Bytes(), 10, 64); err != nil {
			return err
		}
	}
	for {
		seq++
		list := k.changes(writer, seq)
		lsn, err := tryUpdate(s, func(tx *Tx) error {
			for _, c := range list {
				err := put(c.table, c.id, c.id, c.text)(tx)
				if err == nil && c.gone {
					err = remove(c.table, c.id)(tx)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if errors.Is(err, ErrNotReady) {
			seq--
			time.Sleep(time.Millisecond)
			continue
		}
		if err == nil {
			err = s.WaitDurable(context.Background(), lsn)
		}
		if err != nil {
			return fmt.Errorf("writer %d, transaction %d: %w", writer, seq, err)
		}
		tell("did %d %d %d", writer, seq, lsn)
	}
}

// keep does everything else that there is to do in a store, in an order of chance.
func (k *killedStore) keep(s *Store, tell func(string, ...any)) error {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(k.Seed, k.Round))
	indexes := func() (list []string) {
		for _, def := range s.Head().Schema().Tables() {
			for _, ix := range def.Indexes {
				if strings.Contains(ix.Name, "_i") {
					list = append(list, ix.Name)
				}
			}
		}
		return list
	}
	for {
		var err error
		switch n := rng.IntN(14); {
		case n < 5:
			tell("begin compact")
			err = s.Compact(ctx, nil)
		case n < 8:
			tell("begin index")
			err = indexJob(s, "")
		case n < 9:
			tell("begin checkpoint")
			err = s.Checkpoint(ctx, nil)
		case n < 11:
			tell("begin gc")
			err = s.GC(ctx, nil)
		case n < 13:
			tell("begin schema")
			change := createIndex([]string{"k", "a"}[rng.IntN(2)], fmt.Sprintf("%d_i", rng.Uint32()), 1)
			if list := indexes(); len(list) > rng.IntN(3) {
				change = dropIndex(list[0])
			}
			var lsn LSN
			if lsn, err = tryUpdate(s, change); err == nil {
				err = s.WaitDurable(ctx, lsn)
			}
		default:
			tell("begin branch")
			points, e := s.BranchPoints(ctx)
			if err = e; err == nil && len(points) > rng.IntN(3) {
				err = s.DeleteBranchPoint(ctx, points[0].Name)
			} else if err == nil {
				_, err = s.CreateBranchPoint(ctx, fmt.Sprint(rng.Uint32()))
			}
		}
		if err != nil && !errors.Is(err, ErrNotReady) {
			return fmt.Errorf("keeping: %w", err)
		}
		tell("end")
	}
}
