// Package store has the models of the project tracker.
package store

import "time"

// Project is an item collection: its head, its counters, one item for each member and one item for each
// event.
type Project struct {
	_         struct{} `ddb:"table=tracker"`
	TenantID  string   `ddb:"pk=TENANT#{TenantID}#PROJECT#{ProjectID}"`
	ProjectID string
	Name      string            `ddb:"sk=HEAD"`
	CreatedAt time.Time         `ddb:"sk=HEAD"`
	Counters  Counters          `ddb:"sk=COUNTERS"`
	Members   map[string]Member `ddb:"sk=MEMBER#{key},one=Member"`
	Activity  []Event           `ddb:"sk=ACTIVITY#{At}#{Ticket:06},one=Event"`
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
	_         struct{} `ddb:"table=tracker"`
	TenantID  string   `ddb:"pk=TENANT#{TenantID}#TICKETS#{ProjectID}"`
	ProjectID string
	Number    int
	Title     string    `ddb:"sk=TICKET#{Number:06}"`
	State     string    `ddb:"sk=TICKET#{Number:06}"`
	Labels    []string  `ddb:"sk=TICKET#{Number:06}" dynamodbav:",stringset,omitempty"`
	UpdatedAt time.Time `ddb:"sk=TICKET#{Number:06}"`
	Text      string    `ddb:"sk=TEXT#{Number:06}"`
	Comments  []Comment `ddb:"sk=COMMENT#{^Number:06}#{At}"`
}

// Comment is a comment on a ticket.
type Comment struct {
	At     time.Time
	Author string
	Text   string
}
