package fakemodel

import (
	"net/http"
	"strconv"
	"time"
)

// chatHead, chatRefusal and chatTail are a chat completion in the layout of api.openai.com. They
// are optimized for speed because benchmarks use them.
const (
	chatHead = `{
  "id": "chatcmpl-%v",
  "object": "chat.completion",
  "created": %d,
  "model": %s,
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": `
	chatTail = `,
        "annotations": []
      },
      "logprobs": null,
      "finish_reason": "%v"
    }
  ],
  "usage": `
	chatUsage = `{
    "prompt_tokens": %d,
    "completion_tokens": %d,
    "total_tokens": %d,
    "prompt_tokens_details": {
      "cached_tokens": %d,
      "audio_tokens": 0
    },
    "completion_tokens_details": {
      "reasoning_tokens": %d,
      "audio_tokens": 0,
      "accepted_prediction_tokens": 0,
      "rejected_prediction_tokens": 0
    }
  }`
	chatEnd = `,
  "service_tier": "default",
  "system_fingerprint": %s
}
`
	azureFilters = `{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},` +
		`"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}`
	azureHead = `{"choices":[{"content_filter_results":` + azureFilters +
		`,"finish_reason":"%v","index":0,"logprobs":null,` +
		`"message":{"annotations":[],"content":`
	azureTail = `,"role":"assistant"}}],"created":%d,"id":"chatcmpl-%v","model":%s,"object":"chat.completion",` +
		`"prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + azureFilters + `}],` +
		`"system_fingerprint":%s,"usage":{"completion_tokens":%d,"completion_tokens_details":` +
		`{"accepted_prediction_tokens":0,"audio_tokens":0,"reasoning_tokens":%d,"rejected_prediction_tokens":0},` +
		`"prompt_tokens":%d,"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":%d},"total_tokens":%d}}`
	ollamaChatReply = `{"id":"chatcmpl-%d","object":"chat.completion","created":%d,"model":%s,"system_fingerprint":"fp_ollama",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"%v"}],` +
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}` + "\n"
)

// chat writes a chat completion.
func (x *exchange) chat(rep reply) {
	if x.ask.Stream {
		x.chatStream(rep)
		return
	}
	created, fingerprint, id := x.now.Unix(), x.fingerprint(), x.token(29)
	b := x.out
	switch x.rt.provider {
	case Ollama:
		b = template(b, ollamaChatReply, num64(int64(x.id%1000)), num64(created), str(x.model.Snapshot), str(rep.text),
			str(openAIFinish(rep)), num(rep.input), num(rep.output), num(rep.input+rep.output))
	case Azure:
		b = template(b, azureHead, str(openAIFinish(rep)))
		b = appendSaid(b, rep, `,"refusal":`)
		b = template(b, azureTail, num64(created), str(id), str(x.model.Snapshot), str(fingerprint), num(rep.output),
			num(rep.reasoning), num(rep.input), num(rep.cached), num(rep.input+rep.output))
	default:
		b = template(b, chatHead, str(id), num64(created), str(x.model.Snapshot))
		b = appendSaid(b, rep, ",\n        \"refusal\": ")
		b = template(b, chatTail, str(openAIFinish(rep)))
		b = appendChatUsage(b, rep)
		b = template(b, chatEnd, str(fingerprint))
	}
	x.out = b
}

// appendSaid appends content and refusal: one of them is null.
func appendSaid(b []byte, rep reply, between string) []byte {
	if rep.finish == finishRefusal {
		return appendString(append(append(b, "null"...), between...), rep.text)
	}
	return append(append(appendString(b, rep.text), between...), "null"...)
}

func appendChatUsage(b []byte, rep reply) []byte {
	return template(b, chatUsage, num(rep.input), num(rep.output), num(rep.input+rep.output), num(rep.cached),
		num(rep.reasoning))
}

func openAIFinish(rep reply) string {
	switch rep.finish {
	case finishLength:
		return "length"
	case finishFilter:
		return "content_filter"
	default:
		return "stop"
	}
}

// chatStream writes a chat completion as server-sent events.
func (x *exchange) chatStream(rep reply) {
	x.kind, x.border = "text/event-stream; charset=utf-8", "\n\n"
	head := template(nil, `data: {"id":"chatcmpl-%v","object":"chat.completion.chunk","created":%d,"model":%s,`+
		`"service_tier":"default","system_fingerprint":%s,"choices":[`,
		str(x.token(29)), num64(x.now.Unix()), str(x.model.Snapshot), str(x.fingerprint()))
	usage := "]}\n\n"
	if x.usage {
		usage = `],"usage":null}` + "\n\n"
	}
	chunk := func(delta, finish string) {
		x.out = append(append(x.out, head...), `{"index":0,"delta":{`...)
		x.out = append(append(append(x.out, delta...), `},"logprobs":null,"finish_reason":`...), finish...)
		x.out = append(append(x.out, '}'), usage...)
	}
	field := "content"
	if rep.finish == finishRefusal {
		field = "refusal"
	}
	chunk(`"role":"assistant","content":"","refusal":null`, "null")
	for _, piece := range pieces(rep.text) {
		chunk(string(template(nil, `"%v":%s`, str(field), str(piece))), "null")
	}
	chunk("", `"`+openAIFinish(rep)+`"`)
	if x.usage {
		x.out = append(append(x.out, head...), `],"usage":`...)
		x.out = template(x.out, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":`+
			`{"cached_tokens":%d%v,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":0,`+
			`"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`+"\n\n",
			num(rep.input), num(rep.output), num(rep.input+rep.output), num(rep.cached), rep.writes(),
			num(rep.reasoning))
	}
	x.out = append(x.out, "data: [DONE]\n\n"...)
}

