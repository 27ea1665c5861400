package main

// unwritten has the alerts of texts that are still to be written. It only shrinks.
var unwritten = map[string]int{
	"message bench":                       3,
	"message blob":                        1,
	"message cmd/itemize":                 6,
	"message forecast":                    1,
	"message internal/change":             8,
	"message internal/charge":             1,
	"message internal/gen":                27,
	"message internal/large":              9,
	"message internal/migration/layout":   11,
	"message internal/migration/protocol": 16,
	"message internal/model":              2,
	"message internal/operation":          5,
	"message internal/schema":             16,
	"message internal/search":             7,
	"message internal/selection":          2,
	"message internal/tabledef":           3,
	"message internal/tags":               1,
	"message internal/write":              1,
	"message mapper":                      14,
	"message migrate":                     15,
}
