package sqltests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tidemarkdb/tidemark/driver"
)

// A metaPair runs a list on a store and on plain SQLite, operation by operation.
// Where the store may choose, plain SQLite follows: it leaves out a transaction
// that was refused, and goes back to the state that a crash left.
type metaPair struct {
	store, plain *metaRun
	log          *metaStore
	states       metaStates
	lossy        bool // acknowledged commits may be lost in a crash
	stats        metaStats
}

// metaStats counts what faults and crashes did.
type metaStats struct {
	faults   int // that happened
	refused  int // operations that were refused and repeated, or rolled back
	poisoned int
	kept     int // commits of unknown outcome that were there
	lost     int // and that were not
	crashes  int
	taken    int // acknowledged commits that a crash took back, where it may
}

func (s *metaStats) add(o metaStats) {
	s.faults += o.faults
	s.refused += o.refused
	s.poisoned += o.poisoned
	s.kept += o.kept
	s.lost += o.lost
	s.crashes += o.crashes
	s.taken += o.taken
}

func (s metaStats) String() string {
	return fmt.Sprintf("%d crashes took back %d commits; %d faults: %d refusals, %d poisoned stores, %d commits of unknown outcome kept and %d not",
		s.crashes, s.taken, s.faults, s.refused, s.poisoned, s.kept, s.lost)
}

// newMetaPair opens both below dir.
func newMetaPair(sessions int, set metaSet, dir string) (*metaPair, error) {
	if sessions > 1 {
		set = set.with("txlock", "deferred") // others notice who has the lock
	}
	ctx := context.Background()
	p := &metaPair{log: newMetaStore(dir, set)}
	p.store = &metaRun{ctx: ctx, n: sessions, set: set, base: p.log}
	sync := p.store.lie(set["sync"])
	p.lossy = sync == "normal" || sync == "off"
	p.states.plain = &metaPlain{dir: dir}
	p.plain = &metaRun{ctx: ctx, n: sessions, base: p.states.plain}
	p.states.run = p.plain
	if err := p.plain.open(); err != nil {
		return nil, fmt.Errorf("plain SQLite: %w", err)
	}
	if err := errors.Join(p.states.note(), p.store.open()); err != nil {
		return nil, errors.Join(err, p.plain.close())
	}
	return p, nil
}

// runMeta runs a list on both below dir and returns both histories, as far as it
// came. An error is one of the runner's own operations: opening, closing, copying,
// following.
func runMeta(list metaList, set metaSet, dir string) (got, want []string, stats metaStats, err error) {
	if dir, err = os.MkdirTemp(dir, ""); err != nil {
		return nil, nil, stats, err
	}
	defer os.RemoveAll(dir)
	p, err := newMetaPair(list.sessions, set, dir)
	if err != nil {
		return nil, nil, stats, err
	}
	defer func() {
		p.log.disk.fault.Clear()
		closed := p.store.close()
		if p.log.disk.byFault(closed) {
			closed = nil
		}
		stats = p.stats
		stats.faults += p.log.disk.fault.Injected()
		err = errors.Join(err, closed, p.plain.close())
	}()
	ops := slices.Concat(list.ops, metaEpilogue(list.sessions))
	for i, o := range ops {
		if i == len(list.ops) {
			p.log.disk.fault.Clear()
		}
		if err := p.between(i); err != nil {
			return got, want, stats, fmt.Errorf("reopen before %q: %w", o, err)
		}
		a, b, err := p.step(o)
		if err != nil {
			return got, want, stats, fmt.Errorf("%q: %w", o, err)
		}
		got, want = append(got, a), append(want, b)
		if a != b && !unpromised(o, a, b) {
			break
		}
	}
	return got, want, stats, nil
}

// between opens the store again, where no session would notice.
func (p *metaPair) between(i int) error {
	how := p.store.set["@reopen"]
	if how == "" || how == "never" || i%4 != 3 || !p.store.idle() || !p.plain.idle() {
		return nil
	}
	return p.reopen(how == "killed", i/4%metaCrashes)
}

// metaCrashes are the ways to choose what a crash leaves.
const metaCrashes = 9

func (p *metaPair) step(o metaOp) (got, want string, err error) {
	if !p.lossy {
		p.states.trim() // acknowledged
	}
	a, b := p.drain(o)
	switch o.verb {
	case metaReopen:
		err = p.reopen(false, 0)
	case metaCrash:
		which := 0
		fmt.Sscan(o.text, &which)
		err = p.reopen(true, which)
	case metaFault:
		err = p.log.disk.arm(o.text)
	default:
		got, want, err = p.both(o)
	}
	return got + metaDrained + a, want + metaDrained + b, err
}

