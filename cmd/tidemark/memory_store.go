package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// inMemory reports that a command was given the DSN of a store without a
// directory in place of one: ?ephemeral=1, or ? for one that takes volatile
// tables only.
func inMemory(dir string) bool { return strings.HasPrefix(dir, "?") }

// withStoreOrMemory is withStore for commands that can do without files.
func withStoreOrMemory(ctx context.Context, dir string, as openAs, std streams, f func(*sql.DB) error) error {
	if !inMemory(dir) {
		return withConfig(ctx, as.config(dir, "rwc"), f)
	}
	if as != (openAs{}) {
		return misuse("%s is a store in memory, which begins empty: -ro, -timeline and -at take a directory", dir)
	}
	return withMemory(ctx, dir, std, f)
}

// withMemory runs f on a store in memory. That its durable tables end with the
// command is told once, when the first is made.
func withMemory(ctx context.Context, dsn string, std streams, f func(*sql.DB) error) (err error) {
	cfg, err := driver.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.TimeFormat = "none"
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	told := make(chan struct{})
	defer func() {
		if closeErr := db.Close(); err == nil {
			err = closeErr
		}
		<-told
	}()
	err = withRaw(ctx, db, func(_ *sql.Conn, store *driver.Store) error {
		events := store.Events(context.WithoutCancel(ctx)) // closed with the store
		go func() {
			defer close(told)
			for e := range events {
				if e.Kind == driver.EventEphemeral {
					fmt.Fprintln(std.err, "tidemark: notice:", e.Kind)
				}
			}
		}()
		return nil
	})
	if err != nil {
		close(told)
		return err
	}
	return f(db)
}
