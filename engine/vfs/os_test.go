package vfs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestOSSymlinks checks that no component below the root leaves it.
func TestOSSymlinks(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for link, target := range map[string]string{
		"file":     filepath.Join(outside, "secret"),
		"dir":      outside,
		"relative": "../" + filepath.Base(outside),
		"up":       "..",
		"loop":     "loop",
		"dangling": filepath.Join(outside, "new"),
		"within":   "real",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	f := OS(root)
	ok(t, f.Mkdir("real"))
	put(t, f, "real/a", "A")

	for _, name := range []string{"file", "dir/secret", "relative/secret", "up/x", "loop", "dangling"} {
		calls := map[string]error{}
		_, calls["open"] = f.Open(name)
		_, calls["openread"] = f.OpenRead(name)
		_, calls["create"] = f.Create(name)
		_, calls["lock"] = f.Lock(name)
		_, calls["stat"] = f.Stat(name)
		calls["link"] = f.Link(name, "stolen")
		if strings.Contains(name, "/") {
			calls["rename from"] = f.Rename(name, "stolen")
			calls["rename to"] = f.Rename("real/a", name)
			calls["remove"] = f.Remove(name)
			calls["mkdir"] = f.Mkdir(name + "d")
		}
		for call, err := range calls {
			if err == nil {
				t.Errorf("%s(%q) left the root", call, name)
			}
		}
	}
	for _, name := range []string{"dir", "up", "relative"} {
		if _, err := f.List(name); err == nil {
			t.Errorf("list(%q) left the root", name)
		}
		if f.SyncDir(name) == nil {
			t.Errorf("syncdir(%q) left the root", name)
		}
	}
	if got, err := os.ReadDir(outside); err != nil || len(got) != 1 {
		t.Errorf("outside of the root: %v, %v", got, err)
	}
	wantContent(t, f, "within/a", "A") // a link that stays inside is followed
	_, err := f.Stat("stolen")
	wantErr(t, err, fs.ErrNotExist)
}

// TestOSPreallocate checks that a failure leaves the size, and that success
// takes room on the disk.
func TestOSPreallocate(t *testing.T) {
	f := OS(t.TempDir())
	file := create(t, f, "a", "head")
	defer file.Close()
	err := file.Preallocate(1 << 60)
	if err == nil {
		t.Fatal("preallocated an exabyte")
	}
	if _, ok := errors.AsType[*fs.PathError](err); !ok {
		t.Errorf("%T is not a *fs.PathError", err)
	}
	wantContent(t, f, "a", "head")
	ok(t, file.Truncate(1<<20))
	ok(t, file.Preallocate(2<<20))
	wantSize(t, file, 2<<20)
	if blocks, known := blocksOf(file.(*osFile).f); known && blocks*512 < 2<<20 {
		t.Errorf("%d blocks reserved for 2 MiB", blocks)
	}
}

// TestOSRelativeRoot checks that a change of directory does not move the root.
func TestOSRelativeRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	f := OS("store")
	ok(t, f.Mkdir("."))
	t.Chdir(t.TempDir())
	put(t, f, "a", "A")
	file, err := f.Open("a")
	ok(t, err)
	m, err := file.Map()
	ok(t, err)
	ok(t, errors.Join(m.Close(), file.Close()))
}

