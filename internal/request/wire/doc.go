// Package wire converts between DynamoDB's JSON and Go. It writes requests, and reads items directly
// from answers, without creating attribute values first.
//
// [Codec] replaces the SDK's protocol in single calls (dynamodb.Options.Protocol). Signing, retries,
// endpoints, checksums and error answers are still the SDK's. The codec cuts the items out of an answer
// and keeps them as a [Page]. It also reads the fields that most answers have (counts, consumed
// capacity), and leaves other fields to the SDK.
//
// A [Request] is serialized by the package's own encoder. Method, path and headers are learnt from the
// SDK, once for each operation. The SDK serializes an input that has fields which no request for items
// has.
//
// The scanner accepts a part of the answers that the SDK accepts, and gives the same values. It makes
// no decision about other answers: a syntax error, a duplicate member, null or an unknown type of
// value. In these cases the SDK decodes the whole answer, or refuses it with its own error.
//
// A page has the positions of values and not the values. [Item.Value] finds a value. Forms (package
// form) set fields from it, and [Value.Attribute] returns the SDK's attribute value.
package wire
