package lib

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plumb-eval/plumb/internal/script"
)

// Module is loaded code that judges sessions: the asserts of a suite, or the code of checks. A copy
// of the module judges each session, so no session sees what another left behind. See [script.VM.Copy].
type Module struct {
	host Host
	room *Room
	vm   *script.VM
}

// Room limits the copies that judge at the same time. Several modules can share it.
type Room struct {
	free *semaphore.Weighted
	// running counts the copies that judge now, begun all copies so far.
	running, begun atomic.Int64
}

// roomSize is the size of a [Room]. A copy takes 1, and 1 more for each MiB of its session report,
// whose values take up to ten times as much memory.
const roomSize = 32

// NewRoom returns an empty room.
func NewRoom() *Room { return &Room{free: semaphore.NewWeighted(roomSize)} }

// Load loads a module. Its copies judge in the room.
func (h Host) Load(ctx context.Context, program *script.Program, o script.Environment, room *Room) (*Module, error) {
	vm, err := h.Start(ctx, program, o)
	if err != nil {
		return nil, err
	}
	return &Module{h, room, vm}, nil
}

// Describe calls an entry that says something about the module; see [Describe].
func (m *Module) Describe(ctx context.Context, to any, entry string, args ...any) error {
	return Describe(ctx, m.vm, to, entry, args...)
}

// Judging is a call of an entry that judges a session.
type Judging struct {
	Options script.Environment
	// Limit is the time limit, without the time that the copy of the module takes to load.
	Limit time.Duration
	// ReportSize is the size of the session report, in bytes.
	ReportSize int
	Entry      string
	Args       []any
}

// Judge calls an entry in a copy of the module, by the rules of [script.VM.Judge]. A call that took
// too long while others ran is repeated alone, since they may have slowed it down.
func (m *Module) Judge(ctx context.Context, to any, j Judging) error {
	slowed, err := m.judge(ctx, to, &j, min(1+int64(j.ReportSize>>20), roomSize))
	if slowed && ctx.Err() == nil {
		_, err = m.judge(ctx, to, &j, roomSize)
	}
	return err
}

// judge performs a call. It reports whether the call took too long and others ran at the same time.
func (m *Module) judge(ctx context.Context, to any, j *Judging, size int64) (slowed bool, err error) {
	if m.room.free.Acquire(ctx, size) != nil {
		return false, context.Cause(ctx)
	}
	defer m.room.free.Release(size)
	alone, number := m.room.running.Add(1) == 1, m.room.begun.Add(1)
	defer func() {
		m.room.running.Add(-1)
		slowed = slowed && (!alone || m.room.begun.Load() > number)
	}()
	vm, err := m.host.start(ctx, func(ctx context.Context) (*script.VM, error) {
		vm, err := m.vm.Copy(ctx, j.Options)
		slowed = TimedOut(err)
		return vm, err
	})
	if err != nil {
		return slowed, fmt.Errorf("load the module again: %w", err)
	}
	defer func() { _ = vm.Close() }() // what it left was its own
	limited, cancel := context.WithTimeout(ctx, j.Limit)
	defer cancel()
	err = decode(to, j.Entry)(vm.Judge(limited, j.Entry, j.Args...))
	return TimedOut(err), err
}

// Close ends what the module started when it was loaded. Its error has the errors that belong to no
// session, such as a promise that was rejected late.
func (m *Module) Close() error {
	if err := m.vm.Close(); !errors.Is(err, script.ErrDead) { // an engine that does not stop ends with the process
		return err
	}
	return nil
}

// TimedOut reports whether a call ended because of its time limit.
func TimedOut(err error) bool {
	return errors.Is(err, script.ErrTimeout) || errors.Is(err, script.ErrDead)
}
