package main

import (
	"time"

	"github.com/itemize/itemize/large"
)

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Forum is a table with a partition key alone.
type Forum struct {
	_        struct{} `ddb:"table=Forum,hash=Name,range=-"`
	Name     string   `ddb:"pk={Name}"`
	Category string
	Threads  int
	Messages int
}

// Thread has a partition key and a sort key. A local index has the threads of a forum in order of their
// last posts. A global index has the threads without an answer: it is sparse, because Unanswered is ""
// after the first answer.
type Thread struct {
	_          struct{}  `ddb:"table=Thread,hash=ForumName,range=Subject"`
	_          struct{}  `ddb:"index=LastPostIndex,local,range=LastPostAt,sk={LastPost}"`
	_          struct{}  `ddb:"index=UnansweredIndex,pk={Unanswered},range=LastPostAt,sk={LastPost},project='PostedBy,Views'"`
	Forum      string    `ddb:"pk={Forum}"`
	Subject    string    `ddb:"sk={Subject}"`
	Message    string    `ddb:"sk={Subject}"`
	PostedBy   string    `ddb:"sk={Subject}"`
	LastPost   time.Time `ddb:"sk={Subject}"`
	Unanswered string    `ddb:"sk={Subject}"`
	Views      int       `ddb:"sk={Subject}"`
	Tags       []string  `ddb:"sk={Subject}" dynamodbav:",stringset"`
}

// Reply is an item, so that adding a reply writes one item. A global index has the posts of a user in
// order of their time, which is the sort key of the table. Long messages are compressed, very large
// ones are stored in the table ReplyChunks, and pictures in S3. A list shows the beginning of a
// message.
type Reply struct {
	_        struct{} `ddb:"table=Reply,hash=Id,range=ReplyDateTime"`
	_        struct{} `ddb:"index=PostedByIndex,pk={PostedBy},range=ReplyDateTime"`
	Forum    string   `ddb:"pk={Forum}#{Subject}"`
	Subject  string
	At       time.Time `ddb:"sk={At}"`
	PostedBy string    `ddb:"sk={At}"`

	Message large.Value[string] `ddb:"sk={At},compress=zstd,chunk,table=ReplyChunks,inline=8KB,preview=40"`
	Picture large.Value[[]byte] `ddb:"sk={At},s3=pictures,inline=1KB"`
}
