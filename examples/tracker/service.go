package main

import (
	"context"
	"time"

	"github.com/itemize/itemize/examples/tracker/store"
	"github.com/itemize/itemize/examples/tracker/web"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Tracker is the application: projects and tickets in one table.
type Tracker struct {
	projects *mapper.Mapper[store.Project]
	tickets  *mapper.Mapper[store.Ticket]
	now      func() time.Time
}

// NewTracker returns a tracker on a client. cursorKey signs the cursors of its lists: processes with
// the same key can continue each other's lists.
func NewTracker(client mapper.Client, cursorKey []byte, options ...mapper.Option) (*Tracker, error) {
	options = append(options, mapper.CursorKey(cursorKey))
	projects, err := mapper.New[store.Project](client, options...)
	if err != nil {
		return nil, err
	}
	tickets, err := mapper.New[store.Ticket](client, options...)
	return &Tracker{projects, tickets, time.Now}, err
}

func keyOf(at web.At) *store.TicketKey {
	return store.TicketByTenantProjectNumber(at.Tenant, at.Project, at.Number)
}

// CreateProject inserts a project. The error is mapper.ErrExists if the project exists.
func (t *Tracker) CreateProject(ctx context.Context, tenant, id, name string) (*mapper.Receipt, error) {
	return t.projects.Save(ctx,
		t.projects.New(store.Project{TenantID: tenant, ProjectID: id, Name: name, CreatedAt: t.now()}))
}

// Project loads a project with its whole item collection.
func (t *Tracker) Project(ctx context.Context, tenant, id string) (*store.Project, error) {
	e, err := t.projects.Load(ctx, store.ProjectByTenantProject(tenant, id))
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

// SetMember adds a member, or changes the role of one.
func (t *Tracker) SetMember(ctx context.Context, tenant, id, name string, m store.Member) (*mapper.Receipt, error) {
	return store.ProjectByTenantProject(tenant, id).Members().Put(name, m).IfEntityExists().Exec(ctx, t.projects)
}

// OpenTicket gives a ticket the project's next number, and inserts it. The same transaction changes the
// project's counters and its activity. No number is given twice; a number can be skipped.
func (t *Tracker) OpenTicket(ctx context.Context, tenant, id, title, text string) (int, *mapper.Receipt, error) {
	project := store.ProjectByTenantProject(tenant, id)
	if _, err := t.projects.Load(ctx, project.Root()); err != nil {
		return 0, nil, err // patches create missing counters, so a project that does not exist must be refused here
	}
	var counters store.Counters
	receipt, err := project.Counters().Patch(store.CountersFields.LastTicket.Increment(1)).Return(&counters).Exec(ctx,
		t.projects)
	if err != nil {
		return 0, receipt, err
	}
	now := t.now()
	ticket := store.Ticket{
		TenantID: tenant, ProjectID: id, Number: counters.LastTicket, Title: title, Text: text,
		State: "open", UpdatedAt: now,
	}
	receipt, err = mapper.Transact(ctx,
		t.tickets.SavePart(t.tickets.New(ticket)),
		project.Counters().Patch(store.CountersFields.Open.Increment(1)).
			And(project.Activity().Add(store.Event{At: now, Ticket: ticket.Number, Text: "opened"})).
			IfEntityExists().PatchPart(t.projects))
	return ticket.Number, receipt, err
}

// CloseTicket closes an open ticket. It is a conflict if the ticket is not open.
func (t *Tracker) CloseTicket(ctx context.Context, at web.At) (*mapper.Receipt, error) {
	project, now, f := store.ProjectByTenantProject(at.Tenant, at.Project), t.now(), &store.TicketFields
	return mapper.Transact(ctx,
		keyOf(at).Patch(f.State.Set("closed"), f.UpdatedAt.Set(now)).If(f.State.Equal("open")).PatchPart(t.tickets),
		project.Counters().Patch(store.CountersFields.Open.Increment(-1)).
			And(project.Activity().Add(store.Event{At: now, Ticket: at.Number, Text: "closed"})).PatchPart(t.projects))
}

// Comment adds a comment if the ticket exists. It is one transaction, and reads only the head.
func (t *Tracker) Comment(ctx context.Context, at web.At, c store.Comment) (*mapper.Receipt, error) {
	ticket := keyOf(at)
	return ticket.Patch(store.TicketFields.UpdatedAt.Set(c.At)).And(ticket.Comments().Add(c)).Exec(ctx, t.tickets)
}

// Label adds labels to a ticket, or removes some.
func (t *Tracker) Label(ctx context.Context, at web.At, add, remove []string) (*mapper.Receipt, error) {
	f, ticket := &store.TicketFields, keyOf(at)
	if len(add) > 0 {
		return ticket.Patch(f.Labels.Add(add...)).Exec(ctx, t.tickets)
	}
	return ticket.Patch(f.Labels.Delete(remove...)).Exec(ctx, t.tickets)
}

// Ticket loads a ticket with its text and comments.
func (t *Tracker) Ticket(ctx context.Context, at web.At) (*store.Ticket, error) {
	e, err := t.tickets.Load(ctx, keyOf(at))
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

// Edit changes the title and the text of a ticket. It tries again after a conflict with another writer.
func (t *Tracker) Edit(ctx context.Context, at web.At, title, text string) (*mapper.Receipt, error) {
	return t.tickets.Update(ctx, keyOf(at), func(x *store.Ticket) error {
		x.Title, x.Text, x.UpdatedAt = title, text, t.now()
		return nil
	})
}

// Tickets lists the heads of tickets from a cursor on, the latest first. It reads no texts.
func (t *Tracker) Tickets(ctx context.Context, tenant, id string, n int, after query.Cursor) (*query.Page[store.Ticket],
	error,
) {
	q := store.TicketByTenantProject(tenant, id).Reverse().Limit(n).After(after)
	return q.Roots().Page(ctx, t.tickets)
}
