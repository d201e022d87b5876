package live

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// check returns every fault of the configuration, by the names of its fields
// as the command spells them. It never shows the key.
func (c Config) check() error {
	var faults []error
	want := func(ok bool, field string, value any, allowed string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s = %v, want %s", field, value, allowed))
		}
	}
	want(len(c.BaseURLs) > 0, "base-url", "nothing", "at least one, as in http://127.0.0.1:8000/v1")
	for _, base := range c.BaseURLs {
		faults = append(faults, c.checkBase(base))
	}
	want(c.Model != "", "model", "nothing", "the model's name on the server")
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, errors.New("the key holds a character that no header may, want printable ASCII without spaces: is there a line end at its end?"))
	}
	s := c.Sampling
	want(s.Temperature >= 0 && s.Temperature <= math.MaxFloat64, "temperature", s.Temperature, "a number of at least 0")
	want(s.TopP > 0 && s.TopP <= 1, "top-p", s.TopP, "(0, 1]")
	want(s.TopK >= 0, "top-k", s.TopK, "at least 0, where 0 keeps every token")
	want(s.MaxTokens >= 1, "max-tokens", s.MaxTokens, "at least 1")
	for _, stop := range s.Stop {
		want(stop != "", "stop", `""`, "a text")
	}
	want(c.Concurrency >= 1, "concurrency", c.Concurrency, "at least 1")
	want(c.Timeout > 0, "timeout", c.Timeout, "more than 0")
	want(c.Retries >= 0, "retries", c.Retries, "at least 0")
	want(c.Backoff >= 0, "backoff", c.Backoff, "at least 0")
	want(c.MaxFailures >= 1, "max-failures", c.MaxFailures, "at least 1")
	return errors.Join(faults...)
}

// checkBase returns what is wrong with a base URL. Errors name it without the
// password it may hold.
func (c Config) checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return errors.New("base-url is no URL, want one as in http://127.0.0.1:8000/v1") // the parser's error shows all of it
	}
	_, portErr := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16)
	switch {
	case u.User != nil:
		u.User = nil // either part may be a key
		return fmt.Errorf("base-url = %s, want no user and no password in it: a key goes into the Authorization header", u)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("base-url = %s, want http:// or https:// and a host, as in http://127.0.0.1:8000/v1", base)
	case portErr != nil:
		return fmt.Errorf("base-url = %s, want a port of at most 65535", base)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("base-url = %s, want neither ? nor #", base[:strings.IndexAny(base, "?#")]+"...")
	case c.Key != "" && u.Scheme == "http" && !loopback(u.Hostname()) && !c.Insecure:
		return fmt.Errorf("base-url = %s, want https, or a host on loopback, for a request that carries a key: over plain http everybody on the way reads it\nhint: --insecure sends it all the same", base)
	}
	return nil
}

// loopback says whether a host is this machine by its very name; what a name
// resolves to may change.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
