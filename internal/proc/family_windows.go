package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// family is a program and all of its processes, held together by a job object.
type family struct {
	cmd       *exec.Cmd
	job       windows.Handle
	ungrouped bool // unused: Windows always has a job object
}

func newFamily(cmd *exec.Cmd, _ string) *family {
	// It starts suspended, so that it cannot start a process before it is in the job.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	return &family{cmd: cmd}
}

// start starts the program. Its result is sent to exited.
func (f *family) start(exited chan<- error) (err error) {
	if f.job, err = newJob(); err != nil {
		return err
	}
	if err = f.cmd.Start(); err != nil {
		return errors.Join(err, windows.CloseHandle(f.job))
	}
	if err := f.join(); err != nil {
		return errors.Join(err, f.cmd.Process.Kill(), f.cmd.Wait(), windows.CloseHandle(f.job))
	}
	go func() { exited <- f.cmd.Wait() }()
	return nil
}

// newJob creates a job object. All of its processes end when the last handle to it is closed, which
// also happens when this process dies.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	return job, nil
}

// join adds the program to the job and resumes it.
func (f *family) join() error {
	pid := uint32(f.cmd.Process.Pid)
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	err = windows.AssignProcessToJobObject(f.job, process)
	if err := errors.Join(err, windows.CloseHandle(process)); err != nil {
		return err
	}
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads) //nolint:errcheck // opened only for reading
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return err
}

func (f *family) remember() {}

// interrupt sends Ctrl-Break, the only signal that reaches another process group. It needs a shared
// console.
func (f *family) interrupt() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(f.cmd.Process.Pid))
}

func (f *family) terminate() { _ = windows.TerminateJobObject(f.job, 1) }

func (f *family) kill() {
	_ = windows.TerminateJobObject(f.job, 1)
	_ = f.cmd.Process.Kill()
}

// end ends the processes that remain after the program has ended.
func (f *family) end(time.Duration) (left, survivors []Process) {
	_ = windows.TerminateJobObject(f.job, 1)
	_ = windows.CloseHandle(f.job)
	return nil, nil
}

// Find returns no processes: a job ends with the process that holds it.
func Find(func(Trace) bool) ([]Process, error) { return nil, nil }

// Reap does nothing, for the same reason.
func Reap(func(Trace) bool) ([]Process, error) { return nil, nil }

// Alive reports whether a process with this id exists.
func Alive(pid int) bool {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	var code uint32
	err = windows.GetExitCodeProcess(process, &code)
	const running = 259 // STILL_ACTIVE
	return errors.Join(err, windows.CloseHandle(process)) == nil && code == running
}

func signalName(state *os.ProcessState) string { return state.String() }

// Means returns the method that tracks the processes of a program on this system.
func Means() string { return "a job object for each program" }

// Group tracks programs that the caller starts and waits for, and their processes, with a job
// object. The zero value is ready. Its methods are safe for concurrent use.
type Group struct {
	mu    sync.Mutex
	job   windows.Handle
	ended bool
}

// Start starts a program of the group.
func (g *Group) Start(cmd *exec.Cmd) (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return errors.New("the group of programs has ended")
	}
	if g.job == 0 {
		if g.job, err = newJob(); err != nil {
			return err
		}
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := (&family{cmd: cmd, job: g.job}).join(); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}

// End ends all remaining processes of the group, and prevents new starts.
func (g *Group) End(time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}