// readsFail reports whether a fault may fail a read: rows of resident=keys tables
// are in files alone.
func (p *metaPair) readsFail() bool {
	return p.store.lie(p.store.set["resident"]) == "keys" || p.store.set["@modes"] == "mixed"
}

// drain reads the open rows that an operation ends on both. Those of the store may
// end with a fault.
func (p *metaPair) drain(o metaOp) (here, natively string) {
	here, natively = p.store.drainFor(o), p.plain.drainFor(o)
	if here != natively && p.readsFail() && p.log.disk.byFault(p.store.failed) {
		p.stats.refused++
		return "", ""
	}
	return here, natively
}

// both runs an operation on the store, answers the faults it meets, and runs it
// on plain SQLite.
func (p *metaPair) both(o metaOp) (got, want string, err error) {
	within := p.store.sessions[o.session].within
	got, err = p.store.do(o)
	for p.log.disk.byFault(p.store.failed) {
		if errors.Is(p.store.failed, driver.ErrPoisoned) {
			return "", "", p.poisoned(o, false)
		}
		if done, err := p.refused(o, within); done || err != nil {
			return "", "", err
		}
		got, err = p.store.do(o)
	}
	if err != nil {
		return got, "", err
	}
	if (o.verb == metaCheckpoint || o.verb == metaCompact) && got == "" {
		p.states.trim() // all that was committed is on disk
	}
	if want, err = p.plain.do(o); err != nil {
		return got, want, fmt.Errorf("plain SQLite: %w", err)
	}
	if p.endedByCommit(o) {
		if _, err := p.plain.do(metaOp{session: o.session, verb: metaExec, text: "ROLLBACK"}); err != nil {
			return got, want, fmt.Errorf("plain SQLite: %w", err)
		}
		want += ", in a transaction: false"
	}
	if err := p.states.note(); err != nil {
		return got, want, err
	}
	if p.states.newSchema() {
		p.states.trim() // a schema change is synced in every mode
	}
	// A store takes its own write lock to begin a generation, so it may be busy
	// although no session is the reason.
	for try := 0; try < 200 && isBusy(got) && !isBusy(want); try++ {
		p.log.disk.fault.Clear()
		time.Sleep(time.Millisecond)
		got, err = p.store.do(o)
		if p.log.disk.byFault(p.store.failed) {
			return "", "", p.poisoned(o, true)
		}
		if err != nil {
			return got, want, err
		}
	}
	return got, want, nil
}

// endedByCommit reports whether a Commit that foreign keys refused ended the
// transaction, as one of a Tx does, while that of plain SQLite is still open after
// the text COMMIT.
func (p *metaPair) endedByCommit(o metaOp) bool {
	return p.store.set["@begin"] == "api" && o.text == "COMMIT" && errors.Is(p.store.failed, driver.ErrConstraintForeignKey) &&
		!p.store.sessions[o.session].within && p.plain.sessions[o.session].within
}

// refused follows a store that refused an operation for a fault. Nothing of it
// may have happened. done says that the operation is not to be repeated, since a
// transaction went with it.
func (p *metaPair) refused(o metaOp, within bool) (done bool, err error) {
	p.stats.refused++
	failed := p.store.failed
	p.log.disk.fault.Clear()
	reads := o.verb == metaRows || o.verb == metaOpen || o.verb == metaDump
	full := errors.Is(failed, syscall.ENOSPC)
	switch c := code(failed); {
	case reads && !within && !p.readsFail():
		return false, fmt.Errorf("a read failed for a fault: %w", failed)
	case full && c != 13, !full && c != 10:
		return false, fmt.Errorf("code %d of an error of the file system: %w", c, failed)
	}
	if err := p.shows(len(p.states.list) - 1); err != nil {
		return false, fmt.Errorf("after a refusal (%w): %w", failed, err)
	}
	if s := p.store.sessions[o.session]; !within || s.within {
		return false, nil
	}
	_, err = p.plain.do(metaOp{session: o.session, verb: metaExec, text: "ROLLBACK"})
	return true, err
}

