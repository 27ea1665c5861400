// Package web is the HTTP interface of the tracker. Two programs serve it: examples/tracker on the library, and
// examples/ejected on the code of itemize eject.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// At is the key of a ticket.
type At struct {
	Tenant, Project string
	Number          int
}

// Head has the fields of a ticket that a list shows.
type Head struct {
	Number       int
	Title, State string
}

// Page is a page of the heads of tickets.
type Page struct {
	Tickets []Head  `json:"tickets"`
	Next    string  `json:"next"`
	RCU     float64 `json:"rcu"`
}

// Tracker has the operations of the interface. An answer is written as JSON: that of a write is its cost.
type Tracker interface {
	CreateProject(ctx context.Context, tenant, project, name string) (any, error)
	Project(ctx context.Context, tenant, project string) (any, error)
	SetMember(ctx context.Context, tenant, project, name string, m Member) (any, error)
	OpenTicket(ctx context.Context, tenant, project, title, text string) (number int, err error)
	Ticket(ctx context.Context, at At) (any, error)
	Edit(ctx context.Context, at At, title, text string) (any, error)
	Comment(ctx context.Context, at At, author, text string) (any, error)
	Label(ctx context.Context, at At, add, remove []string) (any, error)
	CloseTicket(ctx context.Context, at At) (any, error)
	// Tickets lists the heads of n tickets after a cursor, the latest first.
	Tickets(ctx context.Context, tenant, project string, n int, after string) (*Page, error)
	// Status returns the HTTP status of an error:
	//
	//   - 400 if the input cannot be stored;
	//   - 404 if the entity does not exist;
	//   - 409 if it exists already, or another writer changed it first;
	//   - 503 if the client should try again, or must load to find out whether the write was applied;
	//   - 500 if this program is wrong.
	Status(err error) int
}

// Member is the input of SetMember.
type Member struct{ Role, Email string }

// ErrBadRequest is the error of an invalid request.
var ErrBadRequest = errors.New("bad request")

// Handler serves a tracker.
func Handler(t Tracker) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			out, err := do(r)
			status := http.StatusOK
			if err != nil {
				out, status = map[string]string{"error": err.Error()}, t.Status(err)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(out)
		})
	}
	s := server{t}
	handle("PUT /{tenant}/{project}", s.putProject)
	handle("GET /{tenant}/{project}", func(r *http.Request) (any, error) {
		return t.Project(r.Context(), r.PathValue("tenant"), r.PathValue("project"))
	})
	handle("PUT /{tenant}/{project}/members/{name}", s.putMember)
	handle("POST /{tenant}/{project}/tickets", s.postTicket)
	handle("GET /{tenant}/{project}/tickets", s.getTickets)
	handle("GET /{tenant}/{project}/tickets/{number}", ticket(func(r *http.Request, at At) (any, error) {
		return t.Ticket(r.Context(), at)
	}))
	handle("PUT /{tenant}/{project}/tickets/{number}", ticket(s.putTicket))
	handle("POST /{tenant}/{project}/tickets/{number}/comments", ticket(s.postComment))
	handle("POST /{tenant}/{project}/tickets/{number}/labels", ticket(s.postLabels))
	handle("POST /{tenant}/{project}/tickets/{number}/close", ticket(func(r *http.Request, at At) (any, error) {
		return t.CloseTicket(r.Context(), at)
	}))
	return mux
}

type server struct{ Tracker }

// decode decodes the body of a request.
func decode[T any](r *http.Request) (in T, err error) {
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return in, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return in, nil
}

// ticket is a handler of a ticket.
func ticket(do func(r *http.Request, at At) (any, error)) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		number, err := strconv.Atoi(r.PathValue("number"))
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not the number of a ticket", ErrBadRequest, r.PathValue("number"))
		}
		return do(r, At{r.PathValue("tenant"), r.PathValue("project"), number})
	}
}

func (s server) putProject(r *http.Request) (any, error) {
	in, err := decode[struct{ Name string }](r)
	if err != nil {
		return nil, err
	}
	return s.CreateProject(r.Context(), r.PathValue("tenant"), r.PathValue("project"), in.Name)
}

func (s server) putMember(r *http.Request) (any, error) {
	in, err := decode[Member](r)
	if err != nil {
		return nil, err
	}
	return s.SetMember(r.Context(), r.PathValue("tenant"), r.PathValue("project"), r.PathValue("name"), in)
}

func (s server) postTicket(r *http.Request) (any, error) {
	in, err := decode[struct{ Title, Text string }](r)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Title) == "" {
		return nil, fmt.Errorf("%w: a ticket needs a title", ErrBadRequest)
	}
	number, err := s.OpenTicket(r.Context(), r.PathValue("tenant"), r.PathValue("project"), in.Title, in.Text)
	return map[string]int{"number": number}, err
}

// getTickets lists the heads of tickets: ?limit=20&after=CURSOR.
func (s server) getTickets(r *http.Request) (any, error) {
	n := 20
	if text := r.FormValue("limit"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > 100 {
			return nil, fmt.Errorf("%w: limit is a number from 1 to 100", ErrBadRequest)
		}
	}
	return s.Tickets(r.Context(), r.PathValue("tenant"), r.PathValue("project"), n, r.FormValue("after"))
}

func (s server) putTicket(r *http.Request, at At) (any, error) {
	in, err := decode[struct{ Title, Text string }](r)
	if err != nil {
		return nil, err
	}
	return s.Edit(r.Context(), at, in.Title, in.Text)
}

func (s server) postComment(r *http.Request, at At) (any, error) {
	in, err := decode[struct{ Author, Text string }](r)
	if err != nil {
		return nil, err
	}
	return s.Comment(r.Context(), at, in.Author, in.Text)
}

func (s server) postLabels(r *http.Request, at At) (any, error) {
	in, err := decode[struct{ Add, Remove []string }](r)
	if err != nil {
		return nil, err
	}
	if len(in.Add) > 0 && len(in.Remove) > 0 {
		return nil, fmt.Errorf("%w: add labels, or remove some", ErrBadRequest)
	}
	return s.Label(r.Context(), at, in.Add, in.Remove)
}
