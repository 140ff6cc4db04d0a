package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// family is a program and all it starts, held together by a job object.
type family struct {
	cmd *exec.Cmd
	job windows.Handle
}

func newFamily(cmd *exec.Cmd, _ string) *family {
	// It is suspended so that it starts nothing before it is in the job.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	return &family{cmd: cmd}
}

// start starts the program; how it ended comes to exited.
func (f *family) start(exited chan<- error) (err error) {
	if f.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return fmt.Errorf("create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, // also when this process dies
	}}
	_, err = windows.SetInformationJobObject(f.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		return errors.Join(err, windows.CloseHandle(f.job))
	}
	if err := f.join(); err != nil {
		return errors.Join(err, f.cmd.Process.Kill(), f.cmd.Wait(), windows.CloseHandle(f.job))
	}
	go func() { exited <- f.cmd.Wait() }()
	return nil
}

// join puts the program into the job and lets it go.
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
	defer windows.CloseHandle(threads) //nolint:errcheck // it was only read
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

// interrupt is Ctrl-Break, the one polite way that reaches another process group; it needs a common console.
func (f *family) interrupt() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(f.cmd.Process.Pid))
}

func (f *family) terminate() { _ = windows.TerminateJobObject(f.job, 1) }

func (f *family) kill() {
	_ = windows.TerminateJobObject(f.job, 1)
	_ = f.cmd.Process.Kill()
}

// end ends what is left once the program has ended.
func (f *family) end(time.Duration) (left, survivors []Process) {
	_ = windows.TerminateJobObject(f.job, 1)
	_ = windows.CloseHandle(f.job)
	return nil, nil
}

// Find finds nothing: a job ends with the process that holds it.
func Find(func(marker, runDir string) bool) ([]Process, error) { return nil, nil }

// Reap has nothing to do, for the same reason.
func Reap(func(marker, runDir string) bool) ([]Process, error) { return nil, nil }

// Alive reports whether there is a process with this id.
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