// TestOSLockProcesses checks the lock between processes: it excludes, its
// contents can be read by the other, and a killed holder loses it.
func TestOSLockProcesses(t *testing.T) {
	const env = "VFS_TEST_LOCK_DIR"
	if dir := os.Getenv(env); dir != "" {
		l, err := OS(dir).Lock("LOCK")
		if err != nil {
			fmt.Println("child:", err)
			return
		}
		if err := l.Write([]byte("held by a child")); err != nil {
			fmt.Println("child:", err)
			return
		}
		fmt.Println("child: locked")
		bufio.NewReader(os.Stdin).ReadString('\n') // until killed
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOSLockProcesses$", "-test.v")
	cmd.Env = append(os.Environ(), env+"="+dir)
	in, err := cmd.StdinPipe()
	ok(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "child: ") {
	}
	if lines.Text() != "child: locked" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("child says %q", lines.Text())
	}
	f := OS(dir)
	_, lockErr := f.Lock("LOCK")
	text := content(t, f, "LOCK")
	ok(t, cmd.Process.Kill())
	_ = cmd.Wait() // "signal: killed"
	wantErr(t, lockErr, ErrLocked)
	if text != "held by a child" {
		t.Errorf("the lock file reads %q", text)
	}
	l, err := f.Lock("LOCK")
	ok(t, err)
	ok(t, l.Close())
}

// TestOSLockReplaced checks that the lock of a file that lost its name does
// not keep others from locking the one that has the name.
func TestOSLockReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a locked file cannot be removed")
	}
	f := OS(t.TempDir())
	old, err := f.Lock("LOCK")
	ok(t, err)
	ok(t, f.Remove("LOCK"))
	l, err := f.Lock("LOCK")
	ok(t, err)
	_, err = f.Lock("LOCK")
	wantErr(t, err, ErrLocked)
	ok(t, old.Close())
	_, err = f.Lock("LOCK")
	wantErr(t, err, ErrLocked)
	ok(t, l.Close())
}

// TestOSDescriptors checks that nothing stays open, on success and on failure.
func TestOSDescriptors(t *testing.T) {
	const fds = "/proc/self/fd"
	count := func() int {
		entries, err := os.ReadDir(fds)
		if err != nil {
			t.Skipf("cannot count descriptors: %v", err)
		}
		return len(entries)
	}
	f := OS(t.TempDir())
	use := func() {
		ok(t, f.Mkdir("d"))
		file := create(t, f, "d/a", "A")
		m, err := file.Map()
		ok(t, err)
		ok(t, errors.Join(m.Close(), file.Close()))
		l, err := f.Lock("LOCK")
		ok(t, err)
		for range 20 {
			_, e1 := f.Create("d/a")
			_, e2 := f.Open("d")
			_, e3 := f.Lock("LOCK")
			_, e4 := f.Lock("d")
			_, e5 := f.List("d/a")
			if e1 == nil || e2 == nil || e3 == nil || e4 == nil || e5 == nil || f.SyncDir("d/a") == nil {
				t.Fatal("no error")
			}
		}
		ok(t, l.Close())
		ok(t, f.Remove("d/a"))
		ok(t, f.SyncDir("d"))
		_, err = f.List("d")
		ok(t, err)
	}
	use()
	before := count()
	use()
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestOSRootMissing checks a root that does not exist yet.
func TestOSRootMissing(t *testing.T) {
	dir := t.TempDir() + "/store"
	f := OS(dir)
	_, err := f.Create("a")
	wantErr(t, err, fs.ErrNotExist)
	ok(t, f.Mkdir("."))
	put(t, f, "a", "A")
	if _, err := os.Stat(dir + "/a"); err != nil {
		t.Fatal(err)
	}
}

// TestWritable asks about rights. The superuser has all of them, whatever a mode says.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	f := OS(dir).(*osFS)
	ok(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	ok(t, f.Mkdir("d"))
	for _, name := range []string{".", "a", "d", "none"} {
		if !f.Writable(name) {
			t.Errorf("%s may not be written", name)
		}
	}
	if f.Writable("../a") {
		t.Error("a name outside may be written")
	}
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("no mode keeps this process from writing")
	}
	ok(t, os.Chmod(filepath.Join(dir, "a"), 0o444))
	ok(t, os.Chmod(filepath.Join(dir, "d"), 0o555))
	for _, name := range []string{"a", "d"} {
		if f.Writable(name) {
			t.Errorf("%s may be written", name)
		}
	}
	ok(t, os.Chmod(filepath.Join(dir, "d"), 0o755))
}
