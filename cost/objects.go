package cost

// Objects counts requests to S3 and the bytes of objects. Their price depends on the Region and storage
// class of the bucket (docs.aws.amazon.com, "Amazon S3 pricing"). Capacity units do not include them.
type Objects struct {
	// Puts counts puts, copies and uploads; Gets counts reads, lists and heads; Deletes counts deletes
	// and aborts.
	Puts    int `json:"puts,omitempty"`
	Gets    int `json:"gets,omitempty"`
	Deletes int `json:"deletes,omitempty"`
	// Sent and Received count bytes of objects.
	Sent     int64 `json:"sent,omitempty"`
	Received int64 `json:"received,omitempty"`
}

// Add returns the sum.
func (o Objects) Add(p Objects) Objects {
	return Objects{o.Puts + p.Puts, o.Gets + p.Gets, o.Deletes + p.Deletes, o.Sent + p.Sent, o.Received + p.Received}
}
