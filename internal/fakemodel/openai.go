package fakemodel

import (
	"cmp"
	"net/http"
	"strconv"
	"time"
)

// The chat completions, in the layouts of api.openai.com, Azure and Ollama.
const (
	chatReply = `{
  "id": "chatcmpl-%v",
  "object": "chat.completion",
  "created": %d,
  "model": %s,
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": %v,
        "refusal": %v,
        "annotations": []
      },
      "logprobs": null,
      "finish_reason": "%v"
    }
  ],
  "usage": {
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
  },
  "service_tier": "default",
  "system_fingerprint": %s
}
`
	azureFilters = `{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},` +
		`"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}`
	azureReply = `{"choices":[{"content_filter_results":` + azureFilters +
		`,"finish_reason":"%v","index":0,"logprobs":null,` +
		`"message":{"annotations":[],"content":%v,"refusal":%v,"role":"assistant"}}],` +
		`"created":%d,"id":"chatcmpl-%v","model":%s,"object":"chat.completion",` +
		`"prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + azureFilters + `}],` +
		`"system_fingerprint":%s,"usage":{"completion_tokens":%d,"completion_tokens_details":` +
		`{"accepted_prediction_tokens":0,"audio_tokens":0,"reasoning_tokens":%d,"rejected_prediction_tokens":0},` +
		`"prompt_tokens":%d,"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":%d},"total_tokens":%d}}`
	ollamaReply = `{"id":"chatcmpl-%d","object":"chat.completion","created":%d,"model":%s,` +
		`"system_fingerprint":"fp_ollama",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"%v"}],` +
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}` + "\n"
)

// chat writes a chat completion.
func (x *exchange) chat(rep reply) {
	created, model, total := x.now.Unix(), x.model.Snapshot, rep.input+rep.output
	finish, content, refusal := "stop", quote(rep.text), "null"
	switch rep.finish {
	case finishLength:
		finish = "length"
	case finishFilter:
		finish = "content_filter"
	case finishRefusal:
		content, refusal = refusal, content
	}
	switch x.rt.provider {
	case Ollama:
		x.out = template(x.out, ollamaReply, int(x.id%1000), created, model, rep.text, finish, rep.input, rep.output,
			total)
	case Azure:
		x.out = template(x.out, azureReply, finish, content, refusal, created, x.token(29), model, x.fingerprint(),
			rep.output, rep.reasoning, rep.input, rep.cached, total)
	default:
		x.out = template(x.out, chatReply, x.token(29), created, model, content, refusal, finish, rep.input, rep.output,
			total, rep.cached, rep.reasoning, x.fingerprint())
	}
}