// fingerprint is the system fingerprint of the model.
func (x *exchange) fingerprint() string {
	if x.model.Fingerprint != "" {
		return x.model.Fingerprint
	}
	return "fp_" + hex(hashText(x.model.Snapshot))[:10]
}

// token returns n letters and digits that are unique on the server with high probability.
func (x *exchange) token(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	h := uint64(0)
	for i := range b {
		if i%10 == 0 {
			h = mix(x.s.options.Seed, x.id, uint64(i)+uint64(n)<<8)
		}
		b[i] = letters[h%uint64(len(letters))]
		h /= uint64(len(letters))
	}
	return string(b)
}

// hexToken is token in hexadecimal digits.
func (x *exchange) hexToken(n int) string {
	b := make([]byte, 0, n+16)
	for i := uint64(1); len(b) < n; i++ {
		b = append(b, hex(mix(x.s.options.Seed, x.id, i<<32))...)
	}
	return string(b[:n])
}

// providerHeaders sets the headers that all replies of the provider have.
func (x *exchange) providerHeaders(h http.Header) {
	switch x.rt.provider {
	case OpenAI:
		h["X-Request-Id"] = []string{"req_" + x.hexToken(32)}
		h["Openai-Organization"] = x.s.fixed.organization
		h["Openai-Version"] = x.s.fixed.version
		h["Openai-Processing-Ms"] = []string{strconv.FormatInt(time.Since(x.now).Milliseconds(), 10)}
		x.limitHeaders(h)
	case Azure:
		h["Apim-Request-Id"] = []string{x.uuid()}
		h["X-Request-Id"] = []string{x.uuid()}
		h["X-Ms-Region"] = []string{"East US"}
		x.limitHeaders(h)
	case Anthropic:
		x.anthropicHeaders(h)
	case Google:
		h["Server"] = []string{"scaffolding on HTTPServer2"}
		h["Server-Timing"] = []string{"gfet4t7; dur=" + strconv.FormatInt(time.Since(x.now).Milliseconds(), 10)}
		h["Vary"] = []string{"Origin", "X-Origin", "Referer"}
	default: // Ollama has none
	}
}

// fixedHeaders are values that all replies share to save time in benchmarks. They never change.
type fixedHeaders struct {
	organization, version, tokens, tokensLeft, tokensReset, requests, requestsLeft, requestsReset []string
}

func newFixedHeaders() fixedHeaders {
	return fixedHeaders{
		organization: []string{"plumb-fake"}, version: []string{"2020-10-01"},
		tokens: []string{"150000000"}, tokensLeft: []string{"149999000"}, tokensReset: []string{"0s"},
		requests: []string{"30000"}, requestsLeft: []string{"29999"}, requestsReset: []string{"2ms"},
	}
}

