package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/examples/tracker/store"
	"github.com/itemize/itemize/examples/tracker/web"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// served is the tracker as package web serves it.
type served struct{ *Tracker }

// Status returns the HTTP status of an error, as web.Tracker describes it.
func (served) Status(err error) int {
	var conflict *mapper.ConflictError
	var value *mapper.ValueError
	var large *mapper.TooLargeError
	var unknown *mapper.OutcomeUnknownError
	var sdk *smithy.OperationError
	switch {
	case errors.As(err, &unknown):
		return http.StatusServiceUnavailable
	case errors.Is(err, mapper.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, mapper.ErrExists), errors.Is(err, mapper.ErrTaken), errors.As(err, &conflict):
		return http.StatusConflict
	case errors.As(err, &value), errors.As(err, &large), errors.Is(err, query.ErrCursor),
		errors.Is(err, web.ErrBadRequest):
		return http.StatusBadRequest
	case errors.As(err, &sdk), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError // an invalid call
}

// costOf returns the part of a receipt that clients see.
func costOf(r *mapper.Receipt, err error) (any, error) {
	if r == nil {
		return nil, err
	}
	return map[string]any{"requests": r.Predicted().Requests, "wcu": r.Consumed.WCU, "rcu": r.Consumed.RCU}, err
}

func (s served) CreateProject(ctx context.Context, tenant, project, name string) (any, error) {
	return costOf(s.Tracker.CreateProject(ctx, tenant, project, name))
}

func (s served) Project(ctx context.Context, tenant, project string) (any, error) {
	return s.Tracker.Project(ctx, tenant, project)
}

func (s served) SetMember(ctx context.Context, tenant, project, name string, m web.Member) (any, error) {
	return costOf(s.Tracker.SetMember(ctx, tenant, project, name, store.Member(m)))
}

func (s served) OpenTicket(ctx context.Context, tenant, project, title, text string) (int, error) {
	number, _, err := s.Tracker.OpenTicket(ctx, tenant, project, title, text)
	return number, err
}

func (s served) Ticket(ctx context.Context, at web.At) (any, error) { return s.Tracker.Ticket(ctx, at) }

func (s served) Edit(ctx context.Context, at web.At, title, text string) (any, error) {
	return costOf(s.Tracker.Edit(ctx, at, title, text))
}

func (s served) Comment(ctx context.Context, at web.At, author, text string) (any, error) {
	return costOf(s.Tracker.Comment(ctx, at, store.Comment{At: s.now(), Author: author, Text: text}))
}

func (s served) Label(ctx context.Context, at web.At, add, remove []string) (any, error) {
	return costOf(s.Tracker.Label(ctx, at, add, remove))
}

func (s served) CloseTicket(ctx context.Context, at web.At) (any, error) {
	return costOf(s.Tracker.CloseTicket(ctx, at))
}

func (s served) Tickets(ctx context.Context, tenant, project string, n int, after string) (*web.Page, error) {
	page, err := s.Tracker.Tickets(ctx, tenant, project, n, query.Cursor(after))
	if err != nil {
		return nil, err
	}
	headers := []web.Head{}
	for _, x := range page.Items {
		headers = append(headers, web.Head{Number: x.Number, Title: x.Title, State: x.State})
	}
	return &web.Page{Tickets: headers, Next: string(page.Next), RCU: page.RCU}, nil
}
