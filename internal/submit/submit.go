package submit

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// MostBytes returns the largest sizes of a log that a server accepts: packed, and as it is.
func MostBytes(share plumb.Share) (packed, unpacked int64) {
	if share.Whole() {
		return 1 << 30, 8 << 30
	}
	return 64 << 20, 1 << 30
}

// Wanted is what a user wants to submit, and where.
type Wanted struct {
	Server  string      `json:"server"`
	Project string      `json:"project"`
	Share   plumb.Share `json:"share"`
	// Partial allows a run that is not complete.
	Partial bool     `json:"partial,omitempty"`
	Context *Context `json:"context,omitempty"`
}

// Submission is a run that is submitted, or that would be.
type Submission struct {
	Run string `json:"run"`
	Wanted

	Reduced
	// Packed is the number of bytes that are sent.
	Packed int64 `json:"packedBytes"`
	State  State `json:"state"`
	// Receipt is the reply of the server; nil without one.
	Receipt *Receipt `json:"receipt,omitempty"`

	path string // the run directory
	file string // what is sent
}

// State is what became of a submission.
type State string

// The states. The server has a known submission already. One that is pending is to be sent later, and the
// server does not want one that is rejected.
const (
	Ready    State = "not sent"
	Sent     State = "sent"
	Known    State = "known"
	Pending  State = "pending"
	Rejected State = "rejected"
)

// Prepare reduces the run at path, and packs it into a temporary file in its directory. demo marks a run
// of the built-in recording. The log also goes to a writer; nil writes it nowhere else.
func Prepare(path string, w Wanted, demo bool, r *redact.Redactor, also io.Writer) (_ *Submission, err error) {
	run, err := runlog.At(path).Fold(nil)
	if err == nil {
		err = refuse(run, demo, runlog.Locked(path), w.Partial)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(path, ".submission-*") // resuming the run removes what a killed process left
	if err != nil {
		return nil, fmt.Errorf("pack the run: %w", err)
	}
	s := &Submission{Run: run.Info.ID, Wanted: w, State: Ready, path: path, file: f.Name()}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	out := bufio.NewWriterSize(f, 64<<10)
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	if err == nil {
		to := io.Writer(z)
		if also != nil {
			to = io.MultiWriter(z, also)
		}
		s.Reduced, err = Reduce(runlog.At(path), w.Share, r, to)
		err = errors.Join(err, z.Close(), out.Flush())
	}
	if err == nil {
		s.Packed, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if packed, whole := MostBytes(w.Share); s.Packed > packed || s.Bytes > whole {
		return nil, plumb.WithHint(fmt.Errorf("the log has %s, and %s packed: a server accepts %s and %s",
			text.Size(s.Bytes), text.Size(s.Packed), text.Size(whole), text.Size(packed)), "--share scores sends the least")
	}
	return s, nil
}

// Close removes the temporary file.
func (s *Submission) Close() { _ = os.Remove(s.file) } // the next resume of the run removes it, too

// Send sends a submission to the server that it is for, and records what became of it. It is safe to send
// a run again: a server keeps each log once.
func (s *Submission) Send(ctx context.Context, c *Client, now func() time.Time) (err error) {
	one := Record{
		Wanted: s.Wanted, Digest: s.Digest, At: now().UTC().Truncate(time.Second),
		Pending: true, Error: "the process ended while it sent the run",
	}
	keep := context.WithoutCancel(ctx)
	if err := record(keep, s.path, one); err != nil { // first, in case that this process is killed
		return err
	}
	s.Receipt, err = c.submit(ctx, s, now)
	one.Pending, one.Error = false, ""
	switch refusal, ok := errors.AsType[*Refusal](err); {
	case err == nil:
		s.State, one.ID, one.Address = Sent, s.Receipt.ID, s.Receipt.Address
		if s.Receipt.known {
			s.State = Known
		}
		one.Context = nil // the server has it
	case ok && refusal.final():
		s.State, one.Error = Rejected, err.Error()
	default:
		s.State, one.Error, one.Pending = Pending, err.Error(), true
	}
	return errors.Join(err, record(keep, s.path, one))
}

// Record is the record of a submission in the directory of its run.
type Record struct {
	Wanted

	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	// ID and Address are those on the server.
	ID      string `json:"id,omitempty"`
	Address string `json:"address,omitempty"`
	// Pending means that it is still to be sent, and Error is why it could not be.
	Pending bool   `json:"pending,omitempty"`
	Error   string `json:"error,omitempty"`
}

// recordsFile is the file with the records of a run.
const recordsFile = "submitted.json"

type records struct {
	Submissions []Record `json:"submissions"`
}

// Records returns the submissions of the run at path, one for each server and project.
func Records(path string) ([]Record, error) {
	var r records
	err := doc.DecodeFile(filepath.Join(path, recordsFile), &r)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return r.Submissions, err
}

// record replaces the record of a submission.
func record(ctx context.Context, path string, one Record) error {
	return doc.Update(ctx, filepath.Join(path, recordsFile), func(name string) error {
		all, err := Records(path)
		if err != nil {
			return err
		}
		same := func(r Record) bool { return r.Server == one.Server && r.Project == one.Project }
		return writeJSON(name, records{append(slices.DeleteFunc(all, same), one)})
	})
}

// The environment variables with the address of the server, and with the token for it.
const (
	ServerEnv = "PLUMB_SERVER"
	TokenEnv  = "PLUMB_TOKEN"
)

// Credentials are what a user has for servers.
type Credentials struct {
	// Last is the server of the last login.
	Last string `json:"last,omitempty"`
	// Servers are by their origin.
	Servers map[string]Credential `json:"servers"`
}

// Credential is what a user has for one server.
type Credential struct {
	Token string `json:"token,omitempty"`
	// Name is that of the account.
	Name string `json:"name,omitempty"`
	// Agreed is the largest level that the user agreed to share with the server.
	Agreed plumb.Share `json:"agreed,omitempty"`
}

// CredentialsFile returns the path of the credentials of a user, or "" for one without a home.
func CredentialsFile(getenv func(string) string) string {
	for _, dir := range []string{
		getenv("XDG_CONFIG_HOME"), getenv("APPDATA"), filepath.Join(cmp.Or(getenv("HOME"), getenv("USERPROFILE")), ".config"),
	} {
		if filepath.IsAbs(dir) {
			return filepath.Join(dir, "plumb", "credentials.json")
		}
	}
	return ""
}

// ReadCredentials reads the credentials of a user. It refuses a file that others can read.
func ReadCredentials(path string) (*Credentials, error) {
	c := &Credentials{}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/':
		err = plumb.WithHint(errors.New("others can read the file"), "chmod 600 "+path+"; then make new tokens")
	case err == nil:
		err = doc.DecodeFile(path, c)
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials %s: %w", path, err)
	}
	if c.Servers == nil {
		c.Servers = map[string]Credential{}
	}
	return c, nil
}

// UpdateCredentials changes the credentials of a user.
func UpdateCredentials(ctx context.Context, path string, change func(*Credentials)) error {
	if path == "" {
		return errors.New("there is no place for credentials: neither HOME nor XDG_CONFIG_HOME is set")
	}
	return doc.Update(ctx, path, func(name string) error {
		c, err := ReadCredentials(name)
		if err != nil {
			return err
		}
		change(c)
		return writeJSON(name, c)
	})
}

// writeJSON writes a file that only its owner can read.
func writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return runlog.WriteFile(name, append(data, '\n'))
}
