package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/reporting"
)

// viewCmd is plumb view.
type viewCmd struct {
	*app
	projectFlags
}

func viewCommand(a *app) *cobra.Command {
	c := &viewCmd{app: a}
	cmd := &cobra.Command{
		Use:   "view [RUN]",
		Short: "Open the HTML report of an earlier run in a browser",
		Long: `Write the HTML report of an earlier run, report.html in its directory, and open it in a browser. RUN is the same
as for plumb resume; without it, the last run. Without a terminal or a browser, the command only prints the path.`,
		Example: `  plumb view
  plumb view 20261120-101500-ab12cd`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, path, err := c.findLog(cmd.Context(), c.projectFlags, runOf(args))
			if err != nil {
				return err
			}
			return c.view(p, path)
		},
	}
	c.register(cmd.Flags())
	return cmd
}

// view writes the HTML report of the run at path and opens it. If the run directory cannot be
// written, the report is a temporary file.
func (a *app) view(p *project.Project, path string) error {
	file := filepath.Join(path, "report.html")
	if err := reporting.WritePage(p, path, file); err != nil {
		dir, failed := proc.TempView.Dir()
		if failed != nil {
			return err
		}
		file = filepath.Join(dir, "report.html")
		if reporting.WritePage(p, path, file) != nil {
			_ = os.RemoveAll(dir) // the first error says what is wrong
			return err
		}
	}
	if a.json {
		return a.print(struct {
			Path string `json:"path"`
		}{file})
	}
	fmt.Fprintf(a.Stdout, "HTML report: %s\n", a.shown(file))
	return a.browse(file)
}

// browse opens a file in a browser if this process has a terminal and the system a browser.
func (a *app) browse(file string) error {
	if _, _, terminal := a.Size(); !terminal {
		return nil
	}
	name, args := "xdg-open", []string{file}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", file}
	default:
		if a.Getenv("DISPLAY") == "" && a.Getenv("WAYLAND_DISPLAY") == "" {
			return nil // as over SSH: xdg-open would start a browser in the terminal
		}
	}
	program, ok := project.LookPath(name, a.Getenv("PATH"), a.Dir)
	if !ok {
		return nil
	}
	// The browser outlives this process, so nothing waits for it, and no context ends it.
	cmd := exec.Command(program, args...) //nolint:noctx // see above
	cmd.Env = a.Environ()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	return cmd.Process.Release()
}
