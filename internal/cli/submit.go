package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/submit"
	"github.com/plumb-eval/plumb/internal/text"
)

// The values of --context, and of --submit of plumb run that fails without a submission.
const (
	contextAuto    = "auto"
	contextNone    = "none"
	submitRequired = "required"
)

// submitFlags are the flags that say where a submission goes and what it has.
type submitFlags struct {
	server, project, share, context string
	labels                          []string
	partial                         bool
}

// submitCmd is plumb submit.
type submitCmd struct {
	*app
	projectFlags
	submitFlags
	dryRun string
	toSend bool
}

// onlyShow is the value of --dry-run without a file.
const onlyShow = "-"

func submitCommand(a *app) *cobra.Command {
	c := &submitCmd{app: a}
	cmd := &cobra.Command{
		Use:   "submit [RUN...]",
		Short: "Send runs to a server, reduced to what you agree to share",
		Long: `Send runs to a Plumb server. RUN is the same as for plumb resume; without it, the last run.

What leaves is the log of the run, reduced to the fields of a level:

  scores     ids and hashes, models, parameters, versions, times, outcomes, scores, tokens, cost, and a hash of each
             answer (the default). A short answer can be found by trying hashes.
  answers    also the answers, and the messages of the checks
  sessions   the whole log: prompts, tools, commands, files

--dry-run shows what would leave and sends nothing; --dry-run=FILE also writes the exact bytes, a log that plumb report,
show, compare and drift --from read. Beside the log go the commit and the CI job (--context=none leaves them out), and
labels.

The exit code is 0 when the server has all runs, 3 when it could not be reached (--pending sends them later), and 2 when
a run cannot be submitted. docs/submitting.md lists the fields.`,
		Example: `  plumb submit --dry-run
  plumb submit last --server https://plumb.example.com
  plumb submit last --share answers --label branch=main
  plumb submit --pending`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	fs := cmd.Flags()
	c.submitFlags.register(fs)
	fs.StringVar(&c.dryRun, "dry-run", "", "show what would leave, write it to a `file` if one is given, and send nothing")
	fs.Lookup("dry-run").NoOptDefVal = onlyShow
	fs.BoolVar(&c.toSend, "pending", false, "send what could not be sent, the oldest first")
	c.projectFlags.register(fs)
	return cmd
}

func (f *submitFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.server, "server", "", "`address` of the server (default: PLUMB_SERVER, server of the config, the last login)")
	fs.StringVar(&f.project, "project", "", "`name` of the project on the server (default: that of the config, or default)")
	fs.StringVar(&f.share, "share", "", "`level`: scores, answers or sessions (default: that of the config, or scores)")
	fs.StringVar(&f.context, "context", contextAuto, "auto sends the commit and the CI job, none does not")
	fs.StringArrayVar(&f.labels, "label", nil, "`key=value` to send beside the log; repeatable")
	fs.BoolVar(&f.partial, "partial", false, "also submit a run that is not complete")
}

// sending is where submissions go, and with what.
type sending struct {
	*app
	project *project.Project
	want    submit.Wanted
	labels  map[string]string
	context string
	http    *http.Client
	saved   *submit.Credentials
}

// sending reads where submissions go; the server is "" if none is known.
func (a *app) sending(p *project.Project, f submitFlags) (*sending, error) {
	s := &sending{app: a, project: p, context: f.context, labels: map[string]string{}, http: submit.NewHTTP(a.Getenv)}
	var err error
	if s.saved, err = submit.ReadCredentials(submit.CredentialsFile(a.Getenv)); err != nil {
		return nil, err
	}
	set := &p.Config.Server
	server := cmp.Or(f.server, p.Getenv(submit.ServerEnv), set.URL, s.saved.Last)
	s.want = submit.Wanted{
		Project: cmp.Or(f.project, set.Project, "default"), Partial: f.partial,
		Share: cmp.Or(plumb.Share(f.share), set.Share, plumb.ShareScores),
	}
	if !slices.Contains(plumb.Shares(), s.want.Share) {
		return nil, plumb.WithHint(fmt.Errorf("unknown level %q", s.want.Share), "one of scores, answers, sessions")
	}
	if err := checkWord("--context", f.context, []string{contextAuto, contextNone}); err != nil {
		return nil, err
	}
	for _, pair := range f.labels {
		key, value, ok := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, plumb.WithHint(fmt.Errorf("--label %q has no key and value", pair), "such as --label team=search")
		}
		s.labels[key] = value
	}
	if server != "" {
		s.want.Server, err = submit.Origin(server)
	}
	return s, err
}

