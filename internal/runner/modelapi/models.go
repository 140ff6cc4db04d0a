package modelapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// maxPages bounds how long a list of models may be.
const maxPages = 50

// ListModels asks the provider which models the key can use. It ignores cfg.Model.
func ListModels(ctx context.Context, cfg Config) ([]ModelInfo, error) {
	cfg.Model = "models"
	t, err := newTarget(cfg)
	if err != nil {
		return nil, err
	}
	timeout := cfg.RequestTimeout
	if timeout <= 0 {
		timeout = time.Minute
	}
	var out []ModelInfo
	next := t.wire.listQuery()
	for range maxPages {
		u := t.at("/models")
		query := u.Query()
		maps.Copy(query, next)
		u.RawQuery = query.Encode()
		var page modelPage
		_, p := t.transport.do(ctx, &call{
			lane: t.lane, method: http.MethodGet, url: u, header: t.header, timeout: timeout,
			decode: func(body []byte) (err error) {
				page, err = t.wire.decodeModels(body)
				return err
			},
		})
		if p != nil {
			if p.kind == stopped && !OutOfTime(ctx) {
				return nil, ctx.Err()
			}
			f := t.failure(p)
			f.Origin, f.Class = plumb.OriginRunner, plumb.OriginRunner.Class()
			return nil, f
		}
		out = append(out, page.models...)
		if page.param == "" {
			break
		}
		next.Set(page.param, page.value)
	}
	for i := range out {
		out[i].Provider = t.provider.Name
	}
	slices.SortFunc(out, func(a, b ModelInfo) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}
