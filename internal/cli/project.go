package cli

import (
	"cmp"
	"context"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report/terminal"
)

// env returns what jobs see of the process.
func (a *app) env() project.Env {
	e := project.Env{
		Getenv: a.Getenv, Environ: a.Environ, Dir: a.Dir, Stdout: a.rawStdout, Stderr: a.Stderr, Now: a.Now,
		SuiteRead: spareMemory, Starting: boundMemory,
	}
	if a.Size == nil {
		return e
	}
	_, _, interactive := a.Size()
	interactive = interactive && a.Getenv("TERM") != "dumb"
	if m, ok := a.Stdout.(*masked); ok && interactive { // reports clean what they show, and add colors
		e.Stdout = m.styled()
	}
	e.Display = terminal.Screen{
		Terminal: interactive, Color: interactive && a.Getenv("NO_COLOR") == "", Unicode: unicode(a.Getenv),
		Size: func() (int, int) { w, h, _ := a.Size(); return w, h },
	}
	return e
}

// unicode reports whether the terminal is likely to show more than ASCII.
func unicode(getenv func(string) string) bool {
	if runtime.GOOS == "windows" {
		return getenv("WT_SESSION") != "" || getenv("TERM_PROGRAM") != ""
	}
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// projectFlags are the flags that find the project of a command.
type projectFlags struct{ config, outputDir string }

func (f *projectFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.config, "config", "", "config `file`")
	f.registerOutputDir(fs)
}

func (f *projectFlags) registerOutputDir(fs *pflag.FlagSet) {
	fs.StringVar(&f.outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
}

// open opens the project of the working directory.
func (a *app) open(ctx context.Context, f projectFlags) (*project.Project, error) {
	return a.adopt(project.OpenProject(ctx, a.env(), f.config, f.outputDir))
}

// openFor opens the project of a suite: the config nearest to it applies.
func (a *app) openFor(ctx context.Context, f projectFlags, suite string) (*project.Project, error) {
	return a.adopt(project.OpenProjectOf(ctx, a.env(), f.config, f.outputDir, suite))
}

// project makes the project of a config.
func (a *app) project(config *config.Config, outputDir string) (*project.Project, error) {
	return a.adopt(project.NewProject(a.env(), config, outputDir))
}

// adopt uses the redactor of an opened project for this command, and closes the project at its end.
func (a *app) adopt(p *project.Project, err error) (*project.Project, error) {
	if err == nil {
		a.know(p.Redactor())
		a.closers = append(a.closers, p)
	}
	return p, err
}

// adoptJob uses the redactor of an opened job for this command.
func (a *app) adoptJob(j *job.Job, err error) (*job.Job, error) {
	if err == nil {
		a.know(j.Redactor())
	}
	return j, err
}

// path returns name relative to the working directory of the user.
func (a *app) path(name string) string { return a.env().Path(name) }

// shown returns a path as the user would write it.
func (a *app) shown(path string) string { return a.env().Shown(path) }
