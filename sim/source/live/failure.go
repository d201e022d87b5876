package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A failure is a request that brought nothing.
type failure struct {
	text   string        // without the key
	server *server       // that was asked
	wish   time.Duration // not to be asked again before, says the server
	again  bool          // to be sent at once without a field
	final  bool          // not to be sent again
}

func (f *failure) Error() string { return f.text }

// fail returns the failure of a server, to be tried again.
func (c *Client) fail(base, text string) *failure {
	return &failure{text: c.show(base + ": " + text)}
}

// judge returns the failure that an error or a status other than 200 is.
func (c *Client) judge(ctx context.Context, base string, r request, res *http.Response, body []byte, err error) *failure {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return c.fail(base, fmt.Sprintf("no answer within %v (--timeout)", c.config.Timeout))
	case err != nil:
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which base says
		}
		return c.fail(base, err.Error())
	}
	f := c.fail(base, fmt.Sprintf("%d %s: %s", res.StatusCode, http.StatusText(res.StatusCode), complaint(body)))
	switch status := res.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		f.wish = retryAfter(res.Header.Get("Retry-After"), time.Now())
	case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
		f.again = c.leaveOut(c.refusable(r, complaint(body)))
		f.final = !f.again
	default:
		f.final = true
		if status >= 300 && status < 400 {
			f.text = c.show(fmt.Sprintf("%s: redirects to %s: give the base URL that is meant", base, res.Header.Get("Location")))
		}
		switch status {
		case http.StatusNotFound:
			f.text += "\nhint: base URLs of the protocol often end in /v1; check --model too"
		case http.StatusUnauthorized, http.StatusForbidden:
			f.text += "\nhint: the key comes from the environment variable that --api-key-env names"
		}
	}
	return f
}

// leaveOut leaves a field out of further requests, unless it is "".
func (c *Client) leaveOut(field string) bool {
	if field == "" {
		return false
	}
	c.mu.Lock()
	if field == "n" {
		c.single = true
	}
	refused := maps.Clone(c.common.refused)
	refused[field] = true
	c.common = c.newCommon(refused)
	c.mu.Unlock()
	text := "the server refuses " + field + ": it is not sent any more"
	switch _, isNeutral := neutral[field]; {
	case field == "n":
		text = "the server refuses n: every completion is a request of its own"
	case isNeutral:
		text += ", and what the server has for a default holds"
	}
	c.say(true, text)
	return true
}

// retryAfter reads seconds (RFC 9110 has whole ones, servers send fractions
// too) or a date. What it cannot read is no wish.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(header, 64); err == nil && s >= 0 {
		return time.Duration(min(s, 1e9) * float64(time.Second))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
