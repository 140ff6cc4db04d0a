package script

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// processRequest is a request of child_process.
type processRequest struct {
	File, Shell, Cwd, Input, Stdin, Stdout, Stderr, Signal string
	Args, Env                                              []string
	HasInput                                               bool
	Timeout                                                float64 // ms; 0 means none
	MaxBuffer                                              float64 // bytes of each output
}

// processResult is the result of a process. Outputs are base64, or nil when they were not captured.
type processResult struct {
	PID    int           `json:"pid"`
	Stdout *string       `json:"stdout"`
	Stderr *string       `json:"stderr"`
	Status *int          `json:"status"`
	Signal *string       `json:"signal"`
	Error  *processError `json:"error,omitempty"`
}

type processError struct {
	Code   string `json:"code"`
	Errno  int    `json:"errno"`
	Stream string `json:"stream,omitempty"`
}

// process performs the calls of process and child_process.
func (vm *VM) process(name string, a args) (any, error) {
	switch name {
	case "info":
		return vm.processInfo()
	case "id":
		vm.lastChild++
		return vm.lastChild, nil
	case "kill":
		kill, ok := vm.children.Load(a.int(0))
		return ok && kill.(func(string) bool)(a.str(1)), nil //nolint:forcetypeassert // only functions are stored
	case "run":
		return vm.runProcess(vm.context(), a.str(0), 0, vm.dir)
	}
	return nil, fmt.Errorf("unknown host function process.%s", name)
}

// startAsync performs an operation on its own goroutine and settles the promise id.
func (vm *VM) startAsync(id int, op string, a args) error {
	if op != "process.run" {
		return fmt.Errorf("unknown asynchronous host function %q", op)
	}
	request, child, dir := a.str(0), a.int(1), vm.dir
	vm.goAsync(id, op, vm.learned(op, a, func(ctx context.Context) (any, error) {
		return vm.runProcess(ctx, request, child, dir)
	}))
	return nil
}

var errBuffer = errors.New("more output than maxBuffer")

// runProcess runs a process to its end, in its own process group, which is killed when ctx ends.
// Processes that it leaves in the background live as long as the VM, for example a server that
// checks use.
func (vm *VM) runProcess(ctx context.Context, text string, child int, dir string) (any, error) {
	var r processRequest
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("child_process: %w", err)
	}
	if vm.o.Policy.NoExec {
		return jsonText(processResult{Error: &processError{Code: "EACCES", Errno: -int(syscall.EACCES)}})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd, err := command(ctx, &r, dir)
	if err != nil {
		return nil, err
	}
	stdout, stderr := vm.capture(r.Stdout, vm.o.Stdout, &r, cancel), vm.capture(r.Stderr, vm.o.Stderr, &r, cancel)
	kill := func(name string) bool { return killGroup(cmd, name) }
	cmd.Cancel = func() error {
		name := "SIGKILL"
		if errors.Is(context.Cause(ctx), errProcessTimeout) {
			name = r.Signal
		}
		kill(name)
		return nil
	}
	cmd.WaitDelay = 500 * time.Millisecond // for a process that ignores the first signal
	outputs, err := connect(cmd, stdout, stderr)
	if err != nil {
		return nil, err
	}
	result := processResult{}
	if err := vm.programs.Start(cmd); err != nil {
		code, number, _ := errorCode(err)
		if errors.Is(err, exec.ErrNotFound) {
			code, number = "ENOENT", int(syscall.ENOENT)
		}
		result.Error = &processError{Code: code, Errno: -number}
		return jsonText(result)
	}
	if child != 0 {
		vm.children.Store(child, kill)
		defer vm.children.Delete(child)
	}
	if r.Timeout > 0 {
		timer := time.AfterFunc(milliseconds(r.Timeout), func() { cancel(errProcessTimeout) })
		defer timer.Stop()
	}
	outputs.wait(ctx, func() { kill("SIGKILL") })
	_ = cmd.Wait() // how it ended is in its state
	result.PID = cmd.Process.Pid
	result.Stdout, result.Stderr = stdout.text(), stderr.text()
	status(cmd, &result)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errProcessTimeout):
		result.Error = &processError{Code: "ETIMEDOUT", Errno: -int(syscall.ETIMEDOUT)}
	case errors.Is(cause, errBuffer):
		result.Error = &processError{Code: "ENOBUFS", Errno: -int(syscall.ENOBUFS), Stream: "stdout"}
		if stderr.full {
			result.Error.Stream = "stderr"
		}
	}
	return jsonText(result)
}

