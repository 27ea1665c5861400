package store

import "time"

// Driver is one item of a ride ledger, which has drivers, the claims of their e-mail addresses and phone numbers, and
// trips with events.
type Driver struct {
	_     struct{} `ddb:"table=rides"`
	ID    string   `ddb:"pk=DRIVER#{ID}"`
	Name  string   `ddb:"sk=PROFILE"`
	Email string   `ddb:"sk=PROFILE"`
	Phone string   `ddb:"sk=PROFILE"`
}

// EmailClaim reserves an e-mail address for a driver.
type EmailClaim struct {
	_      struct{} `ddb:"table=rides"`
	Email  string   `ddb:"pk=EMAIL#{Email}"`
	Driver string   `ddb:"sk=CLAIM"`
}

// PhoneClaim reserves a phone number for a driver.
type PhoneClaim struct {
	_      struct{} `ddb:"table=rides"`
	Phone  string   `ddb:"pk=PHONE#{Phone}"`
	Driver string   `ddb:"sk=CLAIM"`
}

// Trip is one item and one for each event. The index byDriver has the first item.
type Trip struct {
	_       struct{}  `ddb:"table=rides"`
	_       struct{}  `ddb:"index=byDriver,hash=GSI1PK,range=GSI1SK,pk=DRIVER#{Driver},sk={Started:seconds}"`
	ID      string    `ddb:"pk=TRIP#{ID}"`
	Driver  string    `ddb:"sk=HEAD"`
	State   string    `ddb:"sk=HEAD"`
	Started time.Time `ddb:"sk=HEAD"`
	Fare    int       `ddb:"sk=HEAD"`
	Events  []Event   `ddb:"sk=EVENT#{At:seconds}"`
}

// Event happened during a trip.
type Event struct {
	At   time.Time `ddb:"stored"`
	Kind string
	Note string
}
