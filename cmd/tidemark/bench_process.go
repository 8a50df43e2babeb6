package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// residencyProcess is a child that waits for orders.
type residencyProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func (b *residencyBench) start(ctx context.Context) (*residencyProcess, error) {
	cmd := exec.CommandContext(ctx, b.exe, residencyWorker)
	cmd.Stderr = b.std.err
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &residencyProcess{cmd, in, json.NewDecoder(bufio.NewReader(out))}, nil
}

func (w *residencyProcess) ask(o residencyOrder) (a residencyAnswer, err error) {
	if err := json.NewEncoder(w.in).Encode(o); err != nil {
		return a, fmt.Errorf("the process is gone: %w", err)
	}
	if err := w.out.Decode(&a); err != nil {
		return a, fmt.Errorf("the process is gone: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (w *residencyProcess) end() error {
	w.in.Close()
	return w.cmd.Wait()
}
