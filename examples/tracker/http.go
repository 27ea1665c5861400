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

	"github.com/itemize/itemize/examples/tracker/store"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// status returns the HTTP status of an error:
//
//   - 400 if the input cannot be stored;
//   - 404 if the entity does not exist;
//   - 409 if it exists already, or another writer changed it first;
//   - 503 if the client should try again, or must load to find out whether the write was applied;
//   - 500 if this program is wrong.
func status(err error) int {
	var conflict *mapper.ConflictError
	var value *mapper.ValueError
	var large *mapper.TooLargeError
	var unknown *mapper.OutcomeUnknownError
	var sdk *smithy.OperationError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &unknown):
		return http.StatusServiceUnavailable
	case errors.Is(err, mapper.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, mapper.ErrExists), errors.As(err, &conflict):
		return http.StatusConflict
	case errors.As(err, &value), errors.As(err, &large), errors.Is(err, query.ErrCursor), errors.Is(err, errBadRequest):
		return http.StatusBadRequest
	case errors.As(err, &sdk), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError // an invalid call
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
	handle("PUT /{tenant}/{project}", t.putProject)
	handle("GET /{tenant}/{project}", func(r *http.Request) (any, error) {
		return t.Project(r.Context(), r.PathValue("tenant"), r.PathValue("project"))
	})
	handle("PUT /{tenant}/{project}/members/{name}", t.putMember)
	handle("POST /{tenant}/{project}/tickets", t.postTicket)
	handle("GET /{tenant}/{project}/tickets", t.getTickets)
	handle("GET /{tenant}/{project}/tickets/{number}", t.ticket(func(r *http.Request, at At) (any, error) {
		return t.Ticket(r.Context(), at)
	}))
	handle("PUT /{tenant}/{project}/tickets/{number}", t.ticket(t.putTicket))
	handle("POST /{tenant}/{project}/tickets/{number}/comments", t.ticket(t.postComment))
	handle("POST /{tenant}/{project}/tickets/{number}/close", t.ticket(func(r *http.Request, at At) (any, error) {
		receipt, err := t.CloseTicket(r.Context(), at)
		return costOf(receipt), err
	}))
	return mux
}

// costOf returns the part of a receipt that clients see.
func costOf(r *mapper.Receipt) any {
	if r == nil {
		return nil
	}
	return map[string]any{"requests": r.Predicted().Requests, "wcu": r.Consumed.WCU, "rcu": r.Consumed.RCU}
}

func decode(r *http.Request, to any) error {
	if err := json.NewDecoder(r.Body).Decode(to); err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return nil
}

func (t *Tracker) putProject(r *http.Request) (any, error) {
	var in struct{ Name string }
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	receipt, err := t.CreateProject(r.Context(), r.PathValue("tenant"), r.PathValue("project"), in.Name)
	return costOf(receipt), err
}

func (t *Tracker) putMember(r *http.Request) (any, error) {
	var in store.Member
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	receipt, err := t.SetMember(r.Context(), r.PathValue("tenant"), r.PathValue("project"), r.PathValue("name"), in)
	return costOf(receipt), err
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
	page, err := t.Tickets(r.Context(), r.PathValue("tenant"), r.PathValue("project"), n,
		query.Cursor(r.FormValue("after")))
	if err != nil {
		return nil, err
	}
	type head struct {
		Number       int
		Title, State string
	}
	roots := []head{}
	for _, ref := range page.Items {
		roots = append(roots, head{ref.Number, ref.Title, ref.State})
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

func (t *Tracker) putTicket(r *http.Request, at At) (any, error) {
	var in struct{ Title, Text string }
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	receipt, err := t.Edit(r.Context(), at, in.Title, in.Text)
	return costOf(receipt), err
}

func (t *Tracker) postComment(r *http.Request, at At) (any, error) {
	c := store.Comment{At: t.now()}
	if err := decode(r, &c); err != nil {
		return nil, err
	}
	receipt, err := t.Comment(r.Context(), at, c)
	return costOf(receipt), err
}
