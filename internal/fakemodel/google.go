package fakemodel

import (
	"bytes"
	"strings"
)

// googleJSON is the media type of Google's replies.
const googleJSON = "application/json; charset=UTF-8"

// generated writes a reply of Google's generateContent.
func (x *exchange) generated(rep reply) {
	x.kind = googleJSON
	id := x.token(22)
	if !x.ask.Stream {
		x.out = append(x.generation(x.out, id, rep, rep.text, true, true), '\n')
		return
	}
	// Without alt=sse the stream is one growing JSON array.
	events := x.r.URL.Query().Get("alt") == "sse"
	end := "]"
	x.border = ",\r\n"
	if events {
		x.kind, x.border, end = "text/event-stream", "\r\n\r\n", "\r\n\r\n"
	} else {
		x.out = append(x.out, '[')
	}
	chunks := pieces(rep.text)
	if len(chunks) == 0 {
		chunks = []string{""}
	}
	for i, piece := range chunks {
		if i > 0 {
			x.out = append(x.out, x.border...)
		}
		chunk := x.generation(nil, id, rep, piece, i == 0, i == len(chunks)-1)
		if events { // the data of an event is one line
			x.out = append(x.out, "data: "...)
			chunk = []byte(compact(string(chunk)))
		}
		x.out = append(x.out, chunk...)
	}
	x.out = append(x.out, end...)
}

// compact removes the layout from JSON of this package, whose strings have no line breaks.
func compact(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		b.WriteString(line)
	}
	return b.String()
}

// generation appends a GenerateContentResponse. The first one of a stream has the thoughts, the
// last one the finish reason and the output tokens.
func (x *exchange) generation(b []byte, id string, rep reply, piece string, first, last bool) []byte {
	finish := googleFinish(rep)
	blocked, shown := x.blocksPrompt(), ""
	if first && x.thinking {
		shown = rep.thinks()
	}
	b = append(b, "{\n"...)
	if blocked {
		b = append(b, "  \"promptFeedback\": {\n    \"blockReason\": \"PROHIBITED_CONTENT\"\n  },\n"...)
	} else {
		b = append(b, "  \"candidates\": [\n    {\n"...)
		switch {
		case finish == "SAFETY": // no content at all
		case piece == "" && shown == "":
			b = append(b, "      \"content\": {\n        \"role\": \"model\"\n      },\n"...)
		default:
			b = append(b, "      \"content\": {\n        \"parts\": [\n"...)
			if shown != "" {
				b = template(b, "          {\n            \"text\": %s,\n            \"thought\": true\n          },\n",
					str(shown))
			}
			if piece != "" {
				b = template(b, "          {\n            \"text\": %s\n          },\n", str(piece))
			}
			b = bytes.TrimSuffix(b, []byte(",\n"))
			b = append(b, "\n        ],\n        \"role\": \"model\"\n      },\n"...)
		}
		if last {
			b = template(b, "      \"finishReason\": %s,\n", str(finish))
		}
		b = append(b, "      \"index\": 0"...)
		if finish == "SAFETY" {
			b = append(b, ",\n      \"safetyRatings\": [\n        {\n          \"category\": \"HARM_CATEGORY_DANGEROUS_CONTENT\",\n          \"probability\": \"HIGH\",\n          \"blocked\": true\n        }\n      ]"...)
		}
		b = append(b, "\n    }\n  ],\n"...)
	}
	b = template(b, "  \"usageMetadata\": {\n    \"promptTokenCount\": %d,\n", num(rep.input))
	candidates := rep.output - rep.reasoning
	if finish == "SAFETY" || blocked {
		candidates = 0
	}
	if candidates > 0 && last {
		b = template(b, "    \"candidatesTokenCount\": %d,\n", num(candidates))
	}
	b = template(b, "    \"totalTokenCount\": %d,\n", num(rep.input+candidates+rep.reasoning))
	if rep.cached > 0 {
		b = template(b, "    \"cachedContentTokenCount\": %d,\n", num(rep.cached))
	}
	b = template(b, "    \"promptTokensDetails\": [\n      {\n        \"modality\": \"TEXT\",\n        \"tokenCount\": %d\n      }\n    ]", num(rep.input))
	if rep.cached > 0 {
		b = template(b, ",\n    \"cacheTokensDetails\": [\n      {\n        \"modality\": \"TEXT\",\n        \"tokenCount\": %d\n      }\n    ]", num(rep.cached))
	}
	if rep.reasoning > 0 {
		b = template(b, ",\n    \"thoughtsTokenCount\": %d", num(rep.reasoning))
	}
	return template(b, "\n  },\n  \"modelVersion\": %s,\n  \"responseId\": \"%v\"\n}", str(x.model.Snapshot), str(id))
}

// blocksPrompt reports whether the prompt itself is blocked.
func (x *exchange) blocksPrompt() bool {
	return x.model.Blocks == BlockPrompt || x.entry != nil && x.entry.Blocks == BlockPrompt
}

