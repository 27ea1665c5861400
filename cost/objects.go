package cost

// Objects are requests to S3, and the bytes of objects that they send and receive. What they cost
// depends on the bucket's Region and storage class (docs.aws.amazon.com, "Amazon S3 pricing"); capacity
// units are none of it.
type Objects struct {
	// Puts, Gets and Deletes are the numbers of requests: to put, copy and upload; to read, list and
	// look at; to delete and abort.
	Puts    int `json:"puts,omitempty"`
	Gets    int `json:"gets,omitempty"`
	Deletes int `json:"deletes,omitempty"`
	// Sent and Received are bytes of objects.
	Sent     int64 `json:"sent,omitempty"`
	Received int64 `json:"received,omitempty"`
}

// Add returns the sum of both.
func (o Objects) Add(p Objects) Objects {
	return Objects{o.Puts + p.Puts, o.Gets + p.Gets, o.Deletes + p.Deletes, o.Sent + p.Sent, o.Received + p.Received}
}
