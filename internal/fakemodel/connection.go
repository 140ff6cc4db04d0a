package fakemodel

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Protocol is the network protocol of a server.
type Protocol string

// The protocols. With TLS, a client must trust the server's certificate.
const (
	HTTP  Protocol = "http"  // HTTP/1.1
	HTTPS Protocol = "https" // HTTP/1.1 over TLS
	HTTP2 Protocol = "http2" // HTTP/2 over TLS
)

// Protocols returns all of them.
func Protocols() []Protocol { return []Protocol{HTTP, HTTPS, HTTP2} }

// Listening is a server on the network.
type Listening struct {
	// URL is the address, Certificate the certificate that clients must trust, in PEM; empty
	// without TLS.
	URL         string
	Certificate []byte

	server *http.Server
	done   chan error
}

// Listen serves handler, or s if it is nil, at an address such as 127.0.0.1:0 until the caller
// calls Close.
func (s *Server) Listen(ctx context.Context, address string, p Protocol, handler http.Handler) (*Listening, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if handler == nil {
		handler = s
	}
	out := &Listening{URL: "http://" + l.Addr().String(), done: make(chan error, 1)}
	carrier := &listener{Listener: l}
	if p != HTTP {
		cert, err := certificate()
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		out.URL = "https://" + l.Addr().String()
		out.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
		carrier.config = &tls.Config{
			Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"},
			MinVersion: tls.VersionTLS12,
		}
		if p == HTTP2 {
			carrier.config.NextProtos = []string{"h2"}
		}
	}
	out.server = &http.Server{
		Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: s.options.IdleTimeout,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // it would log the faults
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: s.options.MaxStreams},
	}
	// The listener handles TLS itself, so that faults can write their own frames. The server then
	// sees plain HTTP/2.
	out.server.Protocols.SetHTTP1(p != HTTP2)
	out.server.Protocols.SetUnencryptedHTTP2(p == HTTP2)
	go func() { out.done <- out.server.Serve(carrier) }()
	return out, nil
}

// Close drops pending requests.
func (l *Listening) Close() {
	_ = l.server.Close() // Close reports the connections that it drops
	<-l.done             //nolint:errcheck // the error reports that the server is closed
}

// certificate creates a self-signed certificate for this machine.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// listener accepts connections that faults can break.
type listener struct {
	net.Listener
	config *tls.Config // nil without TLS
}

func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: raw, raw: raw}
	if l.config != nil {
		c.Conn = tls.Server(raw, l.config) // the handshake takes place at the first read
	}
	return c, nil
}

type connectionKey struct{}

// connection is a connection of a client. On HTTP/2 it tracks the frame boundaries in the server's
// output.
type connection struct {
	net.Conn
	raw net.Conn

	mu     sync.Mutex
	head   []byte // of an incomplete frame
	left   int    // bytes missing from the frame
	goAway []byte // written when the frame is complete
}

// connectionOf returns the connection of a request, or nil if another server accepted it.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// frameHead is the length of a frame's head, which starts with the length of the payload in three
// bytes.
const frameHead = 9

func (c *connection) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := p; len(rest) > 0; {
		if c.left > 0 {
			n := min(c.left, len(rest))
			c.left, rest = c.left-n, rest[n:]
			continue
		}
		n := min(frameHead-len(c.head), len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
		if len(c.head) == frameHead {
			c.left, c.head = int(c.head[0])<<16|int(c.head[1])<<8|int(c.head[2]), c.head[:0]
		}
	}
	n, err := c.Conn.Write(p)
	if err == nil && c.goAway != nil && c.left == 0 && len(c.head) == 0 {
		c.leave()
	}
	return n, err
}

// sendAway tells the client with the given code that no stream of the connection was or will be
// answered, and closes the connection.
func (c *connection) sendAway(code uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.goAway = binary.BigEndian.AppendUint32(append([]byte{0, 0, 8, 7}, make([]byte, 9)...), code)
	if c.left == 0 && len(c.head) == 0 {
		c.leave()
	}
}

func (c *connection) leave() {
	_, _ = c.Conn.Write(c.goAway)
	c.goAway = nil
	_ = c.Close()
}

// drop closes the connection for all its requests, with a reset or with a normal end.
func (c *connection) drop(reset bool) {
	if tcp, ok := c.raw.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.raw.Close()
}

// isHTTP2 reports whether a request uses HTTP/2.
func isHTTP2(r *http.Request) bool { return strings.HasPrefix(r.Proto, "HTTP/2") }
