package script

import (
	"fmt"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// address performs the calls of node:url: it parses a URL by the WHATWG URL standard, or changes one of its parts, and
// returns all parts. A change that the standard ignores changes nothing.
func address(name string, a args) (any, error) {
	var u *whatwg.Url
	var err error
	switch name {
	case "parse":
		u, err = whatwg.Parse(a.str(0))
	case "resolve":
		u, err = whatwg.ParseRef(a.str(1), a.str(0))
	case "set":
		if u, err = whatwg.Parse(a.str(0)); err == nil {
			err = change(u, a.str(1), a.str(2))
		}
	default:
		return nil, fmt.Errorf("unknown host function url.%s", name)
	}
	if err != nil {
		return nil, &hostError{Name: "TypeError", Message: "Invalid URL", Code: "ERR_INVALID_URL"}
	}
	return jsonText(map[string]string{
		"href": u.Href(false), "protocol": u.Protocol(), "username": u.Username(), "password": u.Password(),
		"host": u.Host(), "hostname": u.Hostname(), "port": u.Port(), "pathname": u.Pathname(),
		"search": u.Search(), "hash": u.Hash(),
	})
}

func change(u *whatwg.Url, part, value string) error {
	set, ok := map[string]func(string){
		"protocol": u.SetProtocol, "username": u.SetUsername, "password": u.SetPassword, "host": u.SetHost,
		"hostname": u.SetHostname, "port": u.SetPort, "pathname": u.SetPathname, "search": u.SetSearch, "hash": u.SetHash,
	}[part]
	if !ok {
		return fmt.Errorf("a URL has no part %q", part)
	}
	set(value)
	return nil
}