// fingerprint is the system fingerprint of the model.
func (x *exchange) fingerprint() string {
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

// uuid is the id of the request in Microsoft's form.
func (x *exchange) uuid() string {
	t := x.hexToken(32)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

// providerHeaders sets the headers that all replies of the provider have.
func (x *exchange) providerHeaders(h http.Header) {
	elapsed := strconv.FormatInt(time.Since(x.now).Milliseconds(), 10)
	switch x.rt.provider {
	case OpenAI:
		h["X-Request-Id"] = []string{"req_" + x.hexToken(32)}
		h["Openai-Organization"] = []string{"plumb-fake"}
		h["Openai-Version"] = []string{"2020-10-01"}
		h["Openai-Processing-Ms"] = []string{elapsed}
		x.limitHeaders(h)
	case Azure:
		id := []string{x.uuid()}
		h["Apim-Request-Id"], h["X-Request-Id"] = id, id
		h["X-Ms-Region"] = []string{"East US"}
		x.limitHeaders(h)
	case Anthropic:
		x.anthropicHeaders(h)
	case Google:
		h["Server"] = []string{"scaffolding on HTTPServer2"}
		h["Server-Timing"] = []string{"gfet4t7; dur=" + elapsed}
		h["Vary"] = []string{"Origin", "X-Origin", "Referer"}
	default: // Ollama has none
	}
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
	limit, left := x.limits()
	h["X-Ratelimit-Limit-Requests"] = []string{strconv.Itoa(limit)}
	h["X-Ratelimit-Remaining-Requests"] = []string{strconv.Itoa(left)}
	h["X-Ratelimit-Reset-Requests"] = []string{strconv.Itoa((limit-left)*60000/limit) + "ms"}
	h["X-Ratelimit-Limit-Tokens"] = []string{"150000000"}
	h["X-Ratelimit-Remaining-Tokens"] = []string{"149999000"}
	h["X-Ratelimit-Reset-Tokens"] = []string{"0s"}
}

// openAIErrors are the errors of api.openai.com.
var openAIErrors = map[problemKind]wording{
	badJSON: {message: "We could not parse the JSON body of your request. (HINT: This likely means you aren't " +
		"using your " +
		"HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If " +
		"you have " +
		"trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)"},
	tooLarge:   {message: "Request body is too large."},
	noSuchPath: {message: "Invalid URL ({method} {path})"},
	wrongMethod: {
		message: "Not allowed to {method} on {path}. (HINT: Perhaps you meant to use a different HTTP method?)",
		code:    "method_not_supported",
	},
	noKey: {message: "You didn't provide an API key. You need to provide your API key in an Authorization header " +
		"using " +
		"Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're " +
		"accessing the API from your browser and are prompted for a username and password. You can obtain an API key " +
		"from https://platform.openai.com/account/api-keys."},
	wrongKey: {
		message: "Incorrect API key provided: {key}. " +
			"You can find your API key at https://platform.openai.com/account/api-keys.",
		code: "invalid_api_key",
	},
	noSuchModel: {
		message: "The model `{model}` does not exist or you do not have access to it.", code: "model_not_found",
	},
	noQuota: {
		message: "You exceeded your current quota, please check your plan and billing details. For more " +
			"information on " +
			"this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
		kind: "insufficient_quota", code: "insufficient_quota",
	},
	rateLimited: {
		message: "Rate limit reached for {model} in organization org-fake on requests per min (RPM): Limit {limit}, " +
			"Used {limit}, Requested 1. Please try again in {wait}. " +
			"Visit https://platform.openai.com/account/rate-limits to learn more.",
		kind: "requests", code: "rate_limit_exceeded",
	},
	requestTimeout: {message: "Request timed out.", kind: "timeout"},
	conflict: {
		message: "The resource is being modified by another request. Please try again.",
		kind:    "conflict_error", code: "conflict",
	},
	serverError: {
		message: "The server had an error while processing your request. Sorry about that!", kind: "server_error",
	},
	overloaded: {
		message: "The engine is currently overloaded, please try again later.",
		kind:    "server_error", code: "server_is_overloaded",
	},
	noModel:          {message: "you must provide a model parameter"},
	missingParameter: {message: "Missing required parameter: '{param}'.", code: "missing_required_parameter"},
	emptyArray: {
		message: "Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array " +
			"instead.",
		code: "empty_array",
	},
	badRole: {
		message: "Invalid value: '{detail}'. " +
			"Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
		code: "invalid_value",
	},
	badInput: {
		message: "'$.input' is invalid. Please check the API reference: " +
			"https://platform.openai.com/docs/api-reference.",
	},
	unrecognized:     {message: "Unrecognized request argument supplied: {param}"},
	unknownParameter: {message: "Unknown parameter: '{param}'.", code: "unknown_parameter"},
	unsupportedParameter: {
		message: "Unsupported parameter: '{param}' is not supported with this model.", code: "unsupported_parameter",
	},
	unsupportedValue: {
		message: "Unsupported value: '{param}' does not support {detail} with this model. " +
			"Only the default (1) value is supported.",
		code: "unsupported_value",
	},
	promptBlocked: {
		message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try " +
			"again " +
			"with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
		code: "invalid_prompt",
	},
}

const openAIErrorBody = `{
  "error": {
    "message": %s,
    "type": %s,
    "param": %v,
    "code": %v
  }
}`

// openAIError writes an error of api.openai.com.
func (x *exchange) openAIError(p problem) {
	w := x.words(openAIErrors, p)
	switch {
	case p.kind == unrecognized:
		p.param = ""
	case p.kind == noSuchModel && x.rt.op == opResponses:
		w.message, p.param = "The requested model '"+x.ask.Model+"' does not exist.", "model"
	case p.kind == unsupportedParameter && p.param == "max_tokens":
		w.message += " Use 'max_completion_tokens' instead."
	case p.kind == unsupportedParameter && x.rt.op == opResponses:
		w.code = ""
	}
	x.out = template(x.out, openAIErrorBody, w.message, openAIKind(w), quoteOrNull(p.param), quoteOrNull(w.code))
}

func openAIKind(w wording) string { return cmp.Or(w.kind, "invalid_request_error") }

func quoteOrNull(s string) string {
	if s == "" {
		return "null"
	}
	return quote(s)
}

// azureErrors are the errors of Azure's gateway. For all others it passes on those of OpenAI.
var azureErrors = map[problemKind]wording{
	wrongKey: {code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint. Make " +
		"sure to " +
		"provide a valid key for an active subscription and use a correct regional API endpoint for your resource."},
	noSuchModel: {code: "DeploymentNotFound", message: "The API deployment for this resource does not exist. If you " +
		"created the deployment within the last 5 minutes, please wait a moment and try again."},
	noSuchPath: {code: "404", message: "Resource not found"},
	rateLimited: {code: "429", message: "Requests to the ChatCompletions_Create Operation under Azure OpenAI API " +
		"version " +
		"2024-10-21 have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after " +
		"{seconds} " +
		"seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default " +
		"rate limit."},
}

const azureBlocked = `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's ` +
	`content management policy. Please modify your prompt and retry. To learn more about our content filtering ` +
	`policies ` +
	`please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766","type":null,"param":"prompt",` +
	`"code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation",` +
	`"content_filter_result":` +
	`{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":true,"detected":true},` +
	`"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},` +
	`"violence":{"filtered":false,"severity":"safe"}}}}}`

// azureError writes an error of Azure.
func (x *exchange) azureError(p problem) {
	switch p.kind {
	case noKey, unauthorized:
		p.kind = wrongKey
	case noQuota:
		p.kind = rateLimited
	case promptBlocked:
		x.out = append(x.out, azureBlocked...)
		return
	}
	if _, ok := azureErrors[p.kind]; !ok {
		x.openAIError(p)
		return
	}
	w := x.words(azureErrors, p)
	x.out = template(x.out, `{"error":{"code":%s,"message":%s}}`, w.code, w.message)
}

// ollamaErrors are the errors of Ollama's OpenAI-compatible API that differ from those of OpenAI.
var ollamaErrors = map[problemKind]wording{
	noSuchModel:      {message: "model '{model}' not found", kind: "not_found_error"},
	rateLimited:      {status: 503, message: ollamaBusy, kind: "api_error"},
	overloaded:       {status: 503, message: ollamaBusy, kind: "api_error"},
	serverError:      {message: "llama runner process has terminated: exit status 2", kind: "api_error"},
	missingParameter: {message: "{param} is required"},
}

const ollamaBusy = "server busy, please try again.  maximum pending requests exceeded"

// ollamaError writes an error of Ollama.
func (x *exchange) ollamaError(p problem) {
	if p.kind == noSuchPath {
		x.kind = "text/plain"
		x.out = append(x.out, "404 page not found"...)
		return
	}
	table := ollamaErrors
	if _, ok := table[p.kind]; !ok {
		table = openAIErrors
	}
	w := x.words(table, p)
	x.out = template(x.out, `{"error":{"message":%s,"type":%s,"param":null,"code":%v}}`+"\n",
		w.message, openAIKind(w), quoteOrNull(w.code))
}