// uuid is the id of the request in Microsoft's form.
func (x *exchange) uuid() string {
	t := x.hexToken(32)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

// limits returns the requests allowed per minute, and the remaining number.
func (x *exchange) limits() (limit, left int) {
	limit = x.s.options.RatePerMinute
	if limit <= 0 {
		return 30000, 29999
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return limit, int(x.s.bucket.tokens)
}

func (x *exchange) limitHeaders(h http.Header) {
	f := &x.s.fixed
	h["X-Ratelimit-Limit-Tokens"], h["X-Ratelimit-Remaining-Tokens"], h["X-Ratelimit-Reset-Tokens"] = f.tokens,
		f.tokensLeft, f.tokensReset
	if x.s.options.RatePerMinute <= 0 {
		h["X-Ratelimit-Limit-Requests"], h["X-Ratelimit-Remaining-Requests"],
			h["X-Ratelimit-Reset-Requests"] = f.requests, f.requestsLeft, f.requestsReset
		return
	}
	limit, left := x.limits()
	h["X-Ratelimit-Limit-Requests"] = []string{strconv.Itoa(limit)}
	h["X-Ratelimit-Remaining-Requests"] = []string{strconv.Itoa(left)}
	h["X-Ratelimit-Reset-Requests"] = []string{strconv.Itoa((limit-left)*60000/limit) + "ms"}
}

// openAIError writes an error of api.openai.com.
func (x *exchange) openAIError(p problem) {
	message, kind, code, param := x.openAIWords(p)
	null := func(s string) arg {
		if s == "" {
			return str("null")
		}
		return str(string(appendString(nil, s)))
	}
	x.out = template(x.out, "{\n  \"error\": {\n    \"message\": %s,\n    \"type\": %s,\n    \"param\": %v,\n    \"code\": %v\n  }\n}",
		str(message), str(kind), null(param), null(code))
}

// openAIWords returns the parts of an error in OpenAI's wording.
func (x *exchange) openAIWords(p problem) (message, kind, code, param string) {
	kind = "invalid_request_error"
	model := x.ask.Model
	switch p.kind {
	case badJSON:
		message = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)"
	case tooLarge:
		message = "Request body is too large."
	case noSuchPath:
		message = "Invalid URL (" + x.r.Method + " " + x.r.URL.Path + ")"
	case wrongMethod:
		message = "Not allowed to " + x.r.Method + " on " + x.r.URL.Path +
			". (HINT: Perhaps you meant to use a different HTTP method?)"
		code = "method_not_supported"
	case wrongKey, unauthorized:
		if p.missing {
			message = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys."
			break
		}
		message = "Incorrect API key provided: " + maskKey(p.detail) +
			". You can find your API key at https://platform.openai.com/account/api-keys."
		code = "invalid_api_key"
	case noSuchModel:
		message, code = "The model `"+model+"` does not exist or you do not have access to it.", "model_not_found"
		if x.rt.op == opResponses {
			message, param = "The requested model '"+model+"' does not exist.", "model"
		}
	case noQuota:
		message = "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
		kind, code = "insufficient_quota", "insufficient_quota"
	case rateLimited:
		limit, _ := x.limits()
		message = "Rate limit reached for " + model + " in organization org-fake on requests per min (RPM): Limit " +
			itoa(limit) +
			", Used " + itoa(limit) + ", Requested 1. Please try again in " + x.s.options.RetryAfter.String() +
			". Visit https://platform.openai.com/account/rate-limits to learn more."
		kind, code = "requests", "rate_limit_exceeded"
	case requestTimeout:
		message, kind = "Request timed out.", "timeout"
	case conflict:
		message, kind, code = "The resource is being modified by another request. Please try again.", "conflict_error",
			"conflict"
	case serverError:
		message, kind = "The server had an error while processing your request. Sorry about that!", "server_error"
	case overloaded:
		message, kind = "The engine is currently overloaded, please try again later.", "server_error"
		code = "server_is_overloaded"
	case noModel:
		message = "you must provide a model parameter"
	case missingParameter:
		message, code, param = "Missing required parameter: '"+p.param+"'.", "missing_required_parameter", p.param
	case emptyArray:
		message = "Invalid '" + p.param +
			"': empty array. Expected an array with minimum length 1, but got an empty array instead."
		code, param = "empty_array", p.param
	case badRole:
		message = "Invalid value: '" + p.detail +
			"'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
		code, param = "invalid_value", p.param
	case badInput:
		message = "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
	case unrecognized:
		message = "Unrecognized request argument supplied: " + p.param
	case unknownParameter:
		message, code, param = "Unknown parameter: '"+p.param+"'.", "unknown_parameter", p.param
	case unsupportedParameter:
		message, param = "Unsupported parameter: '"+p.param+"' is not supported with this model.", p.param
		if p.param == "max_tokens" {
			message += " Use 'max_completion_tokens' instead."
		}
		if x.rt.op != opResponses {
			code = "unsupported_parameter"
		}
	case unsupportedValue:
		message = "Unsupported value: '" + p.param + "' does not support " + p.detail +
			" with this model. Only the default (1) value is supported."
		code, param = "unsupported_value", p.param
	case promptBlocked:
		message = "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting"
		code = "invalid_prompt"
	default:
		message = p.detail
	}
	return message, kind, code, param
}

// maskKey hides a key as OpenAI's errors do.
func maskKey(key string) string {
	if len(key) <= 12 {
		return key[:min(4, len(key))] + "****"
	}
	return key[:8] + "********" + key[len(key)-4:]
}

// azureError writes an error of Azure's gateway if it has its own, or of OpenAI.
func (x *exchange) azureError(p problem) {
	short := func(code, message string) {
		x.out = template(x.out, `{"error":{"code":%s,"message":%s}}`, str(code), str(message))
	}
	switch p.kind {
	case wrongKey, unauthorized:
		short("401", "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.")
	case noSuchModel:
		short("DeploymentNotFound", "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.")
	case noSuchPath:
		short("404", "Resource not found")
	case rateLimited, noQuota:
		short("429", "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after "+
			itoa(x.s.retrySeconds())+" seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.")
	case promptBlocked:
		x.out = append(x.out, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":true,"detected":true},"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}}}}`...)
	default:
		x.openAIError(p)
	}
}