// client returns the client for a server. PLUMB_TOKEN is for PLUMB_SERVER of the process, which neither
// a config nor a .env file changes, or, without that, for the server of this command.
func (s *sending) client(origin string) *submit.Client {
	named := cmp.Or(s.Getenv(submit.ServerEnv), s.want.Server)
	return s.app.client(origin, tokenFor(origin, named, s.project.Getenv(submit.TokenEnv), s.saved), s.http)
}

func (a *app) client(origin, token string, h *http.Client) *submit.Client {
	return &submit.Client{
		Origin: origin, Token: token, UserAgent: "plumb/" + project.Version(), HTTP: h,
		Retrying: func(reason string, wait time.Duration) {
			fmt.Fprintf(a.Stderr, "plumb: %s; the next try is in %s\n", a.line(reason, 300), text.Duration(wait))
		},
	}
}

// agree wants a server, and asks once for each server and level. Without a terminal it asks nothing:
// whoever gave the command, the flag or the config agreed to it.
func (s *sending) agree(ctx context.Context) error {
	levels := plumb.Shares()
	origin, share := s.want.Server, s.want.Share
	if origin == "" {
		return plumb.WithHint(errors.New("no server is known"),
			"plumb login https://SERVER --token-stdin, --server, PLUMB_SERVER, or server in the config")
	}
	if slices.Index(levels, s.saved.Servers[origin].Agreed) >= slices.Index(levels, share) || !s.interactive() {
		return nil
	}
	fmt.Fprintf(s.Stderr, "Plumb sends runs of this project to %s, with %s.\nplumb submit --dry-run shows what leaves. Send it? [y/N] ",
		origin, map[plumb.Share]string{
			plumb.ShareScores:   "scores, models, times, tokens and hashes of the answers (level scores)",
			plumb.ShareAnswers:  "scores, the answers, and the messages of the checks (level answers)",
			plumb.ShareSessions: "the whole logs: prompts, answers, tools, files (level sessions)",
		}[share])
	answer, _ := bufio.NewReader(s.Stdin).ReadString('\n') // no answer is no
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return plumb.WithHint(errors.New("nothing was sent"), "--share chooses a smaller level")
	}
	return submit.UpdateCredentials(ctx, submit.CredentialsFile(s.Getenv), func(c *submit.Credentials) {
		one := c.Servers[origin]
		one.Agreed = share
		c.Servers[origin] = one
	})
}

// interactive reports whether a person can answer a question.
func (a *app) interactive() bool {
	_, _, ok := a.Size()
	f, isFile := a.Stdin.(*os.File)
	return ok && (!isFile || term.IsTerminal(int(f.Fd())))
}

// about returns the context of a run that started at a time.
func (s *sending) about(ctx context.Context, started time.Time) *submit.Context {
	var c submit.Context
	if s.context == contextAuto {
		if c = submit.OfCI(s.project.Getenv); c.CI == "" {
			c = s.ofGit(ctx, started)
		}
	}
	if len(s.labels) > 0 {
		c.Labels = s.labels
	}
	return &c
}