// shows compares what is visible with the states from one on.
func (p *metaPair) shows(from int) error {
	have, err := p.store.committed()
	if err != nil {
		return err
	}
	if p.states.find(have) < from {
		return fmt.Errorf("another state is visible: %s", p.states.differs(have))
	}
	return nil
}

// poisoned follows a store that takes no more writes. Reads go on with what was
// acknowledged, and a reopened store has the commit at hand or not, when its
// outcome is unknown. Without sync=full that one was visible as soon as it was
// written, and is still. did says that plain SQLite did the operation already.
func (p *metaPair) poisoned(o metaOp, did bool) error {
	p.stats.poisoned++
	failed := p.store.failed
	unknown := errors.Is(failed, driver.ErrOutcomeUnknown)
	if c := code(failed); c != 10 {
		return fmt.Errorf("code %d of a poisoned store: %w", c, failed)
	}
	crash := p.log.disk.crash
	p.log.disk.fault.Clear()
	acknowledged := len(p.states.list) - 1
	if !p.lossy && !did {
		if err := p.shows(acknowledged); err != nil {
			return fmt.Errorf("poisoned (%w): %w", failed, err)
		}
	}
	switch _, err := p.store.watch.ExecContext(p.store.ctx, "CREATE TABLE poison(a)"); {
	case !errors.Is(err, driver.ErrPoisoned), errors.Is(err, driver.ErrOutcomeUnknown):
		return fmt.Errorf("a write to a poisoned store: %w", err)
	}
	all := metaOp{verb: metaReopen}
	if a, b := p.drain(all); a != b {
		return fmt.Errorf("poisoned (%w): open rows here %s, natively %s", failed, a, b)
	}
	if unknown && !did {
		if _, err := p.plain.do(o); err != nil {
			return fmt.Errorf("plain SQLite: %w", err)
		}
		if err := p.states.note(); err != nil {
			return err
		}
	}
	if p.lossy && !did {
		if err := p.shows(acknowledged); err != nil {
			return fmt.Errorf("poisoned (%w): %w", failed, err)
		}
	}
	before := len(p.states.list)
	last := p.states.list[before-1].dump
	if err := p.reopen(crash, before%metaCrashes); err != nil {
		return fmt.Errorf("poisoned (%w): %w", failed, err)
	}
	if unknown && before > 1 {
		if p.states.list[0].dump == last {
			p.stats.kept++
		} else {
			p.stats.lost++
		}
	}
	return nil
}

// reopen closes both and opens them again, the store as a crash leaves it if
// there is one. A store that a fault keeps from being opened opens without it.
func (p *metaPair) reopen(killed bool, which int) error {
	disk := p.log.disk
	if killed {
		p.stats.crashes++
		if err := p.log.image(which); err != nil {
			return err
		}
	}
	err := p.store.close()
	switch {
	case err == nil && !killed:
		p.states.trim()
	case err != nil && !disk.byFault(err):
		return fmt.Errorf("close: %w", err)
	}
	if killed {
		p.stats.faults += disk.fault.Injected()
		if err := p.log.crash(); err != nil {
			return err
		}
		disk = p.log.disk
	}
	opened := disk.fault.Injected()
	if err = p.store.open(); err != nil && disk.byFault(err) && disk.fault.Injected() > opened && !errors.Is(err, driver.ErrCorrupt) {
		disk.fault.Clear()
		err = p.store.open()
	}
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	disk.before = disk.fault.Injected()
	return p.follow()
}

// follow takes plain SQLite to the state that the store shows.
func (p *metaPair) follow() error {
	before := p.log.disk.fault.Injected()
	have, err := p.store.committed()
	if err == nil && p.readsFail() && p.log.disk.fault.Injected() > before {
		p.log.disk.fault.Clear()
		have, err = p.store.committed()
	}
	if err != nil {
		return err
	}
	at := p.states.find(have)
	if at < 0 {
		return fmt.Errorf("the store shows a state it must not, of %d: %s", len(p.states.list), p.states.differs(have))
	}
	p.stats.taken += len(p.states.list) - 1 - at
	if err := p.states.goTo(at); err != nil {
		return err
	}
	return p.sound()
}

// sound checks the store without a fault.
func (p *metaPair) sound() error {
	c, err := p.store.watch.Conn(p.store.ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := p.log.check(p.store.ctx, c)
	if p.log.disk.byFault(err) {
		return nil
	}
	if err == nil && len(list) > 0 {
		err = errors.New(strings.Join(list, "; "))
	}
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}