func googleFinish(rep reply) string {
	switch rep.finish {
	case finishLength:
		return "MAX_TOKENS"
	case finishRefusal:
		return "SAFETY"
	case finishFilter:
		return "PROHIBITED_CONTENT"
	default:
		return "STOP"
	}
}

// tokens writes the reply of token-counting operations.
func (x *exchange) tokens(rep reply) {
	if x.rt.provider == Google {
		x.kind = googleJSON
		x.out = template(x.out, "{\n  \"totalTokens\": %d,\n  \"promptTokensDetails\": [\n    {\n      \"modality\": \"TEXT\",\n      \"tokenCount\": %d\n    }\n  ]\n}\n", num(rep.input), num(rep.input))
		return
	}
	x.out = template(x.out, `{"input_tokens":%d}`, num(rep.input))
}

// googleError writes an error of Google's APIs.
func (x *exchange) googleError(p problem) {
	x.kind = googleJSON
	status, message, details := "INVALID_ARGUMENT", p.detail, ""
	const service = "generativelanguage.googleapis.com"
	switch p.kind {
	case badJSON:
		message = "Invalid JSON payload received. Unexpected end of string. Expected a value."
	case tooLarge:
		x.status = 400
		message = "Request payload size exceeds the limit: 20971520 bytes."
	case noSuchPath, wrongMethod:
		x.status, x.kind = 404, "text/html; charset=UTF-8"
		x.out = append(x.out, "<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n  <p><b>404.</b> <ins>That's an error.</ins>\n"...)
		return
	case wrongKey: // Google has no 401 for keys
		if p.missing {
			x.status, status = 403, "PERMISSION_DENIED"
			message = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."
			break
		}
		x.status = 400
		message = "API key not valid. Please pass a valid API key."
		details = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"` + service + `"}},` +
			`{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"en-US","message":"API key not valid. Please pass a valid API key."}`
	case unauthorized:
		status = "UNAUTHENTICATED"
		message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
	case noSuchModel:
		status = "NOT_FOUND"
		message = "models/" + x.ask.Model + " is not found for API version v1beta, or is not supported for " +
			x.rt.method() + ". Call ListModels to see the list of available models and their supported methods."
	case noQuota, rateLimited:
		status = "RESOURCE_EXHAUSTED"
		message = "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/rate-limit. "
		id, metric := "GenerateRequestsPerMinutePerProjectPerModel", "generate_content_paid_tier_requests"
		if p.kind == noQuota {
			id, metric = "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "generate_content_free_tier_requests"
			message += "\n* Quota exceeded for metric: " + service + "/" + metric + ", limit: 0, model: " + x.ask.Model
		}
		details = `{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Learn more about Gemini API quotas","url":"https://ai.google.dev/gemini-api/docs/rate-limits"}]},` +
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"` + service + `/` +
			metric + `","quotaId":"` + id + `","quotaDimensions":{"location":"global","model":` +
			string(appendString(nil, x.ask.Model)) + `}}]}`
		if p.kind == rateLimited {
			details += `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` +
				itoa(x.s.retrySeconds()) + `s"}`
		}
	case requestTimeout:
		x.status, status = 504, "DEADLINE_EXCEEDED"
		message = "Deadline expired before operation could complete."
	case conflict:
		status, message = "ABORTED", "The operation was aborted. Please try again."
	case serverError:
		status = "INTERNAL"
		message = "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
	case overloaded:
		status, message = "UNAVAILABLE", "The model is overloaded. Please try again later."
	case unknownParameter:
		where := ""
		if p.detail != "" {
			where = " at '" + p.detail + "'"
		}
		message = "Invalid JSON payload received. Unknown name \"" + p.param + "\"" + where + ": Cannot find field."
		details = `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"` + p.detail +
			`","description":` + string(appendString(nil, message)) + `}]}`
	case unsupportedParameter, unsupportedValue:
		message = "* GenerateContentRequest.generation_config." + snake(p.param) + ": " + snake(p.param) +
			" is not supported for this model.\n"
	case badInput:
		message = "* EmbedContentRequest.content: contents is not specified\n"
	case promptBlocked, missingParameter, noModel:
		message = "Request contains an invalid argument."
	default: // the detail is the message
	}
	x.out = template(x.out, "{\n  \"error\": {\n    \"code\": %d,\n    \"message\": %s,\n    \"status\": %s",
		num(x.status), str(message), str(status))
	if details != "" {
		x.out = append(append(append(x.out, ",\n    \"details\": ["...), details...), ']')
	}
	x.out = append(x.out, "\n  }\n}\n"...)
}

// method is the name of the operation in Google's messages.
func (rt route) method() string {
	switch rt.op {
	case opEmbedContent:
		return "embedContent"
	case opBatchEmbedContents:
		return "batchEmbedContents"
	case opCountTokens:
		return "countTokens"
	default:
		return "generateContent"
	}
}

// snake turns lowerCamel into snake_case.
func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