// outputs are the pipes from a process, each with a goroutine that reads it.
type outputs struct {
	pipes []io.Closer
	done  sync.WaitGroup
	ended chan struct{}
}

func connect(cmd *exec.Cmd, stdout, stderr *captured) (*outputs, error) {
	o := &outputs{ended: make(chan struct{})}
	for _, c := range []struct {
		open func() (io.ReadCloser, error)
		to   *captured
	}{{cmd.StdoutPipe, stdout}, {cmd.StderrPipe, stderr}} {
		if c.to.writer == nil {
			continue
		}
		pipe, err := c.open()
		if err != nil {
			return nil, fmt.Errorf("child_process: %w", err)
		}
		o.pipes = append(o.pipes, pipe)
		o.done.Go(func() { _, _ = io.Copy(c.to.writer, pipe) })
	}
	return o, nil
}

// wait waits until all owners of the outputs have closed them, as Node does, or until ctx ends.
// Then it kills the owners and does not wait for processes that escaped.
func (o *outputs) wait(ctx context.Context, kill func()) {
	go func() {
		o.done.Wait()
		close(o.ended)
	}()
	select {
	case <-o.ended:
		return
	case <-ctx.Done():
	}
	patience := time.NewTimer(200 * time.Millisecond) // for the first signal to work
	defer patience.Stop()
	select {
	case <-o.ended:
		return
	case <-patience.C:
	}
	kill()
	for _, pipe := range o.pipes {
		_ = pipe.Close()
	}
	<-o.ended
}

var errProcessTimeout = errors.New("timeout of the process")

func command(ctx context.Context, r *processRequest, dir string) (*exec.Cmd, error) {
	name, arguments := r.File, r.Args
	if r.Shell != "" {
		name, arguments = shell(r.Shell, r.File, r.Args)
	}
	path := lookPath(name, r.Env)
	cmd := exec.CommandContext(ctx, path, arguments...)
	cmd.Args[0] = name
	cmd.Env = r.Env
	cmd.Dir = dir
	if r.Cwd != "" {
		cmd.Dir = r.Cwd
	}
	if r.HasInput {
		input, err := base64.StdEncoding.DecodeString(r.Input)
		if err != nil {
			return nil, err
		}
		cmd.Stdin = bytes.NewReader(input)
	}
	return cmd, nil
}

// captured is one output of a process.
type captured struct {
	writer io.Writer
	mu     sync.Mutex
	buffer bytes.Buffer
	limit  int
	full   bool
	keep   bool
	cancel context.CancelCauseFunc
	count  func(n int) bool // what is kept
}

func (vm *VM) capture(how string, inherited io.Writer, r *processRequest, cancel context.CancelCauseFunc) *captured {
	c := &captured{cancel: cancel, count: vm.keep, limit: int(min(max(r.MaxBuffer, 0), float64(vm.stream())))}
	switch how {
	case "ignore":
	case "inherit":
		c.writer = inherited
	default:
		c.keep = true
		c.writer = c
	}
	return c
}

// Write stores output up to the limit. More output ends the process.
func (c *captured) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fits := p[:min(len(p), c.limit-c.buffer.Len())]
	if c.count(len(fits)) {
		c.buffer.Write(fits)
	} else {
		c.count(-len(fits))
		fits = nil
	}
	if len(fits) < len(p) {
		c.full = true
		c.cancel(errBuffer)
	}
	return len(p), nil
}

func (c *captured) text() *string {
	if !c.keep {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(-c.buffer.Len())
	return new(base64.StdEncoding.EncodeToString(c.buffer.Bytes()))
}
