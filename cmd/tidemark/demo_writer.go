package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// runDemoWriter is the child of the demonstration: it places orders until it is
// killed and prints each one whose commit was acknowledged. A line is one write
// to the pipe, so that the parent sees whole lines.
func runDemoWriter(ctx context.Context, args []string, std streams) (err error) {
	if len(args) != 1 {
		return misuse("%s takes a directory and is run by demo", demoWriter)
	}
	d := demo{dir: args[0], std: std}
	db, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var print sync.Mutex
	var writers sync.WaitGroup
	for w := range demoWriters {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(demoSeed, uint64(w)+1))
			for {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					stop(err)
					return
				}
				id, _, err := placeOrder(ctx, tx, rng, w+1, time.Now())
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					stop(errors.Join(err, tx.Rollback()))
					return
				}
				print.Lock()
				_, err = fmt.Fprintf(std.out, "%s %d\n", demoAcknowledged, id)
				print.Unlock()
				if err != nil {
					stop(err)
					return
				}
			}
		})
	}
	writers.Wait()
	return context.Cause(ctx)
}
