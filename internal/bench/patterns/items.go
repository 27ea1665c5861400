package patterns

import "time"

// The items of Guregu and SDK.
type (
	// Key is the key of an item.
	Key struct{ PK, SK string }

	// Driver is the item PROFILE of a driver.
	Driver struct {
		Key
		ID    string `dynamo:"-" dynamodbav:"-"`
		Name  string
		Email string
		Phone string
	}

	// Claim reserves an e-mail address or a phone number for a driver.
	Claim struct {
		Key
		Driver string
	}

	// Trip is the item HEAD of a trip. The index byDriver has it.
	Trip struct {
		Key
		GSI1PK  string
		GSI1SK  string
		Driver  string
		State   string
		Started time.Time
		Fare    int
	}

	// Event is an item of a trip.
	Event struct {
		Key
		At   time.Time
		Kind string
		Note string
	}
)
