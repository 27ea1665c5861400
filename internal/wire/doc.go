// Package wire reads items straight from the JSON that DynamoDB answers with, without
// making attribute values of them first.
//
// [Codec] sends a read with the SDK, and takes its place at one point: where the answer
// becomes Go values (dynamodb.Options.Protocol). Signing, retries, endpoints, checksums
// and error answers stay the SDK's. Of an answer the items are cut out and kept as a
// [Page]; the rest (counts, keys, consumed capacity) is given to the SDK's own protocol.
//
// The scanner accepts a part of what the SDK accepts, and gives the same values. Whatever
// it does not expect (a syntax error, a member twice, null, an unknown type of value) it
// does not judge: then the SDK decodes the whole answer, or refuses it with its own error.
//
// A page holds no values, but where they lie. [Item.Value] finds one; forms (package
// form) set fields from it, and [Value.Attribute] makes the SDK's attribute value.
package wire
