package large

import "github.com/itemize/itemize/cost"

// Report is what a collection has found and done, in full: with what it cost.
type Report struct {
	// Records and Values are what it visited.
	Records int `json:"records"`
	Values  int `json:"values"`
	// Writing are records of saves under way; GivenUp those that it aborted, since their deadlines are over; Waiting those that
	// were aborted too short a time ago to remove their values.
	Writing int `json:"writing"`
	GivenUp int `json:"givenUp"`
	Waiting int `json:"waiting"`
	// Unreferenced are values to which nothing points, and that stay for their grace, or since it only reports; Again are
	// those that were noted so before and are pointed to.
	Unreferenced int `json:"unreferenced"`
	Again        int `json:"again"`
	// Foreign are records that it left alone, since they are of other models, or of other tables and buckets than the mapper's: collect with
	// mappers of these.
	Foreign int `json:"foreign"`
	// Unreadable are items that lie among the records and are none, or damaged ones: they are left alone.
	Unreadable int `json:"unreadable"`
	// Removed are values that it removed: so many parts and objects.
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Strays are what Scan has found, without which they are not looked for.
	Strays *Strays `json:"strays,omitempty"`
	// Next is where the next collection goes on that is to begin where this one ended; empty after the last record.
	Next string `json:"next,omitempty"`
	// Requests, WCU and RCU are what it cost: those as predicted, and ConsumedWCU and ConsumedRCU as DynamoDB reported them. S3 are requests to that.
	Requests    int          `json:"requests"`
	WCU         cost.Units   `json:"wcu"`
	RCU         cost.Units   `json:"rcu"`
	ConsumedWCU float64      `json:"consumedWCU"`
	ConsumedRCU float64      `json:"consumedRCU"`
	S3          cost.Objects `json:"s3,omitzero"`
}

// Strays are parts and objects of values that no record tells of, as after a restore, or since a request arrived hours
// after it was sent.
type Strays struct {
	// Seen are the values that lie outside of their items, Unrecorded those of them that have no record.
	Seen       int `json:"seen"`
	Unrecorded int `json:"unrecorded"`
	// Pointed are those without a record that items point to, and Foreign those of other models, and objects of items
	// whose key does not fit S3's metadata: both are left alone. The others were removed, by Delete: so many parts and objects.
	Pointed int `json:"pointed"`
	Foreign int `json:"foreign"`
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Uploads are uploads in parts that nobody ends any more, which Delete aborts.
	Uploads int `json:"uploads"`
}
