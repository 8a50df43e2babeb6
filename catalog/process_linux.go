package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ThisProcess names the calling process.
func ThisProcess() (Process, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, fmt.Errorf("catalog: sessions need /proc: %w", err)
	}
	p := Process{BootID: strings.TrimSpace(string(boot))}
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return Process{}, fmt.Errorf("catalog: sessions need /proc: %w", err)
	}
	if p.PIDNamespace, err = strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64); err != nil {
		return Process{}, fmt.Errorf("catalog: pid namespace %q: %w", link, err)
	}
	s, err := readStat("/proc/self/stat")
	if err != nil {
		return Process{}, fmt.Errorf("catalog: sessions need /proc: %w", err)
	}
	// A /proc that was mounted in another namespace numbers processes otherwise.
	if s.pid != int64(os.Getpid()) {
		return Process{}, fmt.Errorf("catalog: /proc is of another pid namespace: it calls process %d %d", os.Getpid(), s.pid)
	}
	p.PID, p.StartTicks = s.pid, s.start
	return p, nil
}

// Probe tells whether a process lives, and if not, how that is known. It is not
// certain when the process is of another pid namespace or /proc does not answer.
func Probe(p Process) (alive bool, evidence string, certain bool) {
	self, err := ThisProcess()
	if err != nil {
		return false, "", false
	}
	return judge(p, self, processAt)
}

// processAt looks a pid up.
func processAt(pid int64) (p Process, exited, found bool, err error) {
	s, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		// Mount options hide the processes of others from /proc, not from a signal.
		if err := unix.Kill(int(pid), 0); !errors.Is(err, unix.ESRCH) {
			return Process{}, false, true, fmt.Errorf("process %d is hidden: %w", pid, errors.Join(fs.ErrPermission, err))
		}
		return Process{}, false, false, nil
	}
	if errors.Is(err, unix.ESRCH) { // it ended between open and read
		return Process{}, false, false, nil
	}
	if err != nil {
		return Process{}, false, false, err
	}
	p = Process{PID: pid, StartTicks: s.start}
	if s.state != "Z" {
		return p, false, true, nil
	}
	exited, err = hasExited(pid, s.start)
	return p, exited, true, err
}

// hasExited asks about a zombie: a process whose first thread alone has ended is one, too.
func hasExited(pid, start int64) (bool, error) {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if errors.Is(err, unix.ESRCH) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if s, err := readStat(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || s.start != start {
		return false, errors.Join(err, errors.New("the pid has changed hands"))
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n == 1, err
}

type stat struct {
	pid   int64
	state string
	start int64
}

// readStat reads fields 1, 3 and 22 of a stat file. Field 2 is a name in
// parentheses, which may hold any character.
func readStat(path string) (stat, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(b))
}

func parseStat(text string) (s stat, err error) {
	first, _, _ := strings.Cut(text, " ")
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("%d fields behind the name in %q", len(fields), text)
	}
	s.state = fields[0]
	if s.pid, err = strconv.ParseInt(first, 10, 64); err != nil {
		return stat{}, err
	}
	s.start, err = strconv.ParseInt(fields[19], 10, 64)
	return s, err
}
