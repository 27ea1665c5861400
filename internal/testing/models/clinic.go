package models

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Clinic is the model of internal/testdata/format, and of the programs of docs/recipes/foreign.
type Clinic struct {
	_       struct{}          `ddb:"table=clinics,ttl=expires"`
	ID      string            `ddb:"pk=CLINIC#{ID}"`
	Name    string            `ddb:"sk=HEAD"`
	Opened  time.Time         `ddb:"sk=HEAD"`
	Beds    int64             `ddb:"sk=HEAD"`
	Rating  float64           `ddb:"sk=HEAD"`
	Tags    []string          `ddb:"sk=HEAD" dynamodbav:"tags,omitempty,stringset"`
	Address *ClinicAddress    `ddb:"sk=ADDRESS"`
	Letter  string            `ddb:"sk=LETTER,compress=gzip"`
	Visits  []Visit           `ddb:"sk=VISIT#{At}#{Patient}"`
	Staff   map[string]Person `ddb:"sk=STAFF#{key}"`
	Rooms   []Room            `ddb:"sk=ROOM#{Floor:sortable}#{Number:04}"`
	Wards   []string          `ddb:"sk=WARD#{.}"`
	Offer   *Offer            `ddb:"sk=OFFER"`
	Scan    []byte            `ddb:"sk=SCAN,chunk,inline=1KB"`
}

// ClinicAddress is the address of a clinic.
type ClinicAddress struct {
	Street string
	City   string `dynamodbav:"city"`
	Lines  []string
}

// Visit is a visit of a patient.
type Visit struct {
	At      time.Time
	Patient string
	Reason  string
	Cost    int64
}

// Person works in a clinic.
type Person struct {
	Role  string
	Since time.Time `dynamodbav:",unixtime"`
	Phone *string
}

// Room is a room of a clinic.
type Room struct {
	Floor     int
	Number    int
	Beds      int
	Equipment map[string]int
}

// Offer expires.
type Offer struct {
	Text  string
	Until time.Time `ddb:"ttl"`
}

// MarshalJSON returns the clinic as the programs of docs/recipes/foreign print it. Lists that are items are never
// null, times are in UTC, and a person's Since is in epoch seconds.
func (c Clinic) MarshalJSON() ([]byte, error) {
	type plain Clinic
	type person struct {
		Role  string
		Since int64
		Phone *string
	}
	staff := map[string]person{}
	for k, p := range c.Staff {
		staff[k] = person{p.Role, p.Since.Unix(), p.Phone}
	}
	p := plain(c)
	p.Opened = c.Opened.UTC()
	p.Tags = slices.Sorted(slices.Values(c.Tags))
	p.Visits = slices.Clone(c.Visits)
	for i := range p.Visits {
		p.Visits[i].At = p.Visits[i].At.UTC()
	}
	if c.Offer != nil {
		p.Offer = &Offer{c.Offer.Text, c.Offer.Until.UTC()}
	}
	var scan *[]byte
	if len(c.Scan) > 0 {
		scan = &c.Scan
	}
	return json.Marshal(struct {
		plain
		Tags   []string
		Visits []Visit
		Staff  map[string]person
		Rooms  []Room
		Wards  []string
		Scan   *[]byte
	}{p, orEmpty(p.Tags), orEmpty(p.Visits), staff, orEmpty(c.Rooms), orEmpty(c.Wards), scan})
}

func orEmpty[E any](s []E) []E {
	if s == nil {
		return []E{}
	}
	return s
}

// UnmarshalJSON reads what MarshalJSON returns.
func (c *Clinic) UnmarshalJSON(b []byte) error {
	type plain Clinic
	var in struct {
		plain
		Staff map[string]struct {
			Role  string
			Since int64
			Phone *string
		}
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*c = Clinic(in.plain)
	for k, p := range in.Staff {
		if c.Staff == nil {
			c.Staff = map[string]Person{}
		}
		c.Staff[k] = Person{p.Role, time.Unix(p.Since, 0).UTC(), p.Phone}
	}
	slices.SortFunc(c.Visits, func(a, b Visit) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Patient, b.Patient))
	})
	return nil
}
