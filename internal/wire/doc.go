// Package wire is between DynamoDB's JSON and Go: it writes requests, and reads items straight from
// answers, without making attribute values of them first.
//
// [Codec] takes the place of the SDK's protocol in single calls (dynamodb.Options.Protocol). Signing,
// retries, endpoints, checksums and error answers stay the SDK's. Of an answer the items are cut out
// and kept as a [Page]; what most answers tell besides (counts, consumed capacity) is read here as
// well, and anything else given to the SDK.
//
// A [Request] is serialized by an encoder of its own; method, path and headers are learnt from the SDK,
// once for each operation. An input that holds what no request for items does is serialized by the SDK.
//
// The scanner accepts a part of what the SDK accepts, and gives the same values. Whatever it does not
// expect (a syntax error, a member twice, null, an unknown type of value) it does not judge: then the
// SDK decodes the whole answer, or refuses it with its own error.
//
// A page holds no values, but where they lie. [Item.Value] finds one; forms (package form) set fields
// from it, and [Value.Attribute] makes the SDK's attribute value.
package wire
