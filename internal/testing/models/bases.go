package models

import "time"

// Tenant is a base of models of other packages, which cannot name the struct with the keys.
type Tenant struct{ tenant }

type tenant struct{ tenantKey }

type tenantKey struct {
	T  string
	ID string `ddb:"pk=T#{T}#{ID}"`
}

// Keyed is a base with fields that keys name.
type Keyed struct{ keyed }

type keyed struct{ T, ID string }

// Stamped is a base with attributes of two items.
type Stamped struct {
	stamped
	By string `ddb:"sk=A"`
}

type stamped struct {
	At    time.Time `ddb:"sk=B"`
	Notes []string  `ddb:"sk=A" dynamodbav:",omitempty"`
}

// Position is a base of elements.
type Position struct{ position }

type position struct {
	No    uint8
	Label string `dynamodbav:"label"`
	Marks []int
}
