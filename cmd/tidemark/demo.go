package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/driver"
)

// How much the demonstration does.
const (
	demoWriters      = 8
	demoCommits      = 1200            // acknowledged commits before the kill
	demoPatience     = 8 * time.Second // or this long, on a slow disk
	demoGenerations  = 256 << 10       // small log files, so that there are several
	demoSeed         = 1
	demoWriter       = "demo-writer" // the hidden command of the child
	demoAcknowledged = "committed"   // first word of its lines
)

// runDemo shows what a store is for: it fills one, lets a child process write
// to it from eight goroutines, kills the child in the middle of that, opens the
// store again and compares what is there with what was acknowledged.
func runDemo(ctx context.Context, args []string, std streams) error {
	flags := newFlags("demo")
	if helped, err := parseFlags(flags, args, "tidemark demo [DIR]", std); helped || err != nil {
		return err
	}
	if flags.NArg() > 1 {
		return misuse("demo takes at most one argument, a directory that does not exist; it was given %d", flags.NArg())
	}
	dir, err := demoDirectory(flags.Args())
	if err != nil {
		return err
	}
	d := demo{dir: dir, std: std}
	for _, step := range []func(context.Context) error{d.fill, d.killWriters, d.reopen} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.say("")
	d.say("The store is left in %s. Look around:", dir)
	d.say("  go run ./cmd/tidemark sql %s 'SELECT * FROM customers LIMIT 5'", dir)
	d.say("  go run ./cmd/tidemark inspect %s", dir)
	d.say("  sqlite3 -readonly %s 'SELECT * FROM live_object_roots'", filepath.Join(dir, "catalog.db"))
	return nil
}

// demo is one run of the demonstration.
type demo struct {
	dir   string
	std   streams
	acked []int64 // order ids whose commit was acknowledged
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.std.out, format+"\n", args...) }

// demoDirectory is the directory asked for, or a new name in the temporary one.
func demoDirectory(args []string) (string, error) {
	if len(args) == 1 {
		if err := checkDir(args[0]); err != nil {
			return "", err
		}
		if _, err := os.Lstat(args[0]); err == nil {
			return "", misuse("demo makes a new store and %s exists: name another directory, or none for a temporary one", args[0])
		}
		return args[0], nil
	}
	parent, err := os.MkdirTemp("", "tidemark-demo-")
	return filepath.Join(parent, "shop"), err
}

// open opens the demonstration's store.
func (d *demo) open() (*sql.DB, error) {
	connector, err := driver.NewConnector(driver.Config{Path: d.dir, GenerationSize: demoGenerations})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// fill makes the store with data of its own.
func (d *demo) fill(ctx context.Context) (err error) {
	start := time.Now()
	db, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := fillShop(ctx, db)
	if err != nil {
		return err
	}
	d.say("made %s: %d rows in %s", d.dir, rows, time.Since(start).Round(time.Millisecond))
	return nil
}

// killWriters runs the child and kills it without warning.
func (d *demo) killWriters(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, self, demoWriter, d.dir)
	child.Stderr = d.std.err
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	d.say("process %d writes orders from %d goroutines …", child.Process.Pid, demoWriters)
	start := time.Now()
	kill := time.AfterFunc(demoPatience, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	// Lines still in the pipe after the kill were acknowledged, too.
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			break // a line without its end was cut by the kill
		}
		id, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, demoAcknowledged)), 10, 64)
		if err != nil {
			return fmt.Errorf("the writers said %q", line)
		}
		d.acked = append(d.acked, id)
		if len(d.acked) == demoCommits {
			if err := child.Process.Kill(); err != nil {
				return err
			}
		}
	}
	var ended *exec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &ended) {
		return err
	}
	if child.ProcessState.Exited() {
		return fmt.Errorf("the writers ended by themselves: %s", child.ProcessState)
	}
	d.say("killed it (%s) after %d acknowledged commits in %s", child.ProcessState, len(d.acked), time.Since(start).Round(time.Millisecond))
	return nil
}

// reopen recovers the store, checks it and shows what is in it.
func (d *demo) reopen(ctx context.Context) (err error) {
	start := time.Now()
	db, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	d.say("opened it again in %s", time.Since(start).Round(time.Millisecond))
	if err := verifyShop(ctx, db, d.acked); err != nil {
		return err
	}
	d.say("every acknowledged order is there, and none is there by half")
	r := newCheckReport(streams{out: d.std.out, err: io.Discard})
	if err := r.store(ctx, db); err != nil {
		return err
	}
	if n := r.warnings + r.damage; n > 0 {
		return fmt.Errorf("check: %d findings", n)
	}
	d.say("check: ok")
	for _, s := range demoSections {
		d.say("")
		if err := printSection(ctx, db, s, d.std.out); err != nil {
			return err
		}
	}
	return d.shell(ctx)
}

// demoSections are what SQL shows of the store.
var demoSections = []section{
	{"the newest orders", `SELECT o.id, c.name, c.city, o.placed_at, count(*) AS lines, o.total_cents / 100.0 AS total
		FROM orders o JOIN customers c ON c.id = o.customer_id JOIN order_lines l ON l.order_id = o.id
		GROUP BY o.id ORDER BY o.id DESC LIMIT 8`},
	{"best sellers", `SELECT p.title, sum(l.quantity) AS sold, sum(l.quantity * l.price_cents) / 100.0 AS revenue, p.stock
		FROM order_lines l JOIN products p ON p.sku = l.sku GROUP BY p.sku ORDER BY revenue DESC LIMIT 5`},
	{"events of the writers", `SELECT writer, count(*) AS orders, max(at) AS last FROM events WHERE writer > 0 GROUP BY writer`},
	{"tidemark_tables", `SELECT name, durable, resident, "rows", indexes FROM tidemark_tables`},
}

// shell shows the catalog through the stock sqlite3 shell while the store is
// open here.
func (d *demo) shell(ctx context.Context) error {
	catalog := filepath.Join(d.dir, "catalog.db")
	d.say("")
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		d.say("sqlite3 is not installed: with it, the tables and generations can be read while a program runs:")
		d.say("  sqlite3 -readonly %s 'SELECT * FROM generations'", catalog)
		return nil
	}
	for _, query := range []string{
		`SELECT name, version, columns, durable, resident, indexes FROM current_tables`,
		`SELECT shard_id, generation, object_id, state, first_lsn, last_lsn, records FROM generations`,
	} {
		d.say("$ sqlite3 -readonly %s '%s'", catalog, query)
		cmd := exec.CommandContext(ctx, path, "-readonly", "-header", "-column", catalog, query)
		cmd.Stdout, cmd.Stderr = d.std.out, d.std.err
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("sqlite3: %w", err)
		}
	}
	return nil
}
