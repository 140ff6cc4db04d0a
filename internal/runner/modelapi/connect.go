package modelapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// probeLimit bounds the question whether a server expects HTTPS.
const probeLimit = 3 * time.Second

// errExpectsTLS is the error of a plain HTTP request to a server that expects HTTPS.
var errExpectsTLS = errors.New("the server expects HTTPS, but the base URL says http://")

// proxyError is the rejection of a connection by a proxy.
type proxyError struct{ status string }

func (e *proxyError) Error() string { return e.status }

// isPermanent reports whether a network error comes from the configuration.
func isPermanent(err error) bool {
	return isCertificate(err) || wrongScheme(err) != "" || rejectedByProxy(err)
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// unknownCA reports whether a certificate is of an authority that the system does not trust.
func unknownCA(err error) bool {
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

// wrongScheme returns the scheme that the server expects if the request had the other one, or "".
func wrongScheme(err error) string {
	if errors.Is(err, errExpectsTLS) {
		return "https"
	}
	_, record := errors.AsType[tls.RecordHeaderError](err)
	if record || strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		return "http"
	}
	return ""
}

func rejectedByProxy(err error) bool {
	_, ok := errors.AsType[*proxyError](err)
	return ok
}

// ofProxy returns the error of the connection to a proxy, or nil for any other error.
func ofProxy(err error) error {
	if e, ok := errors.AsType[*proxyError](err); ok {
		return e
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return op.Err
	}
	return nil
}

// connectionText describes a network error.
func connectionText(err error) string {
	switch scheme, proxy := wrongScheme(err), ofProxy(err); {
	case proxy != nil:
		return "the proxy refused the connection: " + proxy.Error()
	case scheme == "http":
		return "the server answers in plain HTTP, but the base URL says https://"
	default:
		return err.Error()
	}
}

// connectionHint says what to do about a network error.
func (t *target) connectionHint(p *problem) string {
	switch scheme := wrongScheme(p.err); {
	case ofProxy(p.err) != nil:
		return "check " + strings.ToUpper(t.base.Scheme) + "_PROXY, or add " + t.base.Hostname() + " to NO_PROXY"
	case scheme != "":
		fixed := *t.base
		fixed.Scheme = scheme
		return "use " + fixed.String() + t.addressSetting()
	case unknownCA(p.err):
		return "set SSL_CERT_FILE to a PEM file with the CA of the server (on macOS and Windows, add the CA to the " +
			"trusted certificates), or " + t.addressHint()
	case p.unreachable() && t.provider.Start != "":
		return "start the server (" + t.provider.Start + "), or " + t.addressHint()
	case isPermanent(p.err), p.unreachable():
		return t.addressHint()
	}
	return "check the network and the proxy settings"
}

// misses reports whether a plain HTTP request broke off, so that its server may expect HTTPS.
func misses(u *url.URL, p *problem) bool {
	return p != nil && p.kind == network && u.Scheme == "http" && !p.unreachable() && !isPermanent(p.err)
}

// expectsTLS asks the server of u whether it has HTTPS. The request has neither a key nor a prompt.
func (t *Transport) expectsTLS(ctx context.Context, u *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req := &http.Request{
		Method: http.MethodHead, URL: &url.URL{Scheme: "https", Host: u.Host, Path: "/"}, Host: u.Host,
		Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	res, err := t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return isCertificate(err)
	}
	_ = res.Body.Close() // the body of a HEAD request is empty
	return true
}

// rejectsPlainHTTP recognizes the reply of a server that got plain HTTP where it expects HTTPS.
func rejectsPlainHTTP(p *problem) bool {
	return p.kind == refusedByAPI && p.status == http.StatusBadRequest &&
		strings.Contains(p.api.message, "HTTP request") && strings.Contains(p.api.message, "HTTPS ")
}
