package fakemodel

import (
	"bytes"
	"cmp"
)

// googleJSON is the media type of Google's replies.
const googleJSON = "application/json; charset=UTF-8"

// The parts of a GenerateContentResponse.
const (
	googleBlocked = `  "promptFeedback": {
    "blockReason": "PROHIBITED_CONTENT"
  },
`
	googleCandidate = `  "candidates": [
    {
%v      "finishReason": "%v",
      "index": 0%v
    }
  ],
`
	googleContent = `      "content": {
%v        "role": "model"
      },
`
	googleParts = `        "parts": [
          %v
        ],
`
	googleSafety = `,
      "safetyRatings": [
        {
          "category": "HARM_CATEGORY_DANGEROUS_CONTENT",
          "probability": "HIGH",
          "blocked": true
        }
      ]`
	googleThought = `{
            "text": %s,
            "thought": true
          },
          `
	googleText = `{
            "text": %s
          }`
	googleDetails = `"%v": [
      {
        "modality": "TEXT",
        "tokenCount": %d
      }
    ]`
)

// generated writes a reply of Google's generateContent.
func (x *exchange) generated(rep reply) {
	x.kind = googleJSON
	finish := map[finish]string{
		finishStop: "STOP", finishLength: "MAX_TOKENS", finishRefusal: "SAFETY", finishFilter: "PROHIBITED_CONTENT",
	}[rep.finish]
	b := append(x.out, "{\n"...)
	if x.blocks() == BlockPrompt {
		b = append(b, googleBlocked...)
	} else {
		content, ratings := "", googleSafety
		if rep.finish != finishRefusal {
			content, ratings = x.content(rep), ""
		}
		b = template(b, googleCandidate, content, finish, ratings)
	}
	candidates := rep.output - rep.reasoning
	if rep.finish == finishRefusal {
		candidates = 0
	}
	b = append(b, "  \"usageMetadata\": {\n"...)
	for _, count := range []struct {
		name string
		n    int
	}{
		{"promptTokenCount", rep.input},
		{"candidatesTokenCount", candidates},
		{"totalTokenCount", rep.input + candidates + rep.reasoning},
		{"cachedContentTokenCount", rep.cached},
	} {
		if count.n > 0 {
			b = template(b, "    \"%v\": %d,\n", count.name, count.n)
		}
	}
	b = template(append(b, "    "...), googleDetails, "promptTokensDetails", rep.input)
	if rep.cached > 0 {
		b = template(append(b, ",\n    "...), googleDetails, "cacheTokensDetails", rep.cached)
	}
	if rep.reasoning > 0 {
		b = template(b, ",\n    \"thoughtsTokenCount\": %d", rep.reasoning)
	}
	x.out = template(b, "\n  },\n  \"modelVersion\": %s,\n  \"responseId\": \"%v\"\n}\n", x.model.Snapshot, x.token(22))
}

// content is the content of a candidate.
func (x *exchange) content(rep reply) string {
	var parts []byte
	if x.thinking && rep.reasoning > 0 {
		parts = template(parts, googleThought, stockThought)
	}
	if rep.text != "" {
		parts = template(parts, googleText, rep.text)
	}
	if parts = bytes.TrimRight(parts, ", \n"); len(parts) > 0 {
		parts = template(nil, googleParts, string(parts))
	}
	return string(template(nil, googleContent, string(parts)))
}

const (
	googleService = "generativelanguage.googleapis.com"
	googleQuota   = "You exceeded your current quota, please check your plan and billing details. For more " +
		"information on " +
		"this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, " +
		"head to: " +
		"https://ai.dev/rate-limit. "
	googleHelp = `{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Learn more about Gemini ` +
		`API ` +
		`quotas","url":"https://ai.google.dev/gemini-api/docs/rate-limits"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"` + googleService
	googleDimensions  = `","quotaDimensions":{"location":"global","model":"{model}"}}]}`
	googleUnsupported = "* GenerateContentRequest.generation_config.{snake}: {snake} is not supported for this model.\n"
)