// ofGit returns the commit that was checked out at a time, and what else Git says if it still is.
func (s *sending) ofGit(ctx context.Context, at time.Time) (c submit.Context) {
	program, ok := project.LookPath("git", s.Getenv("PATH"), s.Dir)
	if !ok {
		return c
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Env = s.project.Config.Dir, s.Environ()
		out, _ := cmd.Output() // without a repository there is no context
		return string(bytes.TrimSpace(out))
	}
	if c.Commit = git("rev-parse", "--verify", "--quiet", "HEAD@{"+at.UTC().Format("2006-01-02 15:04:05 +0000")+"}"); c.Commit == "" {
		return c
	}
	if c.Commit == git("rev-parse", "--verify", "--quiet", "HEAD") {
		c.Branch = git("symbolic-ref", "--short", "--quiet", "HEAD")
	}
	c.Repository = git("config", "--get", "remote.origin.url")
	if u, err := url.Parse(c.Repository); err == nil && u.User != nil && u.Scheme != "ssh" { // it can have a token
		u.User = nil
		c.Repository = u.String()
	}
	return c
}

// submitJob is a run to submit.
type submitJob struct {
	path string
	want submit.Wanted
	demo bool
}

// job returns what is wanted of the run at path.
func (s *sending) job(ctx context.Context, path string) (submitJob, error) {
	var spec project.Spec
	j := submitJob{path: path, want: s.want}
	err := runlog.ReadSpec(path, &spec)
	j.demo, j.want.Context = spec.Demo, s.about(ctx, spec.CreatedAt)
	return j, err
}

// pending returns the submissions that could not be sent, the oldest first.
func (s *sending) pending() (jobs []submitJob, err error) {
	ids, err := runlog.List(s.project.Runs())
	for _, id := range ids {
		path := filepath.Join(s.project.Runs(), id)
		records, err := submit.Records(path)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.Pending {
				jobs = append(jobs, submitJob{path: path, want: r.Wanted})
			}
		}
	}
	return jobs, err
}

// send submits a run and prints what became of it. The submission is nil if the run cannot be submitted.
func (s *sending) send(ctx context.Context, j submitJob) (*submit.Submission, error) {
	secrets := s.project.RedactorOf(j.path)
	s.know(secrets)
	one, err := submit.Prepare(j.path, j.want, j.demo, secrets, nil)
	if err != nil {
		return nil, fmt.Errorf("submit run %s: %w", filepath.Base(j.path), err)
	}
	defer one.Close()
	err = one.Send(ctx, s.client(one.Server), s.Now)
	if err != nil {
		s.complain(fmt.Errorf("submit run %s: %w", one.Run, err))
		if one.State == submit.Pending {
			fmt.Fprintln(s.Stderr, "  plumb submit --pending sends it later.")
		}
		return one, err
	}
	w, words := s.Stdout, "Submitted run"
	if one.State == submit.Known {
		words = "The server already has run"
	}
	if s.json {
		w = s.Stderr
	}
	fmt.Fprintf(w, "%s %s (%s, %s): %s\n", words, one.Run, one.Share, text.Size(one.Packed),
		s.line(cmp.Or(one.Receipt.Address, one.Server), 300))
	if one.Receipt.State == "held" {
		fmt.Fprintln(w, "  It is held: it counts nowhere until a maintainer has looked at it.")
	}
	for _, note := range one.Receipt.Notes {
		fmt.Fprintf(w, "  %s\n", s.line(note, 300))
	}
	if one.Cut > 0 {
		fmt.Fprintf(w, "  %s cut to %s\n", text.Plural(one.Cut, "answer"), text.Size(submit.LineBytes))
	}
	return one, nil
}

// after submits a run that this process performed, and reports whether the server has it.
func (s *sending) after(ctx context.Context, path string) bool {
	w := interrupts{app: s.app}
	ctx, _, done := w.watch(ctx)
	defer done()
	j, err := s.job(ctx, path)
	if err == nil {
		var one *submit.Submission
		if one, err = s.send(ctx, j); one != nil {
			return err == nil // it has said why not
		}
	}
	s.complain(err)
	return false
}

