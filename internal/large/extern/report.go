package extern

import "github.com/itemize/itemize/cost"

// Report is the result of a collection, with its cost.
type Report struct {
	Collected
	// Strays are the findings of Scan; it is nil without Scan.
	Strays *Strays `json:"strays,omitempty"`
	// Requests is the number of requests to DynamoDB. WCU and RCU are their predicted cost, and
	// ConsumedWCU and ConsumedRCU the cost that DynamoDB reported. S3 are the requests to S3.
	Requests    int          `json:"requests"`
	WCU         cost.Units   `json:"wcu"`
	RCU         cost.Units   `json:"rcu"`
	ConsumedWCU float64      `json:"consumedWCU"`
	ConsumedRCU float64      `json:"consumedRCU"`
	S3          cost.Objects `json:"s3,omitzero"`
}

// Strays are parts and objects of values without a record. They exist after a restore, or after a
// request that arrived hours after it was sent.
type Strays struct {
	// Seen counts the external values, Unrecorded those without a record.
	Seen       int `json:"seen"`
	Unrecorded int `json:"unrecorded"`
	// Pointed is the number of those that an item points to. Foreign is the number of those of other
	// models, and of objects of items whose key does not fit S3's metadata. Both are kept. Parts and
	// Objects are the numbers that Delete deleted.
	Pointed int `json:"pointed"`
	Foreign int `json:"foreign"`
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Uploads is the number of unfinished uploads in parts, which Delete aborts.
	Uploads int `json:"uploads"`
}
