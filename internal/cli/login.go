package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/submit"
)

func loginCommand(a *app) *cobra.Command {
	fromStdin := false
	cmd := &cobra.Command{
		Use:   "login [URL] --token-stdin",
		Short: "Keep the token for a server",
		Long: `Read a token from standard input, try it on a server, and keep it in credentials.json in the configuration directory,
which only you can read. Plumb sends it to this server only. plumb submit sends runs to the server of the last login.`,
		Example: `  plumb login https://plumb.example.com --token-stdin < token
  pass plumb/token | plumb login https://plumb.example.com --token-stdin`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !fromStdin {
				return plumb.WithHint(errors.New("login needs --token-stdin"),
					"make a token on the server, and give it on standard input, so that no list of processes shows it")
			}
			return a.login(cmd.Context(), first(args))
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read the token from standard input")
	return cmd
}

func (a *app) login(ctx context.Context, address string) error {
	origin, _, err := a.account(address)
	if err != nil {
		return err
	}
	const most = 4 << 10
	data, err := io.ReadAll(io.LimitReader(a.Stdin, most))
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return errors.New("standard input has no token")
	}
	me, err := a.client(origin, token, submit.NewHTTP(a.Getenv)).Me(ctx)
	if err != nil {
		return fmt.Errorf("the token was not kept: %w", err)
	}
	err = submit.UpdateCredentials(ctx, submit.CredentialsFile(a.Getenv), func(c *submit.Credentials) {
		one := c.Servers[origin]
		one.Token, one.Name = token, me.Name
		c.Servers[origin], c.Last = one, origin
	})
	if err == nil {
		fmt.Fprintf(a.Stdout, "You are %s on %s.\n", a.name(me.Name), origin)
	}
	return err
}

func logoutCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logout [URL]",
		Short: "Forget the token for a server",
		Long: `Forget the token for a server, and what you agreed to share with it. The token itself stays valid until it ends or
is deleted on the server.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			origin, _, err := a.account(first(args))
			if err != nil {
				return err
			}
			known := false
			err = submit.UpdateCredentials(cmd.Context(), submit.CredentialsFile(a.Getenv), func(c *submit.Credentials) {
				_, known = c.Servers[origin]
				delete(c.Servers, origin)
				if c.Last == origin {
					c.Last = ""
				}
			})
			switch {
			case err != nil:
				return err
			case known:
				fmt.Fprintf(a.Stdout, "Forgot the token for %s.\n", origin)
			default:
				fmt.Fprintf(a.Stdout, "There was no token for %s.\n", origin)
			}
			return nil
		},
	}
}

func whoamiCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami [URL]",
		Short: "Ask a server which account the token belongs to",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			origin, token, err := a.account(first(args))
			if err != nil {
				return err
			}
			me, err := a.client(origin, token, submit.NewHTTP(a.Getenv)).Me(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.print(struct {
					Server string `json:"server"`
					submit.Account
				}{origin, me})
			}
			fmt.Fprintf(a.Stdout, "%s on %s, with %s\n", a.name(me.Name), origin, a.name(strings.Join(me.Scopes, ", ")))
			return nil
		},
	}
}

// account returns the server of a command that is not about a project, and the token for it.
func (a *app) account(address string) (origin, token string, err error) {
	saved, err := submit.ReadCredentials(submit.CredentialsFile(a.Getenv))
	if err != nil {
		return "", "", err
	}
	named := a.Getenv(submit.ServerEnv)
	if address = cmp.Or(address, named, saved.Last); address == "" {
		return "", "", plumb.WithHint(errors.New("no server is known"), "give its address, such as https://plumb.example.com")
	}
	if origin, err = submit.Origin(address); err != nil {
		return "", "", err
	}
	return origin, tokenFor(origin, cmp.Or(named, origin), a.Getenv(submit.TokenEnv), saved), nil
}

// tokenFor returns the token for a server. That of the environment is for one server only.
func tokenFor(origin, named, token string, saved *submit.Credentials) string {
	if own, err := submit.Origin(named); err == nil && own == origin && token != "" {
		return token
	}
	return saved.Servers[origin].Token
}
