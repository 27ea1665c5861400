// Package store has the models of the project tracker without tags of the library, and their ejected code.
package store

import "time"

// Project is an item collection: its head, its counters, one item for each member and one item for each
// event.
type Project struct {
	TenantID  string
	ProjectID string
	Name      string
	CreatedAt time.Time
	Counters  Counters
	Members   map[string]Member
	Activity  []Event
}

// Counters are in an item of their own: they change often, and each change costs 1 WCU.
type Counters struct {
	LastTicket int
	Open       int
}

// Member is a member of a project.
type Member struct {
	Role  string
	Email string
}

// Event is a change of a ticket.
type Event struct {
	At     time.Time
	Ticket int
	Text   string
}

// Ticket is one of many entities in a partition. The heads of all tickets are next to each other, so a
// list is charged for the heads alone. The text is an item, and each comment is an item.
type Ticket struct {
	TenantID  string
	ProjectID string
	Number    int
	Title     string
	State     string
	Labels    []string `dynamodbav:",stringset,omitempty"`
	UpdatedAt time.Time
	Text      string
	Comments  []Comment
}

// Comment is a comment on a ticket.
type Comment struct {
	At     time.Time
	Author string
	Text   string
}