// googleErrors are the errors of Google's APIs.
var googleErrors = map[problemKind]wording{
	badJSON:  {message: "Invalid JSON payload received. Unexpected end of string. Expected a value."},
	tooLarge: {status: 400, message: "Request payload size exceeds the limit: 20971520 bytes."},
	noKey: {
		status: 403, kind: "PERMISSION_DENIED",
		message: "Method doesn't allow unregistered callers (callers without established identity). " +
			"Please use API Key or other form of API consumer identity to call this API.",
	},
	wrongKey: { // Google has no 401 for keys
		status: 400, message: "API key not valid. Please pass a valid API key.",
		details: `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID",` +
			`"domain":"googleapis.com","metadata":{"service":"` + googleService + `"}},` +
			`{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"en-US","message":"{message}"}`,
	},
	unauthorized: {
		kind: "UNAUTHENTICATED",
		message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or " +
			"other " +
			"valid authentication credential. See " +
			"https://developers.google.com/identity/sign-in/web/devconsole-project.",
	},
	noSuchModel: {
		kind: "NOT_FOUND",
		message: "models/{model} is not found for API version v1beta, or is not supported for {operation}. " +
			"Call ListModels to see the list of available models and their supported methods.",
	},
	noQuota: {
		kind: "RESOURCE_EXHAUSTED",
		message: googleQuota + "\n* Quota exceeded for metric: " + googleService +
			"/generate_content_free_tier_requests, limit: 0, model: {model}",
		details: googleHelp + `/generate_content_free_tier_requests","quotaId":` +
			`"GenerateRequestsPerDayPerProjectPerModel-FreeTier` + googleDimensions,
	},
	rateLimited: {
		kind: "RESOURCE_EXHAUSTED", message: googleQuota,
		details: googleHelp + `/generate_content_paid_tier_requests","quotaId":` +
			`"GenerateRequestsPerMinutePerProjectPerModel` + googleDimensions +
			`,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{seconds}s"}`,
	},
	requestTimeout: {
		status: 504, kind: "DEADLINE_EXCEEDED", message: "Deadline expired before operation could complete.",
	},
	conflict: {kind: "ABORTED", message: "The operation was aborted. Please try again."},
	serverError: {
		kind: "INTERNAL",
		message: "An internal error has occurred. Please retry or report in " +
			"https://developers.generativeai.google/guide/troubleshooting",
	},
	overloaded: {kind: "UNAVAILABLE", message: "The model is overloaded. Please try again later."},
	unknownParameter: {
		message: `Invalid JSON payload received. Unknown name "{param}"{at}: Cannot find field.`,
		details: `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"{detail}",` +
			`"description":"{message}"}]}`,
	},
	unsupportedParameter: {message: googleUnsupported},
	unsupportedValue:     {message: googleUnsupported},
	badInput:             {message: "* EmbedContentRequest.content: contents is not specified\n"},
	promptBlocked:        {message: "Request contains an invalid argument."},
	missingParameter:     {message: "Request contains an invalid argument."},
}

// googleError writes an error of Google's APIs.
func (x *exchange) googleError(p problem) {
	if p.kind == noSuchPath || p.kind == wrongMethod {
		x.status, x.kind = 404, "text/html; charset=UTF-8"
		x.out = append(x.out, "<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n"+
			"  <p><b>404.</b> <ins>That's an error.</ins>\n"...)
		return
	}
	x.kind = googleJSON
	w := x.words(googleErrors, p)
	x.out = template(x.out, "{\n  \"error\": {\n    \"code\": %d,\n    \"message\": %s,\n    \"status\": %s",
		x.status, w.message, cmp.Or(w.kind, "INVALID_ARGUMENT"))
	if w.details != "" {
		x.out = template(x.out, ",\n    \"details\": [%v]", w.details)
	}
	x.out = append(x.out, "\n  }\n}\n"...)
}
