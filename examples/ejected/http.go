package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/examples/ejected/store"
)

// status returns the HTTP status of an error, as in examples/tracker.
func status(err error) int {
	var sdk *smithy.OperationError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errNotFound):
		return http.StatusNotFound
	case errors.Is(err, errExists), errors.Is(err, errConflict):
		return http.StatusConflict
	case errors.Is(err, errBadKey), errors.Is(err, store.ErrTooLarge), errors.Is(err, errCursor),
		errors.Is(err, errBadRequest):
		return http.StatusBadRequest
	case errors.As(err, &sdk), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Handler serves the tracker.
func (t *Tracker) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			out, err := do(r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status(err))
			if err != nil {
				out = map[string]string{"error": err.Error()}
			}
			_ = json.NewEncoder(w).Encode(out)
		})
	}
	handle("PUT /{tenant}/{project}", func(r *http.Request) (any, error) {
		var in struct{ Name string }
		if err := decode(r, &in); err != nil {
			return nil, err
		}
		return t.CreateProject(r.Context(), r.PathValue("tenant"), r.PathValue("project"), in.Name)
	})
	handle("GET /{tenant}/{project}", func(r *http.Request) (any, error) {
		return t.Project(r.Context(), r.PathValue("tenant"), r.PathValue("project"))
	})
	handle("PUT /{tenant}/{project}/members/{name}", func(r *http.Request) (any, error) {
		var in store.Member
		if err := decode(r, &in); err != nil {
			return nil, err
		}
		return t.SetMember(r.Context(), r.PathValue("tenant"), r.PathValue("project"), r.PathValue("name"), in)
	})
	handle("POST /{tenant}/{project}/tickets", t.postTicket)
	handle("GET /{tenant}/{project}/tickets", t.getTickets)
	handle("GET /{tenant}/{project}/tickets/{number}", t.ticket(func(r *http.Request, at At) (any, error) {
		return t.Ticket(r.Context(), at)
	}))
	handle("PUT /{tenant}/{project}/tickets/{number}", t.ticket(func(r *http.Request, at At) (any, error) {
		var in struct{ Title, Text string }
		if err := decode(r, &in); err != nil {
			return nil, err
		}
		return t.Edit(r.Context(), at, in.Title, in.Text)
	}))
	handle("POST /{tenant}/{project}/tickets/{number}/comments", t.ticket(func(r *http.Request, at At) (any, error) {
		c := store.Comment{At: t.now()}
		if err := decode(r, &c); err != nil {
			return nil, err
		}
		return t.Comment(r.Context(), at, c)
	}))
	handle("POST /{tenant}/{project}/tickets/{number}/close", t.ticket(func(r *http.Request, at At) (any, error) {
		return t.CloseTicket(r.Context(), at)
	}))
	return mux
}

func decode(r *http.Request, to any) error {
	if err := json.NewDecoder(r.Body).Decode(to); err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return nil
}

func (t *Tracker) postTicket(r *http.Request) (any, error) {
	var in struct{ Title, Text string }
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Title) == "" {
		return nil, fmt.Errorf("%w: a ticket needs a title", errBadRequest)
	}
	number, _, err := t.OpenTicket(r.Context(), r.PathValue("tenant"), r.PathValue("project"), in.Title, in.Text)
	return map[string]int{"number": number}, err
}

// getTickets lists the heads of tickets: ?limit=20&after=CURSOR.
func (t *Tracker) getTickets(r *http.Request) (any, error) {
	n := 20
	if s := r.FormValue("limit"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 || n > 100 {
			return nil, fmt.Errorf("%w: limit is a number from 1 to 100", errBadRequest)
		}
	}
	page, err := t.Tickets(r.Context(), r.PathValue("tenant"), r.PathValue("project"), n, r.FormValue("after"))
	if err != nil {
		return nil, err
	}
	type head struct {
		Number       int
		Title, State string
	}
	roots := []head{}
	for _, x := range page.Items {
		roots = append(roots, head{numberOf(x), x.Title, x.StateAttribute})
	}
	return map[string]any{"tickets": roots, "next": page.Next, "rcu": page.RCU}, nil
}

func (t *Tracker) ticket(do func(r *http.Request, at At) (any, error)) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		number, err := strconv.Atoi(r.PathValue("number"))
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not the number of a ticket", errBadRequest, r.PathValue("number"))
		}
		return do(r, At{r.PathValue("tenant"), r.PathValue("project"), number})
	}
}
