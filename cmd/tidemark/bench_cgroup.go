package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memoryGroup is a control group made for the benchmark, which limits the memory
// of the processes in it, page cache included.
type memoryGroup struct {
	dir string
	v2  bool
}

// newMemoryGroup makes a group below that of this process, or else below the
// root of the hierarchy. Its error says what is missing.
func newMemoryGroup() (*memoryGroup, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("control groups need Linux: %w", err)
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var errs []error
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		v1 := f[2] == "cgroup" && containsWord(f[3], "memory")
		if !v1 && f[2] != "cgroup2" {
			continue
		}
		for _, parent := range []string{filepath.Join(f[1], ownGroup(string(groups), v1)), f[1]} {
			g := &memoryGroup{dir: filepath.Join(parent, "tidemark-bench-"+strconv.Itoa(os.Getpid())), v2: !v1}
			err := g.make(parent)
			if err == nil {
				return g, nil
			}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil, errors.New("no control group hierarchy with memory is mounted")
	}
	return nil, errors.Join(errs...)
}

func containsWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// ownGroup finds this process's group in /proc/self/cgroup.
func ownGroup(text string, v1 bool) string {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && (v1 && containsWord(parts[1], "memory") || !v1 && parts[0] == "0") {
			return parts[2]
		}
	}
	return "/"
}

func (g *memoryGroup) make(parent string) error {
	if g.v2 {
		// It fails when the parent has processes, and is not needed when it was
		// done before: the limit below tells.
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory"), 0o644)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(g.limitFile()); err != nil {
		os.Remove(g.dir)
		return err
	}
	return nil
}

func (g *memoryGroup) limitFile() string {
	if g.v2 {
		return filepath.Join(g.dir, "memory.max")
	}
	return filepath.Join(g.dir, "memory.limit_in_bytes")
}

func (g *memoryGroup) add(pid int) error {
	return os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// limit sets the limit, 0 for none. The kernel has to take memory away and may
// need a few attempts.
func (g *memoryGroup) limit(bytes int64) error {
	text := strconv.FormatInt(bytes, 10)
	if bytes == 0 {
		if text = "-1"; g.v2 {
			text = "max"
		}
	}
	var err error
	for range 100 {
		if err = os.WriteFile(g.limitFile(), []byte(text), 0o644); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// swap says whether memory of the group may go to swap.
func (g *memoryGroup) swap(on bool) error {
	file, text := "memory.swappiness", "0"
	if on {
		text = "60"
	}
	if g.v2 {
		if file = "memory.swap.max"; on {
			text = "max"
		}
	}
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0o644)
}

// remove ends the group, whose processes have ended.
func (g *memoryGroup) remove() error {
	var err error
	for range 100 {
		if err = os.Remove(g.dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// swapOn makes a swap file and uses it until the returned function is called.
func swapOn(ctx context.Context, path string, size int64) (off func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	block := make([]byte, 1<<20)
	for at := int64(0); err == nil && at < size; at += int64(len(block)) {
		_, err = f.Write(block) // a swap file has no holes
	}
	err = errors.Join(err, f.Sync(), f.Close())
	for _, name := range []string{"mkswap", "swapon"} {
		if err == nil {
			err = runTool(ctx, name, path)
		}
	}
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	return func() error {
		return errors.Join(runTool(context.WithoutCancel(ctx), "swapoff", path), os.Remove(path))
	}, nil
}

func runTool(ctx context.Context, name, arg string) error {
	out, err := exec.CommandContext(ctx, name, arg).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// dropPageCache lets files be read anew, and be charged to who reads them.
func dropPageCache() error {
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0o200)
}

// realDisk refuses a directory in memory, whose syncs and page faults cost
// nothing.
func realDisk(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	best, kind := "", ""
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) < len(best) {
			continue
		}
		if f[1] == "/" || path == f[1] || strings.HasPrefix(path, f[1]+"/") {
			best, kind = f[1], f[2]
		}
	}
	if kind == "tmpfs" || kind == "ramfs" {
		return misuse("%s is on a %s: the benchmark needs a real disk, name a directory on one with -dir", dir, kind)
	}
	return nil
}
