package large

import "github.com/itemize/itemize/cost"

// Report is the result of a collection, with its cost.
type Report struct {
	Collected
	// Strays are what Scan has found, without which they are not looked for.
	Strays *Strays `json:"strays,omitempty"`
	// Requests, WCU and RCU are what it cost: those as predicted, and ConsumedWCU and ConsumedRCU as
	// DynamoDB reported them. S3 are requests to that.
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
	// Pointed are those without a record that items point to, and Foreign those of other models, and
	// objects of items whose key does not fit S3's metadata: both are left alone. The others were
	// removed, by Delete: so many parts and objects.
	Pointed int `json:"pointed"`
	Foreign int `json:"foreign"`
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Uploads are uploads in parts that nobody ends any more, which Delete aborts.
	Uploads int `json:"uploads"`
}