func (c *submitCmd) run(ctx context.Context, args []string) error {
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	s, err := c.sending(p, c.submitFlags)
	if err != nil {
		return err
	}
	if c.toSend {
		if len(args) > 0 || c.dryRun != "" {
			return errors.New("--pending takes neither runs nor --dry-run")
		}
		return doc.Update(ctx, filepath.Join(p.Root, "pending"), func(string) error { // one process at a time
			jobs, err := s.pending()
			return errors.Join(err, c.sendAll(ctx, s, jobs))
		})
	}
	if len(args) == 0 {
		args = []string{"last"}
	}
	var jobs []submitJob
	for _, ref := range args {
		path, err := runlog.Find(p.Runs(), ref)
		if err != nil {
			return err
		}
		j, err := s.job(ctx, path)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	if c.dryRun != "" {
		return c.show(s, jobs)
	}
	if err := s.agree(ctx); err != nil {
		return err
	}
	return c.sendAll(ctx, s, jobs)
}

// sendAll sends runs, and returns the exit code for all.
func (c *submitCmd) sendAll(ctx context.Context, s *sending, jobs []submitJob) error {
	all, code := []*submit.Submission{}, exitOK
	w := interrupts{app: c.app}
	ctx, _, done := w.watch(ctx)
	defer done()
	for _, j := range jobs {
		one, err := s.send(ctx, j)
		if ctx.Err() != nil {
			return exit(w.code())
		}
		switch {
		case one == nil:
			c.complain(err)
			code = exitUsage
			continue
		case one.State == submit.Rejected:
			code = exitUsage
		case err != nil && code == exitOK:
			code = exitNotMeasured
		}
		all = append(all, one)
	}
	if c.json {
		if err := c.print(all); err != nil {
			return err
		}
	}
	return exit(code)
}

// show prints what would leave, and makes no request.
func (c *submitCmd) show(s *sending, jobs []submitJob) error {
	if c.dryRun != onlyShow && len(jobs) > 1 {
		return errors.New("--dry-run=FILE takes one run")
	}
	all := []*submit.Submission{}
	for _, j := range jobs {
		secrets := s.project.RedactorOf(j.path)
		c.know(secrets)
		var one *submit.Submission
		prepare := func(also io.Writer) (err error) {
			one, err = submit.Prepare(j.path, j.want, j.demo, secrets, also)
			return err
		}
		var err error
		if c.dryRun == onlyShow {
			err = prepare(nil)
		} else {
			err = doc.Write(c.path(c.dryRun), func(f *doc.File) error { return prepare(f) })
		}
		if one != nil {
			one.Close()
		}
		if err != nil {
			return fmt.Errorf("submit run %s: %w", filepath.Base(j.path), err)
		}
		all = append(all, one)
	}
	if c.json {
		return c.print(all)
	}
	for _, one := range all {
		if err := c.showOne(one); err != nil {
			return err
		}
	}
	if c.dryRun != onlyShow {
		fmt.Fprintf(c.Stdout, "The exact bytes are in %s. ", c.shown(c.path(c.dryRun)))
	}
	fmt.Fprintln(c.Stdout, "Nothing was sent.")
	return nil
}

// showOne prints what would leave of one run.
func (c *submitCmd) showOne(one *submit.Submission) error {
	fmt.Fprintf(c.Stdout, "What would leave of run %s, level %s, to %s, project %s:\n\n", one.Run, one.Share,
		cmp.Or(one.Server, "no server yet"), c.name(one.Project))
	w, _ := c.columns()
	fmt.Fprintln(w, "EVENTS\tLINES\tBYTES")
	for _, p := range one.Parts {
		fmt.Fprintf(w, "%s\t%d\t%s\n", p.Type, p.Lines, text.Size(p.Bytes))
	}
	fmt.Fprintf(w, "in all\t\t%s, %s packed\n", text.Size(one.Bytes), text.Size(one.Packed))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "\ndigest   %s\n", one.Digest)
	if about, err := json.Marshal(one.Context); err == nil && string(about) != "{}" {
		fmt.Fprintf(c.Stdout, "context  %s\n", c.name(string(about)))
	}
	fmt.Fprintln(c.Stdout)
	return nil
}
