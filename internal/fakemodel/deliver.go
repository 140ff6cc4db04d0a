package fakemodel

import (
	"bytes"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb/internal/wire"
)

// rejections are the faults that are problems of a request.
func rejections() map[Fault]problem {
	return map[Fault]problem{
		FaultRateSeconds: {kind: rateLimited}, FaultRateDate: {kind: rateLimited, date: true},
		FaultTimeout: {kind: requestTimeout}, FaultConflict: {kind: conflict}, FaultServer: {kind: serverError},
		FaultGateway: {kind: badGateway}, FaultOverloaded: {kind: overloaded}, FaultNoModel: {kind: noSuchModel},
		FaultUnauthorized: {kind: unauthorized}, FaultNoQuota: {kind: noQuota},
	}
}

// deliver sends the reply, or breaks it as the fault says.
func (x *exchange) deliver(fault Fault) {
	if fault == "" {
		x.send()
		return
	}
	if p, ok := rejections()[fault]; ok {
		x.fail(p)
		return
	}
	switch fault {
	case FaultClosing:
		x.w.Header().Set("Connection", "close")
		x.send()
	case FaultRefused:
		x.refuseOne()
	case FaultWrongKey:
		x.fail(*x.keyProblem(""))
	case FaultHTML:
		x.out, x.proxied = wire.Reply{ContentType: "text/html; charset=UTF-8", Body: []byte(htmlPage)}, true
		x.send()
	case FaultEmpty:
		x.out.Body, x.out.Border = nil, ""
		x.send()
	case FaultMalformed:
		x.out.Body = append(x.out.Body[:len(x.out.Body)*2/3], "\x00<garbled>"...)
		x.send()
	default:
		if slices.Contains(HostileReplies(), fault) {
			x.hostile(fault)
			return
		}
		x.breakOff(fault)
	}
}

// htmlPage is the page that a proxy or a captive portal sends instead of an API's reply.
const htmlPage = "<!DOCTYPE html>\n<html lang=\"en-US\"><head><title>Just a moment...</title></head>" +
	"<body><h1>Checking if the site connection is secure</h1></body></html>\n"

// refuseOne rejects one of the optional parameters, always the same one.
func (x *exchange) refuseOne() {
	optional := x.optional()
	if len(optional) == 0 { // only if a table entry requests the fault
		x.fail(problem{detail: "Invalid request."})
		return
	}
	p := optional[mix(x.s.options.Seed, hashText(x.prompt), 5)%uint64(len(optional))]
	x.fail(problem{kind: unsupportedParameter, param: p.Name})
}

// send sends the reply: all at once, or event by event.
func (x *exchange) send() {
	x.header(x.length())
	if x.out.Border == "" {
		_, _ = x.w.Write(x.out.Body) // the error means that the client left
		return
	}
	for event := range bytes.SplitAfterSeq(x.out.Body, []byte(x.out.Border)) {
		if !x.write(event) {
			return
		}
	}
}

// header sends the head of a reply. A negative length means chunked encoding.
func (x *exchange) header(length int) {
	x.s.countStatus(x.status)
	h := x.w.Header()
	h["Content-Type"] = []string{x.out.ContentType}
	if length >= 0 {
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	if !x.proxied {
		x.providerHeaders(h)
	}
	x.w.WriteHeader(x.status)
}

func (s *Server) countStatus(status int) {
	s.mu.Lock()
	s.stats.Statuses[status]++
	s.mu.Unlock()
}

// write sends b at once, and reports whether the client is still there.
func (x *exchange) write(b []byte) bool {
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(x.w).Flush() == nil
}

// breakOff serves the faults below HTTP. The panic makes net/http end the connection abnormally.
func (x *exchange) breakOff(fault Fault) {
	half := x.out.Body[:len(x.out.Body)/2]
	switch fault {
	case FaultReset:
		x.s.countStatus(0)
		x.reset()
	case FaultHang:
		x.s.countStatus(0)
		x.silence()
	case FaultStall:
		x.header(x.length())
		x.write(half)
		x.silence()
	case FaultSlow:
		x.dribble()
		return
	case FaultDrip:
		x.header(-1)
		x.drip()
	case FaultDropped:
		x.s.countStatus(0)
		x.drop(false)
	case FaultGoAway:
		x.s.countStatus(0)
		x.sendAway()
	case FaultCut:
		x.header(x.length())
		x.write(half)
		x.drop(true)
	case FaultTruncated:
		x.header(x.length())
		x.write(half)
	default: // FaultAborted
		x.header(-1)
		x.write(half)
	}
	panic(http.ErrAbortHandler)
}

// length is the announced length: that of the body, or unknown for a stream.
func (x *exchange) length() int {
	if x.out.Border != "" {
		return -1
	}
	return len(x.out.Body)
}

// reset closes the connection so that the client receives a reset instead of an end.
func (x *exchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return // HTTP/2: the panic that follows resets the stream
	}
	raw := conn
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		raw = t.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = raw.Close()
}

// drop closes the connection.
func (x *exchange) drop(reset bool) {
	if c := connectionOf(x.r); c != nil {
		c.drop(reset)
	} else {
		x.reset()
	}
}

// sendAway sends GOAWAY with NO_ERROR, INTERNAL_ERROR or ENHANCE_YOUR_CALM. HTTP/1.1 has no
// equivalent.
func (x *exchange) sendAway() {
	c := connectionOf(x.r)
	if c == nil || !isHTTP2(x.r) {
		x.drop(false)
		return
	}
	c.sendAway([...]uint32{0x0, 0x2, 0xb}[x.id%3])
}

// drip writes white space until the client gives up, or HangFor has passed.
func (x *exchange) drip() {
	const each = 20 * time.Millisecond
	limit := x.s.options.Faults.HangFor
	for began := time.Now(); limit <= 0 || time.Since(began) < limit; {
		select {
		case <-x.s.released:
			return
		default:
		}
		if !x.write([]byte(" ")) || !x.pause(each) {
			return
		}
	}
}

// silence waits until the client gives up, or HangFor has passed.
func (x *exchange) silence() {
	limit := x.s.options.Faults.HangFor
	if limit <= 0 {
		select {
		case <-x.r.Context().Done():
		case <-x.s.released:
		}
		return
	}
	x.pause(limit)
}

// dribble sends the right reply in small pieces.
func (x *exchange) dribble() {
	whole := x.s.options.Faults.SlowFor
	if whole <= 0 {
		whole = 300 * time.Millisecond
	}
	x.header(x.length())
	const pieces = 20
	size := len(x.out.Body)/pieces + 1
	for rest := x.out.Body; len(rest) > 0; {
		n := min(size, len(rest))
		if !x.write(rest[:n]) || !x.pause(whole/pieces) {
			return
		}
		rest = rest[n:]
	}
}
