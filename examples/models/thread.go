package models

import "time"

// Thread is a flat model: a forum is a partition that holds many threads, and a thread
// is known by both keys.
type Thread struct {
	_        struct{}  `ddb:"table=threads,hash=Forum,range=Subject"`
	Forum    string    `ddb:"pk={Forum}"`   // bare placeholders: the attributes are the values
	Subject  string    `ddb:"sk={Subject}"` // themselves, as other programs may have stored them
	Message  string    `ddb:"sk={Subject}"`
	Views    int       `ddb:"sk={Subject}"`
	LastPost time.Time `ddb:"sk={Subject}"`
}
