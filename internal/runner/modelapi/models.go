package modelapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"github.com/plumb-eval/plumb"
)

// maxPages bounds how long a list of models may be.
const maxPages = 50

// ListModels asks the provider which models the key can use. The Model of cfg is of no account.
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
	next := url.Values{}
	switch t.provider.family {
	case anthropicFamily:
		next.Set("limit", "1000")
	case googleFamily:
		next.Set("pageSize", "1000")
	default: // the others take no size of a page
	}
	for range maxPages {
		u := t.at("/models")
		query := u.Query()
		maps.Copy(query, next)
		u.RawQuery = query.Encode()
		var page modelPage
		_, p := t.transport.do(ctx, &call{
			lane: t.lane, method: http.MethodGet, url: u, header: t.header, timeout: timeout,
			decode: func(body []byte) (err error) {
				page, err = decodeModels(t.provider, body)
				return err
			},
		})
		if p != nil {
			if p.kind == stopped && !outOfTime(ctx) {
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
	slices.SortFunc(out, func(a, b ModelInfo) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// modelPage is one page of a list, and the query parameter that gets the next one.
type modelPage struct {
	models       []ModelInfo
	param, value string
}

func decodeModels(p Provider, body []byte) (modelPage, error) {
	var page modelPage
	switch p.family {
	case anthropicFamily:
		var list struct {
			Data    []anthropic.ModelInfo `json:"data"`
			HasMore bool                  `json:"has_more"`
			LastID  string                `json:"last_id"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return page, err
		}
		if list.Data == nil {
			return page, errorWithin(body)
		}
		for i := range list.Data {
			m := ModelInfo{Provider: p.Name, ID: list.Data[i].ID, Name: list.Data[i].DisplayName}
			if at := list.Data[i].CreatedAt; at.Year() > 1970 {
				m.Created = at.Format(time.DateOnly)
			}
			page.models = append(page.models, m)
		}
		if list.HasMore && list.LastID != "" {
			page.param, page.value = "after_id", list.LastID
		}
	case googleFamily:
		var list struct {
			Models []struct {
				genai.Model
				// SupportedGenerationMethods is what the wire calls SupportedActions.
				SupportedGenerationMethods []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			NextPageToken string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return page, err
		}
		if list.Models == nil {
			return page, errorWithin(body)
		}
		for i := range list.Models {
			m := &list.Models[i]
			embeds := slices.Contains(m.SupportedGenerationMethods, "embedContent")
			if !embeds && len(m.SupportedGenerationMethods) > 0 && !slices.Contains(m.SupportedGenerationMethods, "generateContent") {
				continue
			}
			page.models = append(page.models, ModelInfo{
				Provider: p.Name, ID: strings.TrimPrefix(m.Name, "models/"), Name: m.DisplayName, Embedding: embeds,
			})
		}
		if list.NextPageToken != "" {
			page.param, page.value = "pageToken", list.NextPageToken
		}
	default:
		var list struct {
			Data []openai.Model `json:"data"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return page, err
		}
		if list.Data == nil {
			return page, errorWithin(body)
		}
		for i := range list.Data {
			m := ModelInfo{Provider: p.Name, ID: list.Data[i].ID, Embedding: strings.Contains(list.Data[i].ID, "embed")}
			if at := list.Data[i].Created; at > 0 && at < 1<<40 {
				m.Created = time.Unix(at, 0).UTC().Format(time.DateOnly)
			}
			page.models = append(page.models, m)
		}
	}
	return page, nil
}
